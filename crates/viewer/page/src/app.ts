// The viewer: a stage, a time line, panels; fed by a server or by the data of a report.

import { h, sig, words } from './dom.ts';
import { Bar } from './bar.ts';
import { Panels } from './panels.ts';
import { Plots } from './plots.ts';
import type { Chunk, Facts, News, Status, Verdict } from './protocol.ts';
import { integratorError } from './protocol.ts';
import { standardPlots } from './quantities.ts';
import { Run } from './run.ts';
import { Stage } from './stage.ts';
import { cycleTheme } from './theme.ts';

export type Mode = 'live' | 'replay' | 'report';

/** What takes letters for itself. */
const WRITTEN_IN = 'select, textarea, input:not([type="range"], [type="checkbox"], [type="radio"], [type="button"])';
const SLIDER_KEYS = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'PageUp', 'PageDown']);

/** The engine that the settings of a run name. */
function engineOf(facts: Facts): string | undefined {
  return (facts?.settings as { engine?: string } | undefined)?.engine;
}

export class App {
  readonly stage: Stage;
  readonly plots = new Plots();
  readonly bar: Bar;
  readonly panels: Panels;
  mode: Mode = 'replay';
  runs: Run[] = [];
  status: Status | null = null;
  /** The time that is shown, s. */
  t = 0;
  playing = false;
  speed = 1;
  /** Live: the newest frame is shown. */
  following = true;
  chosen: number | null = null;
  /** Engines of the live run, with the times since when. */
  private engines: { name: string; since: number }[] = [];
  /** Sends a wish to the server. */
  send: (wish: Record<string, unknown>) => void = () => {};
  private readonly chips = h('div', { class: 'chips' });
  private readonly title = h('h1', {}, 'Gelenk');
  private readonly notice = h('div', { class: 'notice', role: 'status', hidden: true });
  /** Where to go when nothing is to be seen. */
  private readonly away = h('button', { type: 'button', class: 'away', hidden: true, onclick: () => this.stage.fit() }, 'Everything has left the picture: show all (0); G goes along');
  private last = 0;
  private plotted = 0;
  /** Something was drawn that the plots and the line of numbers do not show yet. */
  private stale = false;
  private filling = false;
  private lastPull = 0;

  constructor(parent: HTMLElement, mode: Mode) {
    this.mode = mode;
    parent.classList.add('viewer');
    const place = h('div', { class: 'place' });
    this.panels = new Panels(this);
    this.bar = new Bar(this);
    place.append(h('div', { class: 'heading' }, this.title, this.chips), this.bar.tools, this.away, this.notice);
    parent.append(place, this.bar.element, this.panels.element);
    this.stage = new Stage(place);
    this.stage.events = {
      grab: (grip, target) => this.grab(grip.body, grip.local.toArray(), target.toArray()),
      pull: (target) => this.pull(target.toArray()),
      release: () => this.send({ type: 'release' }),
      choose: (body) => this.choose(body),
    };
    this.plots.onSeek = (t) => this.seek(t);
    for (const plot of standardPlots()) if (plot.title !== 'energy ledger') this.plots.add(plot);
    document.addEventListener('keydown', (event) => this.key(event));
    requestAnimationFrame((now) => this.tick(now));
  }

  get main(): Run | undefined {
    return this.runs.find((run) => run.id === 0);
  }

  get ghosts(): Run[] {
    return this.runs.filter((run) => run.id !== 0);
  }

  run(id: number): Run {
    let run = this.runs.find((other) => other.id === id);
    if (!run) {
      run = new Run(id);
      this.runs.push(run);
    }
    return run;
  }

  // From the server or the report

