// The time line with its buttons, and the tools over the stage.

import type { App } from './app.ts';
import { h, icon, iconButton, letGo } from './dom.ts';

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

export class Bar {
  readonly tools = h('div', { class: 'tools', role: 'toolbar', 'aria-label': 'What is shown' });
  readonly element: HTMLElement;
  private readonly play: HTMLButtonElement;
  private readonly scrub: HTMLInputElement;
  private readonly clock = h('output', { class: 'clock' });
  private readonly marks = h('div', { class: 'marks' });
  private readonly speed: HTMLSelectElement;
  private readonly head: HTMLButtonElement;
  private readonly switches: [HTMLButtonElement, () => boolean][] = [];
  private ticked = '';
  private tickedAt = 0;

  constructor(private readonly app: App) {
    this.play = iconButton('play', 'Play (space)', () => app.play(), { class: 'icon main' });
    this.scrub = h('input', {
      type: 'range',
      min: '0',
      max: '1',
      step: 'any',
      value: '0',
      class: 'scrub',
      'aria-label': 'Time',
      oninput: () => app.seek(Number(this.scrub.value)),
    });
    this.speed = letGo(h('select', { class: 'speed', 'aria-label': 'Speed', onchange: () => app.setSpeed(Number(this.speed.value)) }));
    for (const speed of SPEEDS) this.speed.append(h('option', { value: String(speed) }, `${speed}×`));
    this.speed.value = '1';
    this.head = h('button', { type: 'button', class: 'head', title: 'To the newest moment (End)', onclick: () => app.seek(Infinity) }, 'live');
    this.element = h(
      'div',
      { class: 'bar' },
      this.play,
      iconButton('back', 'One step back (←)', () => app.step(-1)),
      iconButton('step', 'One step on (→)', () => app.step(1)),
      iconButton('reset', 'To the start (R)', () => app.reset()),
      h('div', { class: 'line' }, this.marks, this.scrub),
      this.clock,
      this.head,
      this.speed,
    );
    const look = (name: string, title: string, key: 'joints' | 'jointForces' | 'contactForces' | 'trails') => {
      const button = iconButton(name, title, () => {
        app.stage.looks[key] = !app.stage.looks[key];
        this.refresh();
        app.stage.dirty = true;
      });
      this.switches.push([button, () => app.stage?.looks[key]]);
      return button;
    };
    const follow = iconButton('follow', 'Camera goes along (G)', () => {
      app.stage.follow = !app.stage.follow;
      this.refresh();
    });
    this.switches.push([follow, () => app.stage?.follow]);
    this.tools.append(
      look('force', 'Forces of joints (F)', 'jointForces'),
      look('contact', 'Forces of contacts (C)', 'contactForces'),
      look('trail', 'Trails (T)', 'trails'),
      look('joint', 'Joints (J)', 'joints'),
      follow,
      iconButton('fit', 'Show all (0)', () => app.stage.fit()),
      iconButton('theme', 'Dark or light (D)', () => app.theme()),
      iconButton('panel', 'Panels (P)', () => app.panels.toggle()),
      iconButton('help', 'Help (?)', () => app.panels.help()),
    );
  }

  /** Shows the state of all switches. */
  refresh(): void {
    const app = this.app;
    const playing = app.playing;
    if (this.play.dataset.playing !== String(playing)) {
      this.play.dataset.playing = String(playing);
      this.play.replaceChildren(icon(playing ? 'pause' : 'play'));
      const title = playing ? 'Pause (space)' : 'Play (space)';
      this.play.title = title;
      this.play.setAttribute('aria-label', title);
    }
    for (const [button, on] of this.switches) button.setAttribute('aria-pressed', String(on() ?? false));
    if (document.activeElement !== this.speed) {
      const value = String(app.speed);
      if (![...this.speed.options].some((option) => option.value === value)) {
        this.speed.append(h('option', { value }, `${Number(app.speed.toPrecision(2))}×`));
      }
      this.speed.value = value;
    }
    this.head.hidden = app.mode !== 'live';
    this.head.classList.toggle('on', app.following);
    if (app.stage) app.stage.dirty = true;
  }

  /** Shows the time. */
  time(): void {
    const run = this.app.main;
    if (!run) return;
    const { start, end } = run;
    const [min, max] = [String(start), String(end)];
    if (this.scrub.min !== min) this.scrub.min = min;
    if (this.scrub.max !== max) {
      this.scrub.max = max;
      this.ticks();
    }
    const value = String(this.app.t);
    if (this.scrub.value !== value) this.scrub.value = value;
    const total = this.app.mode === 'live' ? '' : ` / ${end.toFixed(2)}`;
    const text = `${this.app.t.toFixed(2)}${total} s`;
    if (this.clock.value !== text) this.clock.value = text;
  }

  /** Marks events on the time line. */
  ticks(): void {
    const run = this.app.main;
    if (!run || run.end <= run.start) return;
    const events = run.events.slice(0, 300);
    const key = `${events.length} ${run.start} ${run.end}`;
    const now = performance.now();
    if (key === this.ticked || now - this.tickedAt < 400) return;
    this.ticked = key;
    this.tickedAt = now;
    this.marks.replaceChildren(
      ...events.map((event) => {
        const mark = h('i', {});
        mark.style.left = `${(100 * (event.time - run.start)) / (run.end - run.start)}%`;
        return mark;
      }),
    );
  }
}
