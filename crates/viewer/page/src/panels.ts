// The panels beside the stage: plots, parameters, runs, events, what is known of the model.

import type { App } from './app.ts';
import { h, iconButton, letGo, sig, words } from './dom.ts';
import type { ParameterSpec, SceneSpec, Status } from './protocol.ts';
import { plotsOf } from './quantities.ts';
import type { PlotSpec } from './quantities.ts';

const TABS = ['Plots', 'Model', 'Events'] as const;
type Tab = (typeof TABS)[number];

/** Events listed at once. */
const MOST_EVENTS = 500;

export class Panels {
  readonly element = h('aside', { class: 'panels' });
  private readonly pages = new Map<Tab, HTMLElement>();
  private readonly buttons = new Map<Tab, HTMLButtonElement>();
  private readonly picker = letGo(h('select', { class: 'picker', 'aria-label': 'Add a plot' }));
  private readonly sliders = h('div', { class: 'sliders' });
  private readonly engines = h('div', { class: 'engines' });
  private readonly overlay = h('div', { class: 'overlay' });
  private readonly about = h('div', { class: 'about' });
  private readonly eventList = h('ol', { class: 'events' });
  private readonly choice = h('div', { class: 'choice' });
  private inputs = new Map<string, { slider: HTMLInputElement; number: HTMLInputElement }>();
  private specs = new Map<string, PlotSpec[]>();
  private engineNames: string[] = [];
  private canGhost = false;
  private dialog: HTMLDialogElement | null = null;

  constructor(private readonly app: App) {
    const tabs = h('div', { class: 'tabs', role: 'tablist' });
    for (const tab of TABS) {
      const page = h('div', { class: `page ${tab.toLowerCase()}`, role: 'tabpanel' });
      const button = h('button', { type: 'button', role: 'tab', onclick: () => this.open(tab) }, tab);
      this.pages.set(tab, page);
      this.buttons.set(tab, button);
      tabs.append(button);
    }
    this.element.append(tabs, ...this.pages.values());
    this.picker.addEventListener('change', () => this.pick());
    this.page('Plots').append(this.choice, app.plots.element, this.picker);
    this.page('Model').append(this.about, this.engines, this.sliders, this.overlay);
    this.page('Events').append(this.eventList);
    this.open('Plots');
  }

  private page(tab: Tab): HTMLElement {
    return this.pages.get(tab) as HTMLElement;
  }

  open(tab: Tab): void {
    for (const [name, page] of this.pages) {
      page.hidden = name !== tab;
      this.buttons.get(name)?.setAttribute('aria-selected', String(name === tab));
    }
    if (tab === 'Events') this.listEvents();
    if (this.app.stage) this.app.refreshPlots();
  }

  toggle(): void {
    this.element.parentElement?.classList.toggle('wide');
  }

  hello(engines: string[], ghosts: boolean): void {
    this.engineNames = engines;
    this.canGhost = ghosts;
    this.runs();
  }

  scene(scene: SceneSpec): void {
    this.specs = plotsOf(scene);
    this.picker.replaceChildren(h('option', { value: '' }, 'Add a plot …'));
    for (const [group, specs] of this.specs) {
      const options = h('optgroup', { label: group });
      specs.forEach((spec, i) => options.append(h('option', { value: `${group}\u0000${i}` }, spec.unit ? `${spec.title}, ${spec.unit}` : spec.title)));
      this.picker.append(options);
    }
    this.describe(scene);
    if (this.app.mode === 'live') this.showSliders(scene.parameters);
  }

  private pick(): void {
    const [group, index] = this.picker.value.split('\u0000');
    const spec = this.specs.get(group)?.[Number(index)];
    this.picker.value = '';
    if (!spec) return;
    this.app.plots.add(spec);
    this.app.refreshPlots();
  }

  private describe(scene: SceneSpec): void {
    const moving = scene.bodies.filter((body) => !body.fixed).length;
    const points = scene.bodies.filter((body) => body.kind === 'point' && !body.fixed).length;
    const facts = [
      [moving - points, 'body', 'bodies'],
      [points, 'point mass', 'point masses'],
      [scene.joints.length, 'joint', 'joints'],
      [scene.threads.filter((thread) => thread.kind === 'spring').length, 'spring', 'springs'],
    ] as const;
    const counts = facts.filter(([n]) => n > 0).map(([n, one, many]) => `${n} ${n === 1 ? one : many}`);
    this.about.replaceChildren(h('p', {}, ...words(scene.description || scene.name)), h('p', { class: 'quiet' }, counts.join(', ')));
    const main = this.app.main;
    if (main && main.every > 1) {
      const text = `${main.total} frames, too many for the page at once: plots and trails have one in ${main.every}; around the time that is shown, every one is loaded.`;
      this.about.append(h('p', { class: 'quiet', 'data-thinned': String(main.every) }, text));
    }
    const facts2 = main?.facts;
    const settings = facts2?.settings as Record<string, unknown> | undefined;
    if (settings) this.about.append(table(settings));
    const certificate = facts2?.certificate as Record<string, unknown> | null | undefined;
    if (certificate) {
      const { model_hash, state_hash, samples_hash, steps, samples } = certificate;
      this.about.append(h('h3', {}, 'Certificate'), table({ steps, samples, model_hash, state_hash, samples_hash }));
    }
  }