  news(news: News): void {
    switch (news.type) {
      case 'hello':
        this.mode = news.mode;
        this.runs = [];
        this.panels.hello(news.engines, news.ghosts);
        this.bar.refresh();
        break;
      case 'scene': {
        const run = this.run(news.run);
        run.setScene(news.scene, news.generation, news.keeps);
        if (run.id === 0) {
          if (!news.keeps) this.engines = this.status ? [{ name: this.status.engine, since: 0 }] : [];
          this.title.textContent = news.scene.name;
          document.title = `${news.scene.name} · Gelenk`;
          this.panels.scene(news.scene);
          if (news.keeps) this.stage.setMain(run, true);
        }
        break;
      }
      case 'run': {
        const run = this.run(news.run);
        // Optimal motions come without forces of joints and without a ledger of their own.
        if (run.id === 0 && engineOf(news.facts) === 'optimize') for (const title of ['energy error', 'worst gap']) this.plots.remove(title);
        Object.assign(run, { label: news.label, total: news.frames, firstOnServer: news.first, growing: news.growing, eventCount: news.events ?? 0, facts: news.facts });
        if (this.mode !== 'live' || run.id !== 0) this.fetch(run);
        this.tellDamage();
        this.panels.runs();
        if (run.id === 0) this.panels.events();
        break;
      }
      case 'events': {
        const run = this.run(news.run);
        run.events = [...run.events.slice(0, news.from), ...news.events];
        if (run.id === 0) this.panels.events();
        this.bar.ticks();
        break;
      }
      case 'gone':
        this.runs = this.runs.filter((run) => run.id !== news.run);
        this.stage.setGhosts(this.ghosts);
        this.panels.runs();
        this.plots.update(this.shown(), this.t, true);
        break;
      case 'status':
        this.status = news;
        if (this.engines[this.engines.length - 1]?.name !== news.engine) this.engines.push({ name: news.engine, since: this.main?.end ?? 0 });
        this.playing = news.playing;
        this.speed = news.speed;
        if (news.playing) this.following = true;
        this.tell(news.message);
        this.panels.status(news);
        this.bar.refresh();
        break;
      case 'error':
        this.tell(news.message);
        break;
    }
  }

  chunk(chunk: Chunk): void {
    const run = this.runs.find((other) => other.id === chunk.run);
    if (!run) return;
    const first = run.frames.length === 0;
    const live = this.mode === 'live' && run.id === 0;
    if (!(live ? run.add(chunk) : run.answer(chunk))) {
      if (live) this.filling = false;
      else if (run.growing) setTimeout(() => this.fetch(run), 150);
      return;
    }
    if (first && run.id === 0) {
      this.stage.setMain(run, this.stage.main !== null && live);
      this.t = run.start;
      this.stage.setGhosts(this.ghosts);
      this.bar.refresh();
    }
    if (first && run.id !== 0) this.stage.setGhosts(this.ghosts);
    if (live) {
      if (this.following) this.t = run.end;
      if (chunk.frames.length > 1 || chunk.frames[0].index < run.frames[run.frames.length - 1].index) this.filling = false;
      this.fill(run);
      run.forget();
    } else {
      this.fetch(run);
      if (run.id !== 0 || run.every > 1) this.panels.runs();
      if (!run.asked && run.id === 0 && this.stage.main && this.t === run.start && !this.stage.touched) this.stage.fit();
    }
    this.stage.dirty = true;
  }

  /** Asks for the next frames of a run that lies ready, one piece at a time. */
  private fetch(run: Run): void {
    if (run.asked || this.mode === 'report' || !this.runs.includes(run)) return;
    run.asked = run.wanted(this.t);
    if (!run.asked) return;
    const { from, count, every } = run.asked;
    this.send({ type: 'frames', run: run.id, from, count, every });
  }

  /** A slow page has missed frames of a live run: it asks for them, one piece at a time. */
  private fill(run: Run): void {
    if (this.filling) return;
    const gap = run.gap();
    if (!gap) return;
    this.filling = true;
    this.send({ type: 'frames', run: run.id, from: gap[0], count: Math.min(gap[1], 200) });
  }

  tell(message: string | null): void {
    this.notice.hidden = !message;
    if (message && this.notice.dataset.text !== message) {
      this.notice.dataset.text = message;
      this.notice.replaceChildren(...words(message));
    }
  }

