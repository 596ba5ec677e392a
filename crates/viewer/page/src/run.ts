// A run as the page has it: scene, frames, events.

import type { Chunk, EventSpec, Facts, Frame, Layout, SceneSpec } from './protocol.ts';
import { BODY, layoutOf } from './protocol.ts';

/** Frames of a live run that the page keeps. */
const MOST_LIVE = 36000;

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
  events: EventSpec[] = [];
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
    this.version++;
    this.epoch++;
  }

  /** Adds the frames of a chunk, in order of their numbers; says whether there were any new. */
  add(chunk: Chunk): boolean {
    if (chunk.generation !== this.generation || chunk.frames.length === 0) return false;
    for (const frame of chunk.frames) {
      const last = this.frames[this.frames.length - 1];
      if (!last || frame.index > last.index) {
        this.frames.push(frame);
        continue;
      }
      const at = this.place(frame.index);
      if (this.frames[at]?.index === frame.index) continue;
      this.frames.splice(at, 0, frame);
      this.epoch++;
    }
    if (this.frames.length > MOST_LIVE) {
      this.frames.splice(0, this.frames.length - MOST_LIVE * 0.9);
      this.epoch++;
    }
    this.version++;
    return true;
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
