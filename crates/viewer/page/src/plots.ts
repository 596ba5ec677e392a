// Plots beside the scene, with a common cursor at the time that is shown.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { h, iconButton, sig } from './dom.ts';
import type { Frame } from './protocol.ts';
import type { PlotSpec, Quantity } from './quantities.ts';
import type { Run } from './run.ts';

const COLORS = ['#4c8dd6', '#e8903a', '#3fa96b', '#d6587a', '#8f6fd1'];
/** Most points of a line. */
const MOST_POINTS = 3000;

interface Card {
  spec: PlotSpec;
  plot: uPlot;
  box: HTMLElement;
  values: HTMLElement[];
  /** What of the runs is drawn: label, version, epoch. */
  drawn: string;
  lines: Map<number, Lines>;
}

/** The lines of a run as far as they are settled. */
interface Lines {
  epoch: number;
  /** Frames of which the extremes are drawn. */
  group: number;
  /** Frames, and points of them, that will not change. */
  done: number;
  points: number;
  table: number[][];
}

export class Plots {
  readonly element = h('div', { class: 'plots' });
  /** The user wants to see this time. */
  onSeek: (t: number) => void = () => {};
  private cards: Card[] = [];
  private t = 0;
  private runs: Run[] = [];

  has(title: string): boolean {
    return this.cards.some((card) => card.spec.title === title);
  }

  add(spec: PlotSpec): void {
    if (this.has(spec.title)) return;
    const values = spec.quantities.map(() => h('b', {}));
    const legend = h('div', { class: 'legend' });
    spec.quantities.forEach((quantity, i) => {
      const name = spec.quantities.length > 1 ? (quantity.name.startsWith(spec.title) || /\.[xyz]$/.test(quantity.name) ? quantity.name.slice(-1) : quantity.name) : '';
      const swatch = h('i', {});
      swatch.style.background = COLORS[i];
      legend.append(h('span', {}, swatch, name, values[i]));
    });
    const title = spec.unit ? `${spec.title}, ${spec.unit}` : spec.title;
    const box = h('section', { class: 'card', 'data-plot': spec.title });
    const head = h('header', {}, h('h3', {}, title), legend, iconButton('close', 'Remove this plot', () => this.remove(spec.title)));
    const place = h('div', { class: 'plot' });
    box.append(head, place);
    this.element.append(box);
    const plot = new uPlot(this.options(spec, place), [[], ...spec.quantities.map(() => [])], place);
    new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: place.clientHeight })).observe(place);
    this.cards.push({ spec, plot, box, values, drawn: '', lines: new Map() });
    this.listen(plot);
  }

  remove(title: string): void {
    const card = this.cards.find((other) => other.spec.title === title);
    if (!card) return;
    card.plot.destroy();
    card.box.remove();
    this.cards = this.cards.filter((other) => other !== card);
  }

  private options(spec: PlotSpec, place: HTMLElement): uPlot.Options {
    const ink = () => getComputedStyle(document.documentElement).getPropertyValue('--quiet').trim();
    const rule = () => getComputedStyle(document.documentElement).getPropertyValue('--rule').trim();
    const axis: uPlot.Axis = {
      stroke: ink,
      grid: { stroke: rule, width: 1 },
      ticks: { stroke: rule, width: 1, size: 4 },
      font: '11px system-ui, sans-serif',
      gap: 4,
    };
    const numbers: uPlot.Axis.DynamicValues = (_, splits) => splits.map((x) => (x === null ? '' : sig(x, 3)));
    return {
      width: Math.max(place.clientWidth, 100),
      height: Math.max(place.clientHeight, 60),
      legend: { show: false },
      cursor: { sync: { key: 'gelenk' }, drag: { x: false, y: false }, points: { size: 6 } },
      scales: { x: { time: false, range: (_, low, high) => span(low, high) }, y: { range: (_, low, high) => range(low, high) } },
      axes: [
        { ...axis, size: 24, values: numbers },
        { ...axis, size: 58, values: numbers },
      ],
      series: [{}, ...this.series(spec)],
      hooks: { draw: [(plot) => drawUnit(plot, ink()), (plot) => this.drawTime(plot)] },
    };
  }

  private series(spec: PlotSpec): uPlot.Series[] {
    return spec.quantities.map((quantity, i) => ({
      label: quantity.name,
      stroke: COLORS[i],
      width: 1.5,
      points: { show: false },
      spanGaps: true,
    }));
  }

  /** The line at the time that is shown. */
  private drawTime(plot: uPlot): void {
    const x = plot.valToPos(this.t, 'x', true);
    const { left, top, width, height } = plot.bbox;
    if (!(x >= left && x <= left + width)) return;
    const ink = plot.ctx;
    ink.save();
    ink.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--accent').trim();
    ink.lineWidth = 1.5 * devicePixelRatio;
    ink.setLineDash([]);
    ink.beginPath();
    ink.moveTo(x, top);
    ink.lineTo(x, top + height);
    ink.stroke();
    ink.restore();
  }

  /** Pressing and dragging in a plot chooses the time. */
  private listen(plot: uPlot): void {
    const over = plot.over;
    const seek = (event: PointerEvent) => {
      const box = over.getBoundingClientRect();
      this.onSeek(plot.posToVal(event.clientX - box.left, 'x'));
    };
    over.addEventListener('pointerdown', (event) => {
      over.setPointerCapture(event.pointerId);
      seek(event);
    });
    over.addEventListener('pointermove', (event) => {
      if (event.buttons & 1) seek(event);
    });
  }

  /** Shows the motion and its ghosts, and a time. */
  update(runs: Run[], t: number, force = false): void {
    this.runs = runs.filter((run) => run.frames.length > 0);
    this.t = t;
    if (this.element.offsetParent === null) return;
    const key = this.runs.map((run) => `${run.id}:${run.version}`).join(' ');
    for (const card of this.cards) {
      if (force || card.drawn !== key) {
        card.drawn = key;
        this.fill(card);
      } else card.plot.redraw(false);
      this.showValues(card);
    }
  }

  private fill(card: Card): void {
    const [main, ...ghosts] = this.runs;
    if (!main) return;
    const { spec, plot } = card;
    const wanted = 1 + spec.quantities.length * (1 + ghosts.length);
    while (plot.series.length > wanted) plot.delSeries(plot.series.length - 1);
    while (plot.series.length < wanted) {
      const i = (plot.series.length - 1) % spec.quantities.length;
      plot.addSeries({ ...this.series(spec)[i], width: 1.2, dash: [5, 4], alpha: 0.75 });
    }
    // All runs on the times of all.
    const tables = [main, ...ghosts].map((run) => this.table(run, card));
    plot.setData(tables.length === 1 ? (tables[0] as uPlot.AlignedData) : uPlot.join(tables as uPlot.AlignedData[]));
  }

  /** The lines of a run: where there are too many frames, those with the least and the largest value of each group, so that no peak is lost. */
  private table(run: Run, card: Card): number[][] {
    const { quantities } = card.spec;
    const frames = run.frames;
    const most = MOST_POINTS / (2 * quantities.length);
    let group = 1;
    while (frames.length / group > most && frames.length > MOST_POINTS) group *= 2;
    let known = card.lines.get(run.id);
    if (!known || known.epoch !== run.epoch || known.group !== group || known.done > frames.length) {
      known = { epoch: run.epoch, group, done: 0, points: 0, table: [[], ...quantities.map(() => [])] };
      card.lines.set(run.id, known);
    }
    // The last group may have grown: it is drawn anew.
    const { table } = known;
    for (const column of table) column.length = known.points;
    const put = (frame: Frame): void => {
      const last = table[0].length - 1;
      if (last >= 0 && frame.t <= table[0][last]) return;
      table[0].push(frame.t);
      quantities.forEach((quantity, k) => table[k + 1].push(quantity.value(frame)));
    };
    for (let at = known.done; at < frames.length; at += group) {
      const end = Math.min(at + group, frames.length);
      if (group === 1) put(frames[at]);
      else for (const i of extremes(frames, at, end, quantities)) put(frames[i]);
      if (end - at === group && end < frames.length) {
        known.done = end;
        known.points = table[0].length;
      }
    }
    return table;
  }

  private showValues(card: Card): void {
    const main = this.runs[0];
    const frame = main?.frames[main.before(this.t)];
    if (!frame) return;
    card.spec.quantities.forEach((quantity, i) => {
      const text = sig(quantity.value(frame), 4);
      if (card.values[i].textContent !== text) card.values[i].textContent = text;
    });
  }

  theme(): void {
    for (const card of this.cards) card.plot.redraw();
  }
}