  /** A recording that is not whole is not shown as if it were. */
  private tellDamage(): void {
    const damaged = this.runs.filter((run) => run.facts?.integrity && run.facts.integrity !== 'complete');
    if (damaged.length > 0) this.tell(damaged.map((run) => `${run.label}: ${run.facts?.integrity}; what is before is shown.`).join(' '));
  }

  connected(yes: boolean): void {
    document.body.classList.toggle('lost', !yes);
    if (!yes) this.tell('The connection is lost; trying again …');
    else this.tell(null);
  }

  // What the user does

  play(playing = !this.playing): void {
    if (this.mode === 'live') {
      this.following = true;
      this.send({ type: 'play', playing });
      return;
    }
    const run = this.main;
    if (playing && run && this.t >= run.end - 1e-9) this.t = run.start;
    this.playing = playing;
    this.bar.refresh();
  }

  step(direction: number): void {
    const run = this.main;
    if (!run) return;
    if (this.mode === 'live' && direction > 0 && this.following) {
      this.send({ type: 'step', count: 1 });
      return;
    }
    const i = run.before(this.t);
    const next = direction < 0 && run.frames[i]?.t < this.t - 1e-12 ? i : i + direction;
    const frame = run.frames[Math.min(Math.max(next, 0), run.frames.length - 1)];
    if (frame) this.seek(frame.t);
  }

  seek(t: number): void {
    const run = this.main;
    if (!run) return;
    this.t = Math.min(Math.max(t, run.start), run.end);
    if (this.mode === 'live') {
      const atEnd = this.t >= run.end - 1e-9;
      if (!atEnd && this.playing) this.send({ type: 'play', playing: false });
      this.following = atEnd;
    } else {
      this.playing = false;
    }
    this.stage.dirty = true;
    this.bar.refresh();
    this.refreshPlots();
  }

  setSpeed(speed: number): void {
    this.speed = speed;
    if (this.mode === 'live') this.send({ type: 'speed', value: speed });
    this.bar.refresh();
  }

  reset(): void {
    if (this.mode === 'live') this.send({ type: 'reset' });
    else this.seek(this.main?.start ?? 0);
  }

  choose(body: number | null): void {
    this.chosen = body !== null && this.main?.scene.bodies[body].kind === 'world' ? null : body;
    this.stage.main?.highlight(this.chosen);
    this.panels.chosen();
    this.stage.dirty = true;
  }

  private grab(body: number, point: number[], target: number[]): boolean {
    if (this.mode !== 'live' || !this.following || this.status?.failed) return false;
    this.send({ type: 'grab', body, point, target });
    if (!this.playing) this.tell('It stands still: space lets it run, and the hand pulls.');
    return true;
  }

  private pull(target: number[]): void {
    // No more than the simulation can see.
    const now = performance.now();
    if (now - this.lastPull < 12) return;
    this.lastPull = now;
    this.send({ type: 'pull', target });
  }