  private showSliders(parameters: ParameterSpec[]): void {
    const same = parameters.length === this.inputs.size && parameters.every((parameter) => this.inputs.has(parameter.name));
    if (same) {
      for (const parameter of parameters) this.setInput(parameter.name, parameter.value);
      return;
    }
    this.inputs.clear();
    this.sliders.replaceChildren();
    if (parameters.length === 0) return;
    this.sliders.append(h('h3', {}, 'Parameters'));
    for (const parameter of parameters) {
      const step = niceStep(parameter);
      const number = h('input', { type: 'number', step: 'any', value: String(parameter.value), 'aria-label': `${parameter.name}, value` });
      const slider = h('input', {
        type: 'range',
        min: String(parameter.min),
        max: String(parameter.max),
        step: String(step),
        value: String(parameter.value),
        'aria-label': parameter.name,
        'data-parameter': parameter.name,
      });
      const send = (value: number) => {
        if (Number.isFinite(value)) this.app.send({ type: 'parameter', name: parameter.name, value });
      };
      let waiting = 0;
      slider.addEventListener('input', () => {
        number.value = slider.value;
        clearTimeout(waiting);
        waiting = window.setTimeout(() => send(Number(slider.value)), 60);
      });
      number.addEventListener('change', () => {
        slider.value = number.value;
        send(Number(number.value));
      });
      this.inputs.set(parameter.name, { slider, number });
      const name = h('span', { class: 'name', title: parameter.description ?? '' }, parameter.name);
      const unit = h('span', { class: 'unit' }, parameter.unit ?? '');
      const about = parameter.description ? h('span', { class: 'quiet' }, parameter.description) : null;
      this.sliders.append(h('label', { class: 'slider' }, h('span', { class: 'row' }, name, number, unit), slider, about));
    }
  }

  private setInput(name: string, value: number): void {
    const input = this.inputs.get(name);
    if (!input || document.activeElement === input.slider || document.activeElement === input.number) return;
    input.slider.value = String(value);
    input.number.value = String(value);
  }

  status(status: Status): void {
    const key = `${status.engine} ${status.engines.join()}`;
    if (this.engines.dataset.key === key) return;
    this.engines.dataset.key = key;
    const choose = (engine: string) => this.app.send({ type: 'engine', name: engine });
    const buttons = status.engines.map((engine) =>
      h('button', { type: 'button', 'aria-pressed': String(engine === status.engine), onclick: () => choose(engine) }, engine),
    );
    const how = status.engine === 'impulse' ? `step ${sig(status.step)} s, order ${status.order}, gaps within ${sig(status.tolerance)} m` : 'chooses its steps itself';
    this.engines.replaceChildren(h('h3', {}, 'Engine'), h('div', { class: 'choices' }, ...buttons), h('p', { class: 'quiet' }, how));
  }

  /** The ghosts, and what could be one. */
  runs(): void {
    const ghosts = this.app.ghosts;
    this.overlay.replaceChildren();
    if (!this.canGhost && ghosts.length === 0) return;
    this.overlay.append(h('h3', {}, 'Overlay'));
    for (const run of ghosts) {
      const failed = run.facts?.failed as string | undefined;
      const state = failed ?? (run.growing ? 'running …' : `${run.total} frames, ends at ${sig(run.end, 4)} s`);
      const remove = iconButton('close', 'Take it away', () => this.app.send({ type: 'drop', run: run.id }));
      this.overlay.append(h('div', { class: 'ghost' }, h('span', {}, run.label), h('span', { class: failed ? 'bad' : 'quiet' }, state), remove));
    }
    if (this.canGhost) {
      const add = (engine: string) => this.app.send({ type: 'ghost', engine });
      const buttons = this.engineNames.map((engine) => h('button', { type: 'button', 'data-ghost': engine, onclick: () => add(engine) }, `+ ${engine}`));
      this.overlay.append(h('div', { class: 'choices' }, ...buttons));
      this.overlay.append(h('p', { class: 'quiet' }, 'Runs the model from its start with another engine and shows it as a ghost, dashed in the plots.'));
    }
    const scene = this.app.main?.scene;
    if (scene) this.describe(scene);
  }

  /** The list is written when it can be seen, and not more often than it can be read. */
  events(): void {
    const events = this.app.main?.events ?? [];
    const button = this.buttons.get('Events');
    const total = Math.max(this.app.main?.eventCount ?? 0, events.length);
    if (button) button.textContent = total > 0 ? `Events ${total}` : 'Events';
    if (this.page('Events').hidden || this.waiting) return;
    this.waiting = true;
    setTimeout(() => {
      this.waiting = false;
      this.listEvents();
    }, 250);
  }