/** Says what lies along the horizontal axis, in the corner that the labels leave free. */
function drawUnit(plot: uPlot, colour: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = colour;
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'top';
  ctx.fillText('t, s', bbox.left - 16 * devicePixelRatio, bbox.top + bbox.height + 8 * devicePixelRatio);
  ctx.restore();
}

/** The frames of a group in which a quantity is least or largest, in order, and its first and last. */
function extremes(frames: Frame[], from: number, to: number, quantities: Quantity[]): number[] {
  const chosen = new Set([from, to - 1]);
  for (const quantity of quantities) {
    let [low, high, atLow, atHigh] = [Infinity, -Infinity, from, from];
    for (let i = from; i < to; i++) {
      const value = quantity.value(frames[i]);
      if (value < low) [low, atLow] = [value, i];
      if (value > high) [high, atHigh] = [value, i];
    }
    chosen.add(atLow).add(atHigh);
  }
  return [...chosen].sort((a, b) => a - b);
}

/** The range of times; one second where there is only one moment. */
function span(low: number | null, high: number | null): [number, number] {
  const from = low !== null && Number.isFinite(low) ? low : 0;
  return high !== null && high > from ? [from, high] : [from, from + 1];
}

/** A range with some air; never empty. */
function range(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  const air = Math.max(0.06 * (high - low), 1e-9 * size, 1e-300);
  if (high - low <= 1e-9 * size) return [low - 0.05 * size - 1e-300, high + 0.05 * size + 1e-300];
  return [low - air, high + air];
}
