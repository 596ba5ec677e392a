// What can be plotted: numbers of a frame by name.

import type { Frame, SceneSpec } from './protocol.ts';
import { BODY, CONTACT, JOINT, integratorError, layoutOf } from './protocol.ts';

export interface Quantity {
  /** Stable name, as in tables: body.upper.position.x. */
  name: string;
  unit: string;
  value: (frame: Frame) => number;
}

/** A plot of one or more quantities of one unit. */
export interface PlotSpec {
  title: string;
  unit: string;
  quantities: Quantity[];
  log?: boolean;
}

const AXES = ['x', 'y', 'z'];

function vector(name: string, unit: string, at: number): PlotSpec {
  const one = (axis: string, i: number): Quantity => ({ name: `${name}.${axis}`, unit, value: (frame) => frame.x[at + i] });
  return { title: name, unit, quantities: AXES.map(one) };
}

function scalar(name: string, unit: string, value: (frame: Frame) => number, log = false): PlotSpec {
  return { title: name, unit, quantities: [{ name, unit, value }], log };
}

/** Energies, their error, gaps: the plots of every run. */
export function standardPlots(): PlotSpec[] {
  const ledger = (name: string, i: number): Quantity => ({ name, unit: 'J', value: (frame) => frame.ledger[i] });
  const total: Quantity = { name: 'total', unit: 'J', value: (frame) => frame.ledger[1] + frame.ledger[2] };
  return [
    { title: 'energy', unit: 'J', quantities: [ledger('kinetic', 1), ledger('potential', 2), total] },
    { title: 'energy ledger', unit: 'J', quantities: [ledger('work', 3), ledger('dissipation', 4), ledger('impact loss', 5)] },
    scalar('energy error', 'J', integratorError),
    scalar('worst gap', 'm', (frame) => frame.ledger[6]),
  ];
}

/** Everything else that a scene has, by group. */
export function plotsOf(scene: SceneSpec): Map<string, PlotSpec[]> {
  const layout = layoutOf(scene);
  const groups = new Map<string, PlotSpec[]>();
  groups.set('run', standardPlots());
  scene.bodies.forEach((body, i) => {
    if (body.fixed) return;
    const at = BODY * i;
    const name = `${body.kind === 'point' ? 'point' : 'body'}.${body.name}`;
    const origin = body.origin;
    const position: PlotSpec = {
      title: `${name}.position`,
      unit: 'm',
      quantities: AXES.map((axis, k) => ({ name: `${name}.position.${axis}`, unit: 'm', value: (frame) => place(frame.x, at, origin)[k] })),
    };
    const list = [position, vector(`${name}.velocity`, 'm/s', at + 7)];
    list[1].title += ' (centre of mass)';
    if (body.kind === 'rigid') list.push(vector(`${name}.angular_velocity`, 'rad/s', at + 10));
    groups.set(name, list);
  });
  scene.joints.forEach((joint, j) => {
    const at = layout.atJoints + JOINT * j;
    const name = `joint.${joint.name}`;
    const list = joint.coordinates.map((coordinate, k) => {
      const place = layout.atCoordinates + layout.firstCoordinate[j] + k;
      return scalar(`${name}.${coordinate.name}`, coordinate.unit, (frame) => frame.x[place]);
    });
    list.push(vector(`${name}.force`, 'N', at + 3), vector(`${name}.torque`, 'N m', at + 6));
    const row = scene.rows.indexOf(joint.name);
    if (row >= 0) list.push(scalar(`${name}.gap`, 'm', (frame) => frame.x[layout.atRows + row]));
    groups.set(name, list);
  });
  const contacts = (value: (frame: Frame, at: number) => number) => (frame: Frame) => {
    let sum = 0;
    for (let k = 0; k < frame.contacts; k++) sum += value(frame, layout.atContacts + CONTACT * k);
    return sum;
  };
  groups.set('contacts', [
    scalar('contacts.number', '', (frame) => frame.contacts),
    scalar('contacts.normal_force', 'N', contacts((frame, at) => dot(frame.x, at + 5, at + 8))),
    scalar('contacts.friction', 'N', contacts((frame, at) => friction(frame.x, at))),
  ]);
  return groups;
}

function dot(x: Float32Array, a: number, b: number): number {
  return x[a] * x[b] + x[a + 1] * x[b + 1] + x[a + 2] * x[b + 2];
}

function friction(x: Float32Array, at: number): number {
  const normal = dot(x, at + 5, at + 8);
  return Math.sqrt(Math.max(dot(x, at + 8, at + 8) - normal * normal, 0));
}

/** The origin of a body's file frame, from its principal frame. */
function place(x: Float32Array, at: number, [a, b, c]: readonly number[]): [number, number, number] {
  const [qx, qy, qz, qw] = [x[at + 3], x[at + 4], x[at + 5], x[at + 6]];
  // v + 2 q × (q × v + w v).
  const [tx, ty, tz] = [qy * c - qz * b + qw * a, qz * a - qx * c + qw * b, qx * b - qy * a + qw * c];
  return [x[at] + a + 2 * (qy * tz - qz * ty), x[at + 1] + b + 2 * (qz * tx - qx * tz), x[at + 2] + c + 2 * (qx * ty - qy * tx)];
}