  private waiting = false;

  private listEvents(): void {
    const events = this.app.main?.events ?? [];
    if (events.length === 0) {
      this.eventList.replaceChildren(h('p', { class: 'quiet' }, 'Nothing has happened yet: impacts, end stops, breaking joints and halved steps are listed here.'));
      return;
    }
    const line = (event: (typeof events)[number]) =>
      h(
        'li',
        {},
        h(
          'button',
          { type: 'button', title: 'Show this moment', onclick: () => this.app.seek(event.time) },
          h('span', { class: 'when' }, `${event.time.toFixed(3)} s`),
          h('span', { class: 'kind' }, event.kind),
          h('span', {}, event.between.join(' – ')),
          h('span', { class: 'quiet' }, ...words(event.detail)),
        ),
      );
    // Those around the time that is shown, where there are very many.
    const at = events.findIndex((event) => event.time >= this.app.t);
    const from = Math.max(0, Math.min((at < 0 ? events.length : at) - MOST_EVENTS / 2, events.length - MOST_EVENTS));
    const some = events.slice(from, from + MOST_EVENTS);
    const total = Math.max(this.app.main?.eventCount ?? 0, events.length);
    const note = h('li', { class: 'quiet' }, `Events ${from + 1} to ${from + some.length} of ${total}, those around the time that is shown.`);
    this.eventList.replaceChildren(...(some.length < total ? [note] : []), ...some.map(line));
  }

  /** The body that was clicked, with its plots. */
  chosen(): void {
    const scene = this.app.main?.scene;
    const body = this.app.chosen === null ? undefined : scene?.bodies[this.app.chosen];
    this.choice.replaceChildren();
    if (!body || !scene) return;
    const group = `${body.kind === 'point' ? 'point' : 'body'}.${body.name}`;
    const joints = scene.joints.filter((joint) => joint.bodies.includes(this.app.chosen as number));
    const specs = [group, ...joints.map((joint) => `joint.${joint.name}`)].flatMap((name) => this.specs.get(name) ?? []);
    const buttons = specs.map((spec) => {
      const add = () => {
        this.app.plots.add(spec);
        this.app.refreshPlots();
      };
      return h('button', { type: 'button', onclick: add }, spec.title.replace(`${group}.`, '').replace(' (centre of mass)', ''));
    });
    const mass = body.kind === 'world' ? '' : `${sig(body.mass, 4)} kg`;
    this.choice.append(h('h3', {}, body.name, ' ', h('span', { class: 'quiet' }, mass)), h('div', { class: 'choices' }, ...buttons));
    this.open('Plots');
  }

  /** The help is open. */
  get helping(): boolean {
    return this.dialog?.open ?? false;
  }

  closeHelp(): void {
    this.dialog?.close();
  }

  help(): void {
    if (!this.dialog) {
      const keys = [
        ['space', 'play, pause'],
        ['← →', 'one step'],
        ['Home End', 'first, newest moment'],
        ['R', 'to the start'],
        ['+ −', 'faster, slower'],
        ['F C T J', 'joint forces, contact forces, trails, joints'],
        ['G 0', 'camera goes along, shows all'],
        ['D P', 'dark or light, panels'],
        ['Esc', 'close this, choose nothing'],
      ];
      const mouse = [
        ['drag a body', 'pull it (live)'],
        ['click a body', 'choose it: its plots'],
        ['drag beside', 'turn the view'],
        ['right drag, two fingers', 'move the view'],
        ['wheel, pinch', 'zoom'],
        ['press in a plot', 'show that moment'],
      ];
      const list = (rows: string[][]) => h('dl', {}, ...rows.flatMap(([key, what]) => [h('dt', {}, key), h('dd', {}, what)]));
      this.dialog = h('dialog', { class: 'help' }, h('h2', {}, 'Keys and mouse'), list(mouse), list(keys));
      this.dialog.append(h('form', { method: 'dialog' }, h('button', { type: 'submit' }, 'Close')));
      document.body.append(this.dialog);
    }
    this.dialog.showModal();
  }
}

function table(values: Record<string, unknown>): HTMLElement {
  const rows = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== false);
  const text = (value: unknown) => (typeof value === 'number' ? sig(value, 6) : String(value));
  return h('dl', { class: 'facts' }, ...rows.flatMap(([name, value]) => [h('dt', {}, name.replaceAll('_', ' ')), h('dd', {}, text(value))]));
}

/** A step of about a two-hundredth of the range, with one digit; whole numbers stay whole. */
function niceStep(parameter: ParameterSpec): number {
  const span = parameter.max - parameter.min;
  if (Number.isInteger(parameter.value) && Number.isInteger(parameter.min) && Number.isInteger(parameter.max) && span >= 50) return 1;
  return 10 ** Math.floor(Math.log10(span / 100));
}