  private key(event: KeyboardEvent): void {
    const at = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.panels.helping) {
      // The dialog has the keys until it is closed.
      if (event.key !== 'Escape' && event.key !== '?') return;
      event.preventDefault();
      this.panels.closeHelp();
      return;
    }
    if (at.closest(WRITTEN_IN)) {
      if (event.key !== 'Escape') return;
      at.blur();
    }
    // A parameter's slider is moved by its own keys; the time line goes by steps of the run.
    if (at.closest('[data-parameter]') && SLIDER_KEYS.has(event.key)) return;
    if (at.tagName === 'BUTTON' && event.key === ' ') return;
    const looks = this.stage.looks;
    const keys: Record<string, () => void> = {
      ' ': () => this.play(),
      ArrowRight: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      Home: () => this.seek(this.main?.start ?? 0),
      End: () => this.seek(this.main?.end ?? 0),
      r: () => this.reset(),
      t: () => (looks.trails = !looks.trails),
      f: () => (looks.jointForces = !looks.jointForces),
      c: () => (looks.contactForces = !looks.contactForces),
      j: () => (looks.joints = !looks.joints),
      g: () => (this.stage.follow = !this.stage.follow),
      0: () => this.stage.fit(),
      d: () => this.theme(),
      p: () => this.panels.toggle(),
      '?': () => this.panels.help(),
      Escape: () => this.choose(null),
      '+': () => this.setSpeed(Math.min(this.speed * 2, 16)),
      '-': () => this.setSpeed(Math.max(this.speed / 2, 1 / 64)),
    };
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
    this.stage.dirty = true;
    this.bar.refresh();
  }

  theme(): void {
    cycleTheme();
    this.stage.theme();
    this.plots.theme();
    this.bar.refresh();
  }

  // Each picture

  private shown(): Run[] {
    const main = this.main;
    return main ? [main, ...this.ghosts] : [];
  }

  refreshPlots(): void {
    this.plots.update(this.shown(), this.t);
  }

  private tick(now: number): void {
    const dt = Math.min((now - this.last) / 1000, 0.25);
    this.last = now;
    const run = this.main;
    if (run && this.mode !== 'live' && this.playing) {
      this.t = Math.min(this.t + dt * this.speed, run.end);
      if (this.t >= run.end && !run.growing) {
        this.playing = false;
        this.bar.refresh();
      }
      this.stage.dirty = true;
    }
    // All frames around the time that is shown, of runs too long to be here as a whole.
    for (const long of this.runs) if (long.every > 1) this.fetch(long);
    if (run && run.frames.length > 0) {
      this.stale ||= this.stage.dirty;
      this.stage.draw(this.t);
      if (this.stale && now - this.plotted > 90) {
        this.stale = false;
        this.plotted = now;
        this.refreshPlots();
        this.chipsNow(run);
      }
      if (this.away.hidden === this.stage.empty) this.away.hidden = !this.stage.empty;
      this.bar.time();
    }
    requestAnimationFrame((next) => this.tick(next));
  }

  /** The engine that made the motion at a time, as far as the page was there to see it. */
  private engineAt(run: Run, t: number): string | undefined {
    if (this.following || t >= run.end) return this.status?.engine;
    let engine = this.engines[0]?.name;
    for (const { since, name } of this.engines) if (since < t) engine = name;
    return engine;
  }

  private chipsNow(run: Run): void {
    const frame = run.frames[run.before(this.t)];
    if (!frame) return;
    const status = this.status;
    const engine = this.engineAt(run, this.t) ?? engineOf(run.facts);
    const simulated = engine !== 'optimize';
    const texts = [
      engine ? (simulated ? `${engine} engine` : 'optimal motion') : '',
      simulated ? `gap ${sig(frame.ledger[6], 2)} m` : '',
      simulated ? `energy error ${sig(integratorError(frame), 2)} J` : '',
      frame.contacts > 0 ? `${frame.contacts} ${frame.contacts === 1 ? 'contact' : 'contacts'}` : '',
      run.every > 1 ? `plots: 1 in ${run.every} frames` : '',
      ...this.ghosts.filter((ghost) => ghost.frames.length > 0 && ghost.over(this.t)).map((ghost) => `overlay ${ghost.label}: ${ghost.growing ? 'running, at' : 'ends at'} ${sig(ghost.end, 4)} s`),
      this.mode === 'live' && this.playing ? `${sig(status?.real_time_factor ?? 0, 2)} × real time` : '',
    ].filter((text) => text !== '');
    const verdict = this.mode === 'live' && status ? status.verdict : (run.facts?.verdict as Verdict | null | undefined);
    const why = (verdict?.findings ?? []).map((finding) => `${finding.cause}; ${finding.remedy}`).join('\n');
    const key = [...texts, verdict?.level ?? '', why].join('|');
    if (this.chips.dataset.key === key) return;
    this.chips.dataset.key = key;
    const light = verdict ? [h('span', { class: `light ${verdict.level}`, title: why || 'nothing speaks against the result' }, verdict.level)] : [];
    this.chips.replaceChildren(...texts.map((text) => h('span', {}, text)), ...light);
  }
}
