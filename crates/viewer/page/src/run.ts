// A run as the page has it: scene, frames, events.

import type { Chunk, EventSpec, Facts, Frame, Layout, SceneSpec } from './protocol.ts';
import { BODY, layoutOf } from './protocol.ts';

/** Frames of a live run that the page keeps. */
const MOST_LIVE = 36000;
/** Bytes of frames of a run that lies ready which the page keeps of the whole of it. */
const MOST_BYTES = 128e6;
/** Frames asked for at once. */
const REQUEST = 1000;
/** Of a long run all frames are here only in pieces of at least so many frames, and of so many pieces. */
const PIECE = 512;
const MOST_PIECES = 6;

/** Frames to ask a server for. */
export interface Request {
  from: number;
  count: number;
  every: number;
  /** The piece that they belong to, where all of its frames are wanted. */
  piece?: number;
}

export class Run {
  readonly id: number;
  label = '';
  scene!: SceneSpec;
  layout!: Layout;
  generation = -1;
  frames: Frame[] = [];
  /** Frames that the server has, and whether more will come. */
  total = 0;
  firstOnServer = 0;
  growing = true;
  /** One in so many frames is kept of the whole run; more where the time that is shown lies. */
  every = 1;
  /** What the server was asked for and has not answered. */
  asked: Request | null = null;
  /** Pieces with all their frames: the next number to ask for, by number of the piece; the last one used comes last. */
  private pieces = new Map<number, number>();
  private bytes = 0;
  /** Bytes of frames that are kept of the whole run. */
  private readonly most = Number(new URLSearchParams(location.search).get('memory') ?? MOST_BYTES);
  events: EventSpec[] = [];
  /** How many events there were; not all of very many are told. */
  eventCount = 0;
  facts: Facts = null;
  /** Counts changes of frames; for plots. */
  version = 0;
  /** Frames were dropped or replaced, not only added. */
  epoch = 0;

  constructor(id: number) {
    this.id = id;
  }

  setScene(scene: SceneSpec, generation: number, keeps: boolean): void {
    this.scene = scene;
    this.layout = layoutOf(scene);
    this.generation = generation;
    if (!keeps) this.clear();
  }

  clear(): void {
    this.frames = [];
    this.pieces.clear();
    this.asked = null;
    this.every = 1;
    this.bytes = 0;
    this.version++;
    this.epoch++;
  }

  /** Adds the frames of a chunk, in order of their numbers; says whether there were any new. */
  add(chunk: Chunk): boolean {
    if (chunk.generation !== this.generation || chunk.frames.length === 0) return false;
    const last = this.frames[this.frames.length - 1];
    const [first, end] = [chunk.frames[0], chunk.frames[chunk.frames.length - 1]];
    const from = !last || first.index > last.index ? this.frames.length : this.place(first.index);
    // Those among which they belong, in order and none twice.
    const to = end.index >= (last?.index ?? -1) ? this.frames.length : this.place(end.index + 1);
    const among = this.frames.slice(from, to);
    if (among.length === 0 && from === this.frames.length) for (const frame of chunk.frames) this.frames.push(frame);
    else {
      const there = new Set(among.map((frame) => frame.index));
      const fresh = chunk.frames.filter((frame) => !there.has(frame.index));
      if (fresh.length === 0) return true;
      const both = [...among, ...fresh].sort((a, b) => a.index - b.index);
      this.frames = [...this.frames.slice(0, from), ...both, ...this.frames.slice(to)];
      this.epoch++;
    }
    for (const frame of chunk.frames) this.bytes += frame.x.byteLength;
    this.carryGaps(from, end.index);
    this.version++;
    return true;
  }

  /** Gaps are the worst so far, also where an engine that took over counts from nothing. Frames from a place to a number are new; those after it change as far as need be. */
  private carryGaps(from: number, to: number): void {
    const { atRows, rows } = this.layout;
    for (let i = Math.max(from, 1); i < this.frames.length; i++) {
      const [a, b] = [this.frames[i - 1], this.frames[i]];
      let changed = b.ledger[6] < a.ledger[6];
      if (changed) b.ledger[6] = a.ledger[6];
      for (let k = atRows; k < atRows + rows; k++) {
        if (b.x[k] >= a.x[k]) continue;
        b.x[k] = a.x[k];
        changed = true;
      }
      if (!changed && b.index > to) return;
    }
  }

  /** A live run: forgets what is too old. */
  forget(): void {
    if (this.frames.length <= MOST_LIVE) return;
    this.frames.splice(0, this.frames.length - MOST_LIVE * 0.9);
    this.epoch++;
  }

  // Runs that lie ready on the server

  /** The number after the last of the run. */
  private get past(): number {
    return this.firstOnServer + this.total;
  }

  /** Numbers of frames in a piece: a multiple of `every`. */
  private get piece(): number {
    return this.every * Math.max(2, Math.ceil(PIECE / this.every));
  }

  private isCoarse(frame: Frame): boolean {
    return (frame.index - this.firstOnServer) % this.every === 0 || frame.index === this.past - 1;
  }

