// What the server says: scenes and news as JSON, frames as bytes. docs/view.md describes both.

export type Vec = [number, number, number];

export interface ShapeSpec {
  type: 'box' | 'sphere' | 'cylinder' | 'capsule' | 'cone' | 'plane' | 'heightfield' | 'mesh';
  position: Vec;
  rotation: [number, number, number, number];
  color: Vec | null;
  size?: number[];
  radius?: number;
  length?: number;
  columns?: number;
  heights?: number[];
  vertices?: number[];
  triangles?: number[];
}

export interface BodySpec {
  name: string;
  kind: 'world' | 'rigid' | 'point';
  fixed: boolean;
  mass: number;
  color: Vec | null;
  origin: Vec;
  shapes: ShapeSpec[];
  bars: [Vec, Vec][];
}

export interface JointSpec {
  name: string;
  type: string;
  bodies: [number, number];
  axis: Vec;
  coordinates: { name: string; unit: string }[];
}

export interface ThreadSpec {
  kind: 'spring' | 'damper' | 'rope' | 'rod';
  name: string;
  bodies: [number, number];
  points: [Vec, Vec];
  length?: number;
}

export interface ParameterSpec {
  name: string;
  value: number;
  unit: string | null;
  description: string | null;
  min: number;
  max: number;
}

export interface SceneSpec {
  name: string;
  description: string;
  gravity: Vec;
  bodies: BodySpec[];
  joints: JointSpec[];
  rows: string[];
  threads: ThreadSpec[];
  curves: { name: string; body: number; points: Vec[] }[];
  markers: { name: string; body: number; point: Vec }[];
  parameters: ParameterSpec[];
}

export interface EventSpec {
  time: number;
  kind: string;
  between: string[];
  detail: string;
  point: Vec | null;
}

export interface Verdict {
  level: 'good' | 'doubtful' | 'failed';
  findings: { level: string; quantity: string; cause: string; remedy: string; time: number | null }[];
}

export interface Status {
  mode: 'live';
  playing: boolean;
  failed: boolean;
  verdict: Verdict;
  speed: number;
  engine: string;
  engines: string[];
  step: number;
  order: number;
  tolerance: number;
  duration: number;
  real_time_factor: number;
  message: string | null;
  values: Record<string, string>;
}

export type News =
  | { type: 'hello'; protocol: number; gelenk: string; mode: 'live' | 'replay'; engines: string[]; ghosts: boolean }
  | { type: 'scene'; run: number; generation: number; keeps: boolean; scene: SceneSpec }
  | { type: 'run'; run: number; label: string; generation: number; first: number; frames: number; growing: boolean; events?: number; facts: Facts }
  | { type: 'events'; run: number; from: number; events: EventSpec[] }
  | { type: 'gone'; run: number }
  | { type: 'error'; message: string }
  | ({ type: 'status' } & Status);

export type Facts = Record<string, unknown> | null;

/** Numbers a body, joint and contact have in a frame. */
export const BODY = 13;
export const JOINT = 9;
export const CONTACT = 12;
const HEAD = 72;

/** Where things lie in the numbers of a frame. */
export interface Layout {
  bodies: number;
  joints: number;
  coordinates: number;
  rows: number;
  atJoints: number;
  atCoordinates: number;
  atRows: number;
  atContacts: number;
  /** The first coordinate of each joint. */
  firstCoordinate: number[];
}

export function layoutOf(scene: SceneSpec): Layout {
  const bodies = scene.bodies.length;
  const joints = scene.joints.length;
  const firstCoordinate: number[] = [];
  let coordinates = 0;
  for (const joint of scene.joints) {
    firstCoordinate.push(coordinates);
    coordinates += joint.coordinates.length;
  }
  const rows = scene.rows.length;
  const atJoints = BODY * bodies;
  const atCoordinates = atJoints + JOINT * joints;
  const atRows = atCoordinates + coordinates;
  return { bodies, joints, coordinates, rows, atJoints, atCoordinates, atRows, atContacts: atRows + rows, firstCoordinate };
}

/** A moment of a run. */
export interface Frame {
  index: number;
  contacts: number;
  t: number;
  /** initial, kinetic, potential, work, dissipation, impact loss (J), largest gap. */
  ledger: Float64Array;
  /** Bodies, joints, coordinates, rows, contacts: see Layout. */
  x: Float32Array;
}

export interface Chunk {
  run: number;
  generation: number;
  first: number;
  frames: Frame[];
}

/** The frames of a message; throws on bytes that are none. */
export function readChunk(buffer: ArrayBuffer): Chunk {
  const view = new DataView(buffer);
  const run = view.getUint32(0, true);
  const generation = view.getUint32(4, true);
  const first = view.getUint32(8, true);
  const count = view.getUint32(12, true);
  const frames: Frame[] = [];
  let at = 16;
  for (let k = 0; k < count; k++) {
    const length = view.getUint32(at, true);
    at += 8;
    if (length < HEAD || at + length > buffer.byteLength) throw new Error('a frame is cut off');
    frames.push({
      index: view.getUint32(at, true),
      contacts: view.getUint32(at + 4, true),
      t: view.getFloat64(at + 8, true),
      ledger: new Float64Array(buffer, at + 16, 7),
      x: new Float32Array(buffer, at + HEAD, (length - HEAD) / 4),
    });
    at += length;
  }
  return { run, generation, first, frames };
}

/** What the method itself made or lost of energy, J. */
export function integratorError(frame: Frame): number {
  const [initial, kinetic, potential, work, dissipation, loss] = frame.ledger;
  return kinetic + potential - initial - work + dissipation + loss;
}
