// Where a motion is and where it may go: what the camera is to look at. Heights are along z, after turning by `upright`.

import type { Box3, Quaternion } from 'three';
import { Vector3 } from 'three';
import type { Mechanism } from './mechanism.ts';
import type { Frame, SceneSpec } from './protocol.ts';
import { BODY, JOINT } from './protocol.ts';

/** What is farther from the rest than so many times the size of the mechanism has flown off. */
const FLOWN = 4;
/** As long as this part of the bodies is where the mechanism began, that is where it is. */
const STAYED = 0.25;

/** The place with half of others on each side, in each direction: few that fly off do not move it. */
function middle(places: Vector3[]): Vector3 {
  const half = (list: number[]) => list.sort((a, b) => a - b)[list.length >> 1] ?? 0;
  return new Vector3(half(places.map((p) => p.x)), half(places.map((p) => p.y)), half(places.map((p) => p.z)));
}

/** For each body a number, the same for those that joints and threads hold together; the ground holds nothing together. */
function hangingTogether(scene: SceneSpec): number[] {
  const group = scene.bodies.map((_, i) => i);
  for (const { bodies } of [...scene.joints, ...scene.threads]) {
    const [a, b] = bodies.map((body) => group[body]);
    if (a === b || bodies.some((body) => scene.bodies[body].fixed)) continue;
    group.forEach((other, i) => {
      if (other === b) group[i] = a;
    });
  }
  return group;
}

/** Where the bodies are in a frame, without those that have flown off: far from the start, or, if nearly all have gone from there, far from the others. */
export function together(main: Mechanism, frame: Frame, upright: Quaternion): Map<number, Vector3> {
  const read = (from: Frame) => {
    const places = new Map<number, Vector3>();
    main.run.scene.bodies.forEach((body, i) => {
      const place = new Vector3().fromArray(from.x, BODY * i).applyQuaternion(upright);
      if (!body.fixed && Number.isFinite(place.lengthSq())) places.set(i, place);
    });
    return places;
  };
  const places = read(frame);
  const near = (centre: Vector3) => new Map([...places].filter(([, place]) => place.distanceTo(centre) < FLOWN * main.size));
  const stayed = near(middle([...read(main.run.frames[0]).values()]));
  return stayed.size >= STAYED * places.size ? stayed : near(middle([...places.values()]));
}

/** Of a motion that is still to come: what hangs on the ground swings about there, what is free falls on the floor. Gives the lowest place that is reached by swinging. */
export function foresee(main: Mechanism, box: Box3, upright: Quaternion): number {
  const { scene, layout, frames } = main.run;
  const [pivot, p] = [new Vector3(), new Vector3()];
  let lowest = Infinity;
  if (main.floor !== null && !box.isEmpty() && Math.abs(box.min.z - main.floor) < 2 * main.size) {
    box.expandByPoint(box.getCenter(p).setZ(main.floor));
  }
  const groups = hangingTogether(scene);
  const held = scene.joints.filter((joint) => joint.bodies.some((body) => scene.bodies[body].fixed)).flatMap((joint) => joint.bodies.map((body) => groups[body]));
  scene.joints.forEach((joint, j) => {
    if (joint.type === 'fixed' || !joint.bodies.some((body) => scene.bodies[body].fixed)) return;
    const moving = joint.bodies.find((body) => !scene.bodies[body].fixed);
    if (moving === undefined) return;
    pivot.fromArray(frames[0].x, layout.atJoints + JOINT * j);
    // What hangs on one joint swings all the way; what is held by several, as a linkage, does not get as far.
    const free = held.filter((group) => group === groups[moving]).length === 1;
    let reach = 0;
    scene.bodies.forEach((_, i) => {
      if (groups[i] !== groups[moving]) return;
      const away = p.fromArray(frames[0].x, BODY * i).distanceTo(pivot);
      reach = Math.max(reach, free ? away + main.reach[i] : 0.7 * away);
    });
    pivot.applyQuaternion(upright);
    // What turns about an axis does not leave its plane; few things swing up as far as down.
    const [a, b, c] = joint.type === 'hinge' ? p.fromArray(joint.axis).applyQuaternion(upright).toArray() : [0, 0, 0];
    const span = p.set(Math.sqrt(Math.max(0, 1 - a * a)), Math.sqrt(Math.max(0, 1 - b * b)), Math.sqrt(Math.max(0, 1 - c * c))).multiplyScalar(reach);
    lowest = Math.min(lowest, pivot.z - span.z);
    box.expandByPoint(pivot.clone().sub(span));
    box.expandByPoint(pivot.clone().add(span.setZ(0.6 * span.z)));
  });
  return lowest;
}