  /** What the page still lacks: first the whole run, evenly; then all frames around a time. */
  wanted(t: number): Request | null {
    const last = this.frames[this.frames.length - 1];
    if (!last) return { from: this.firstOnServer, count: REQUEST, every: this.every };
    const { every, past } = this;
    const next = last.index - ((last.index - this.firstOnServer) % every) + every;
    if (next < past || this.growing) return { from: next, count: REQUEST, every };
    if (last.index < past - 1) return { from: past - 1, count: 1, every: 1 };
    if (every === 1) return null;
    const own = Math.floor((this.frames[this.before(t)].index - this.firstOnServer) / this.piece);
    for (const piece of [own, own + 1]) {
      const begin = this.firstOnServer + piece * this.piece;
      const end = Math.min(begin + this.piece, past);
      const from = this.pieces.get(piece) ?? begin;
      if (piece === own) this.use(piece, from);
      if (from < end) return { from, count: Math.min(end - from, REQUEST), every: 1, piece };
    }
    return null;
  }

  /** Takes an answer to what was asked for; says whether there was anything in it. */
  answer(chunk: Chunk): boolean {
    const asked = this.asked;
    this.asked = null;
    const some = this.add(chunk);
    if (!some || !asked) return some;
    if (asked.piece !== undefined) this.use(asked.piece, chunk.frames[chunk.frames.length - 1].index + 1);
    else if (this.bytes > this.most) this.thin();
    return true;
  }

  /** A piece was used, and all its frames before a number are here; the one used least goes, if there are too many. */
  private use(piece: number, next: number): void {
    this.pieces.delete(piece);
    this.pieces.set(piece, next);
    if (this.pieces.size <= MOST_PIECES) return;
    const [oldest] = this.pieces.keys();
    this.pieces.delete(oldest);
    const begin = this.firstOnServer + oldest * this.piece;
    this.keep((frame) => frame.index < begin || frame.index >= begin + this.piece || this.isCoarse(frame));
  }

  /** Keeps one in twice as many frames. */
  private thin(): void {
    this.every *= 2;
    this.keep((frame) => this.isCoarse(frame));
  }

  private keep(which: (frame: Frame) => boolean): void {
    // Copies, since what is cut out of an answer holds all of it.
    this.frames = this.frames.filter(which).map((frame) => (frame.x.buffer.byteLength > 4 * frame.x.byteLength ? { ...frame, x: frame.x.slice(), ledger: frame.ledger.slice() } : frame));
    this.bytes = this.frames.reduce((sum, frame) => sum + frame.x.byteLength, 0);
    this.version++;
    this.epoch++;
  }

  /** The first place whose frame has this number or a later one. */
  private place(index: number): number {
    let low = 0;
    let high = this.frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frames[middle].index < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Numbers of the first gap among the last frames, if any: from, count. */
  gap(): [number, number] | null {
    const frames = this.frames;
    for (let i = frames.length - 1; i > 0 && i > frames.length - 600; i--) {
      const missing = frames[i].index - frames[i - 1].index - 1;
      if (missing > 0) return [frames[i - 1].index + 1, missing];
    }
    return null;
  }

  get start(): number {
    return this.frames[0]?.t ?? 0;
  }

  get end(): number {
    return this.frames[this.frames.length - 1]?.t ?? 0;
  }

  /** The run has ended before a time: it says nothing of that moment. */
  over(t: number): boolean {
    const { frames, end } = this;
    // Up to one frame more, since frames of two runs seldom fall together.
    const apart = frames.length > 1 ? end - frames[frames.length - 2].t : 0;
    return t > end + apart + 1e-9;
  }

  /** The last frame at or before a time. */
  before(t: number): number {
    let low = 0;
    let high = this.frames.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.frames[middle].t <= t) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The numbers of the bodies at a time, between two frames if need be. */
  poses(t: number, out: Float32Array): Frame | null {
    const i = this.before(t);
    const a = this.frames[i];
    if (!a) return null;
    const b = this.frames[i + 1];
    const n = BODY * this.layout.bodies;
    const u = b && b.t > a.t ? Math.min(Math.max((t - a.t) / (b.t - a.t), 0), 1) : 0;
    if (!b || u === 0) {
      out.set(a.x.subarray(0, n));
      return a;
    }
    for (let k = 0; k < n; k += BODY) {
      for (let j = k; j < k + BODY; j++) out[j] = a.x[j] + u * (b.x[j] - a.x[j]);
      // The shorter way between two rotations.
      let dot = 0;
      for (let j = 3; j < 7; j++) dot += a.x[k + j] * b.x[k + j];
      const sign = dot < 0 ? -1 : 1;
      let norm = 0;
      for (let j = 3; j < 7; j++) {
        out[k + j] = a.x[k + j] + u * (sign * b.x[k + j] - a.x[k + j]);
        norm += out[k + j] * out[k + j];
      }
      norm = Math.sqrt(norm) || 1;
      for (let j = 3; j < 7; j++) out[k + j] /= norm;
    }
    return a;
  }
}
