// A mechanism on the stage: its bodies, threads, joints, arrows and trails.

import {
  BufferAttribute,
  BufferGeometry,
  Color,
  CylinderGeometry,
  DoubleSide,
  Group,
  Line,
  LineBasicMaterial,
  LineLoop,
  Mesh,
  MeshStandardMaterial,
  Quaternion,
  SphereGeometry,
  Vector3,
} from 'three';
import type { Frame, Layout, SceneSpec, ShapeSpec, Vec } from './protocol.ts';
import { BODY, CONTACT, JOINT } from './protocol.ts';
import type { Run } from './run.ts';
import { Arrows, Sticks, colorOf, geometryOf, reachOf } from './shapes.ts';

/** What can be seen or not. */
export interface Looks {
  joints: boolean;
  jointForces: boolean;
  contactForces: boolean;
  trails: boolean;
}

const MOST_ARROWS = 400;
const TRAIL_POINTS = 500;
/** Pieces that a slack rope is drawn with. */
const ROPE_PIECES = 10;
/** Turns and pieces that a spring is drawn with. */
const COIL_TURNS = 8;
const COIL_PIECES = 98;
const GHOST_OPACITY = 0.3;

interface Tip {
  body: number;
  local: Vector3;
  line: Line;
  colors: Float32Array;
  points: Float32Array;
  color: Color;
}

export class Mechanism {
  readonly group = new Group();
  readonly bodies: Group[] = [];
  readonly layout: Layout;
  /** About the size of the mechanism, m. */
  size = 1;
  /** How far each body's shapes reach from its centre of mass, m. */
  readonly reach: number[];
  private readonly numbers: Float32Array;
  private readonly tips: Tip[] = [];
  private readonly ropes: Sticks;
  private readonly rods: Sticks;
  private readonly coils: Sticks;
  private readonly pins: Sticks;
  private readonly jointArrows: Arrows;
  private readonly contactArrows: Arrows;
  private strongest = 0;
  private readonly a = new Vector3();
  private readonly b = new Vector3();
  private readonly c = new Vector3();
  private readonly q = new Quaternion();

  constructor(
    readonly run: Run,
    readonly ghost: boolean,
    background: Color,
  ) {
    const scene = run.scene;
    this.layout = run.layout;
    this.numbers = new Float32Array(BODY * this.layout.bodies);
    this.reach = scene.bodies.map(({ shapes, bars }) =>
      Math.max(0, ...shapes.map((shape) => Math.hypot(...shape.position) + reachOf(shape)), ...bars.flat().map((end) => Math.hypot(...end))),
    );
    this.measure(scene);
    this.makeBodies(scene);
    const opacity = ghost ? GHOST_OPACITY : 1;
    const threads = scene.threads;
    const n = (kind: string) => threads.filter((thread) => thread.kind === kind).length;
    this.ropes = new Sticks(ROPE_PIECES * n('rope'), '#b08d57', undefined, opacity);
    this.rods = new Sticks(n('rod') + n('damper'), '#8b95a5', undefined, opacity);
    this.coils = new Sticks(COIL_PIECES * n('spring'), '#8fa3bd', undefined, opacity);
    this.group.add(this.ropes.object, this.rods.object, this.coils.object);
    const pins = ghost ? 0 : scene.joints.length;
    this.pins = new Sticks(pins, '#566273', new CylinderGeometry(1, 1, 1, 20).rotateX(Math.PI / 2));
    this.jointArrows = new Arrows(ghost ? 0 : Math.min(scene.joints.length, MOST_ARROWS), '#ff9d2e');
    this.contactArrows = new Arrows(ghost ? 0 : MOST_ARROWS, '#27c6a5');
    this.group.add(this.pins.object);
    for (const arrows of [this.jointArrows, this.contactArrows]) this.group.add(arrows.shafts.object, arrows.heads.object);
    this.makeCurves(scene);
    this.makeTrails(scene, background);
  }

  /** The size of what moves, from the first frame and the shapes. */
  private measure(scene: SceneSpec): void {
    const frame = this.run.frames[0];
    const low = new Vector3(Infinity, Infinity, Infinity);
    const high = new Vector3(-Infinity, -Infinity, -Infinity);
    scene.bodies.forEach((body, i) => {
      if (body.fixed || !frame) return;
      const reach = this.reach[i];
      this.a.fromArray(frame.x, BODY * i);
      low.min(this.b.copy(this.a).subScalar(reach));
      high.max(this.b.copy(this.a).addScalar(reach));
    });
    if (frame) {
      for (let j = 0; j < this.layout.joints; j++) {
        this.a.fromArray(frame.x, this.layout.atJoints + JOINT * j);
        low.min(this.a);
        high.max(this.a);
      }
    }
    const size = low.x <= high.x ? high.sub(low).length() : 1;
    this.size = Math.min(Math.max(size, 1e-3), 1e5);
  }

  private material(color: Color): MeshStandardMaterial {
    const material = new MeshStandardMaterial({ color, roughness: 0.5, metalness: 0.12 });
    if (this.ghost) {
      material.transparent = true;
      material.opacity = GHOST_OPACITY;
      material.depthWrite = false;
    }
    return material;
  }

  private makeBodies(scene: SceneSpec): void {
    const moving = scene.bodies.filter((body) => !body.fixed).length;
    let k = 0;
    const radius = 0.012 * this.size;
    scene.bodies.forEach((body, i) => {
      const group = new Group();
      group.userData = { body: i };
      const own = body.fixed ? new Color('#8b95a5') : colorOf(k++, moving);
      const bodyColor = body.color ? new Color().setRGB(...body.color, 'srgb') : own;
      for (const shape of body.shapes) {
        const geometry = geometryOf(shape);
        if (!geometry) continue;
        if (this.ghost && body.fixed) continue;
        const color = shape.color ? new Color().setRGB(...shape.color, 'srgb') : bodyColor;
        const ground = shape.type === 'plane' || shape.type === 'heightfield';
        const material = this.material(ground && !shape.color ? new Color('#9aa4b2') : color);
        if (ground) {
          material.side = DoubleSide;
          material.roughness = 0.95;
          material.metalness = 0;
        }
        // The stage's own floor is drawn there.
        if (this.isFloor(scene, i, shape)) continue;
        if (body.fixed && shape.type === 'heightfield') this.rough = true;
        const part = new Mesh(geometry, material);
        part.position.fromArray(shape.position);
        part.quaternion.fromArray(shape.rotation);
        part.castShadow = !this.ghost && !ground;
        part.receiveShadow = !this.ghost;
        group.add(part);
      }
      if (body.kind === 'point') {
        const ball = new Mesh(new SphereGeometry(body.fixed ? 0.7 * radius : 1.8 * radius, 24, 16), this.material(bodyColor));
        ball.castShadow = !this.ghost;
        group.add(ball);
      }
      if (body.bars.length > 0) {
        const bars = new Sticks(body.bars.length, bodyColor, undefined, this.ghost ? GHOST_OPACITY : 1);
        body.bars.forEach(([p, q], j) => bars.set(j, this.a.fromArray(p), this.b.fromArray(q), 0.7 * radius));
        group.add(bars.object);
        if (body.shapes.length === 0 && body.kind === 'rigid') {
          const centre = new Mesh(new SphereGeometry(1.2 * radius, 20, 14), this.material(bodyColor));
          centre.castShadow = !this.ghost;
          group.add(centre);
        }
      } else if (body.shapes.length === 0 && body.kind === 'rigid') {
        group.add(new Mesh(new SphereGeometry(2 * radius, 20, 14), this.material(bodyColor)));
      }
      this.bodies.push(group);
      this.group.add(group);
    });
  }

  /** Whether a shape is a level plane that stands still; then its height is that of the floor. */
  private isFloor(scene: SceneSpec, body: number, shape: ShapeSpec): boolean {
    if (shape.type !== 'plane' || !scene.bodies[body].fixed) return false;
    const place = this.a.fromArray(shape.position);
    const up = this.b.set(0, 0, 1).applyQuaternion(this.q.fromArray(shape.rotation));
    const x = this.run.frames[0]?.x;
    if (x) {
      this.q.fromArray(x, BODY * body + 3);
      up.applyQuaternion(this.q);
      place.applyQuaternion(this.q).add(this.c.fromArray(x, BODY * body));
    }
    const g = this.c.fromArray(scene.gravity);
    const vertical = g.lengthSq() > 0 ? g.normalize().negate() : g.set(0, 0, 1);
    if (up.dot(vertical) < 0.9999) return false;
    this.floor = place.dot(vertical);
    return true;
  }

  /** The ground is a field of heights. */
  rough = false;
  /** Height of the model's own level ground, m. */
  floor: number | null = null;

  private makeCurves(scene: SceneSpec): void {
    if (this.ghost) return;
    for (const curve of scene.curves) {
      const geometry = new BufferGeometry().setFromPoints(curve.points.map((p) => new Vector3(...p)));
      const line = new LineLoop(geometry, new LineBasicMaterial({ color: '#8b95a5' }));
      this.bodies[curve.body]?.add(line);
    }
  }

  /** Free ends, points and markers leave a trail. */
  private makeTrails(scene: SceneSpec, background: Color): void {
    const joined = new Map<number, number[]>();
    scene.joints.forEach((joint, j) => {
      for (const body of joint.bodies) joined.set(body, [...(joined.get(body) ?? []), j]);
    });
    const frame = this.run.frames[0];
    if (!frame) return;
    const moving = scene.bodies.filter((body) => !body.fixed).length;
    let k = 0;
    const found: { body: number; local: Vector3; color: Color }[] = [];
    scene.bodies.forEach((body, i) => {
      if (body.fixed) return;
      const color = body.color ? new Color().setRGB(...body.color, 'srgb') : colorOf(k, moving);
      k++;
      const joints = joined.get(i) ?? [];
      if (body.kind === 'point') found.push({ body: i, local: new Vector3(), color });
      else if (joints.length <= 1) found.push({ body: i, local: this.freeEnd(scene, frame, i, joints[0]), color });
    });
    for (const marker of scene.markers) {
      found.push({ body: marker.body, local: new Vector3(...marker.point), color: new Color('#8b95a5') });
    }
    if (found.length === 0) {
      k = 0;
      scene.bodies.forEach((body, i) => {
        if (!body.fixed) found.push({ body: i, local: new Vector3(), color: colorOf(k++, moving) });
      });
    }
    for (const { body, local, color } of found.slice(0, 24)) {
      const points = new Float32Array(3 * TRAIL_POINTS);
      const colors = new Float32Array(3 * TRAIL_POINTS);
      const geometry = new BufferGeometry();
      geometry.setAttribute('position', new BufferAttribute(points, 3));
      geometry.setAttribute('color', new BufferAttribute(colors, 3));
      const line = new Line(geometry, new LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false, opacity: this.ghost ? 0.4 : 1 }));
      line.frustumCulled = false;
      this.group.add(line);
      this.tips.push({ body, local, line, points, colors, color: color.clone() });
    }
    this.fade = background;
  }

  fade = new Color();

  /** The end of a body's shapes that is farthest from its joint, principal frame. */
  private freeEnd(scene: SceneSpec, frame: Frame, i: number, joint: number | undefined): Vector3 {
    if (joint === undefined) return new Vector3();
    const pivot = this.a.fromArray(frame.x, this.layout.atJoints + JOINT * joint);
    pivot.sub(this.b.fromArray(frame.x, BODY * i)).applyQuaternion(this.q.fromArray(frame.x, BODY * i + 3).invert());
    const ends: Vector3[] = [];
    for (const shape of scene.bodies[i].shapes) {
      const place = new Vector3(...shape.position);
      if (shape.length && (shape.type === 'cylinder' || shape.type === 'capsule')) {
        for (const side of [-0.5, 0.5]) {
          const turn = new Quaternion().fromArray(shape.rotation);
          ends.push(new Vector3(0, 0, side * shape.length).applyQuaternion(turn).add(place));
        }
      } else ends.push(place);
    }
    let best = new Vector3();
    for (const end of ends) if (end.distanceTo(pivot) > best.distanceTo(pivot) + 1e-9) best = end;
    return best;
  }

  /** Shows the mechanism at a time; false where there is no frame. */
  show(t: number, looks: Looks): boolean {
    const frame = this.run.poses(t, this.numbers);
    if (!frame) return false;
    for (let i = 0; i < this.bodies.length; i++) {
      this.bodies[i].position.fromArray(this.numbers, BODY * i);
      this.bodies[i].quaternion.fromArray(this.numbers, BODY * i + 3);
    }
    this.showThreads();
    if (!this.ghost) {
      this.pins.object.visible = looks.joints;
      if (looks.joints) this.showPins(frame);
      this.jointArrows.visible = looks.jointForces;
      this.contactArrows.visible = looks.contactForces;
      if (looks.jointForces || looks.contactForces) this.showForces(frame, looks);
    }
    for (const tip of this.tips) tip.line.visible = looks.trails;
    if (looks.trails) this.showTrails(t);
    return true;
  }

  /** A body-fixed point in the world, as shown now. */
  point(body: number, local: Vec | Vector3, out: Vector3): Vector3 {
    if (Array.isArray(local)) out.fromArray(local);
    else out.copy(local);
    return out.applyQuaternion(this.bodies[body].quaternion).add(this.bodies[body].position);
  }

  private showThreads(): void {
    let [rope, rod, spring] = [0, 0, 0];
    const radius = 0.004 * this.size;
    for (const thread of this.run.scene.threads) {
      const a = this.point(thread.bodies[0], thread.points[0], this.a);
      const b = this.point(thread.bodies[1], thread.points[1], this.b);
      if (thread.kind === 'rope') {
        this.showRope(ROPE_PIECES * rope++, a, b, thread.length ?? 0, radius);
      } else if (thread.kind === 'spring') {
        this.showSpring(COIL_PIECES * spring++, a, b, radius);
      } else this.rods.set(rod++, a, b, thread.kind === 'damper' ? 2 * radius : radius);
    }
  }

  /** A spring: a helix between its ends, with a straight piece at each. */
  private showSpring(first: number, a: Vector3, b: Vector3, radius: number): void {
    const along = b.clone().sub(a);
    const length = along.length() || 1e-9;
    along.divideScalar(length);
    this.q.setFromUnitVectors(this.c.set(0, 0, 1), along);
    const wide = Math.min(5 * radius, 0.2 * length + 2 * radius);
    const at = (i: number, out: Vector3) => {
      if (i === 0) return out.copy(a);
      if (i === COIL_PIECES) return out.copy(b);
      const u = (i - 1) / (COIL_PIECES - 2);
      const angle = 2 * Math.PI * COIL_TURNS * u;
      out.set(wide * Math.cos(angle), wide * Math.sin(angle), length * (0.06 + 0.88 * u));
      return out.applyQuaternion(this.q).add(a);
    };
    let [p, q] = [at(0, new Vector3()), new Vector3()];
    for (let i = 0; i < COIL_PIECES; i++) {
      this.coils.set(first + i, p, at(i + 1, q), 0.75 * radius);
      [p, q] = [q, p];
    }
  }

  /** A rope, hanging through by what it is longer than its ends are apart. */
  private showRope(first: number, a: Vector3, b: Vector3, length: number, radius: number): void {
    const d = a.distanceTo(b);
    // Of a flat parabola: length − d ≈ 8 sag² / 3 d.
    const sag = length > d ? Math.min(Math.sqrt((3 * d * (length - d)) / 8), length / 2) : 0;
    const g = this.c.fromArray(this.run.scene.gravity);
    if (g.lengthSq() > 0) g.normalize();
    const [p, q] = [new Vector3(), new Vector3()];
    const at = (u: number, out: Vector3) => out.lerpVectors(a, b, u).addScaledVector(g, 4 * sag * u * (1 - u));
    for (let i = 0; i < ROPE_PIECES; i++) {
      this.ropes.set(first + i, at(i / ROPE_PIECES, p), at((i + 1) / ROPE_PIECES, q), radius);
    }
  }

  private showPins(frame: Frame): void {
    const joints = this.run.scene.joints;
    const radius = (joints.length > 60 ? 0.006 : 0.011) * this.size;
    joints.forEach((joint, j) => {
      if (joint.type === 'distance' || joint.type === 'rope') {
        this.pins.hide(j);
        return;
      }
      this.jointPoint(frame, j, this.a);
      const axis = this.c.fromArray(joint.axis).applyQuaternion(this.bodies[joint.bodies[0]].quaternion).normalize();
      const half = joint.type === 'hinge' ? 2.4 * radius : radius;
      this.b.copy(this.a).addScaledVector(axis, half);
      this.a.addScaledVector(axis, -half);
      this.pins.set(j, this.a, this.b, radius);
    });
  }

  /** The point of a joint, carried along with its second body where that moves between frames. */
  private jointPoint(frame: Frame, j: number, out: Vector3): Vector3 {
    const joint = this.run.scene.joints[j];
    const body = this.run.scene.bodies[joint.bodies[1]].fixed ? joint.bodies[0] : joint.bodies[1];
    out.fromArray(frame.x, this.layout.atJoints + JOINT * j);
    out.sub(this.b.fromArray(frame.x, BODY * body));
    out.applyQuaternion(this.q.fromArray(frame.x, BODY * body + 3).invert());
    return this.point(body, out.clone(), out);
  }

  /** The strongest force of a frame, N. */
  private strength(frame: Frame): number {
    let most = 0;
    for (let j = 0; j < this.layout.joints; j++) {
      const at = this.layout.atJoints + JOINT * j + 3;
      most = Math.max(most, Math.hypot(frame.x[at], frame.x[at + 1], frame.x[at + 2]));
    }
    for (let k = 0; k < frame.contacts; k++) {
      const at = this.layout.atContacts + CONTACT * k + 8;
      most = Math.max(most, Math.hypot(frame.x[at], frame.x[at + 1], frame.x[at + 2]));
    }
    return Number.isFinite(most) ? most : 0;
  }

  private showForces(frame: Frame, looks: Looks): void {
    // The scale follows the strongest force, quickly up and slowly down.
    const now = this.strength(frame);
    this.strongest = now > this.strongest ? now : this.strongest + 0.02 * (now - this.strongest);
    const scale = this.strongest > 0 ? (0.3 * this.size) / this.strongest : 0;
    const radius = 0.0045 * this.size;
    const force = this.c;
    if (looks.jointForces) {
      for (let j = 0; j < this.jointArrows.count; j++) {
        const at = this.layout.atJoints + JOINT * j;
        force.fromArray(frame.x, at + 3).multiplyScalar(scale);
        this.jointArrows.set(j, this.jointPoint(frame, j, this.a), force, radius);
      }
    }
    if (looks.contactForces) {
      for (let k = 0; k < this.contactArrows.count; k++) {
        if (k >= frame.contacts) {
          this.contactArrows.hide(k);
          continue;
        }
        const at = this.layout.atContacts + CONTACT * k;
        // On the one of the two that moves.
        const sign = this.run.scene.bodies[frame.x[at]]?.fixed ? -1 : 1;
        force.fromArray(frame.x, at + 8).multiplyScalar(sign * scale);
        this.contactArrows.set(k, this.a.fromArray(frame.x, at + 2), force, radius);
      }
    }
  }

  private showTrails(t: number): void {
    const frames = this.run.frames;
    const last = this.run.before(t);
    // The last few seconds, or the last tenth of a long run.
    const span = Math.max(3, 0.1 * (this.run.end - this.run.start));
    const first = this.run.before(t - span);
    const every = Math.max(1, Math.ceil((last - first + 1) / (TRAIL_POINTS - 1)));
    for (const tip of this.tips) {
      let n = 0;
      const put = (p: Vector3, when: number) => {
        p.toArray(tip.points, 3 * n);
        const u = Math.min(Math.max((t - when) / span, 0), 1);
        this.tint.copy(tip.color).lerp(this.fade, u).toArray(tip.colors, 3 * n);
        n++;
      };
      // Steps on a fixed grid of frames, so that the line does not dance.
      for (let i = Math.ceil(first / every) * every; i <= last && n < TRAIL_POINTS - 1; i += every) {
        const x = frames[i].x;
        const p = this.a.copy(tip.local).applyQuaternion(this.q.fromArray(x, BODY * tip.body + 3));
        put(p.add(this.b.fromArray(x, BODY * tip.body)), frames[i].t);
      }
      put(this.point(tip.body, tip.local, this.a), t);
      tip.line.geometry.setDrawRange(0, n);
      tip.line.geometry.getAttribute('position').needsUpdate = true;
      tip.line.geometry.getAttribute('color').needsUpdate = true;
    }
  }

  private readonly tint = new Color();

  /** Marks a body as chosen. */
  highlight(body: number | null): void {
    this.bodies.forEach((group, i) => {
      group.traverse((part) => {
        if (part instanceof Mesh && part.material instanceof MeshStandardMaterial) {
          part.material.emissive.copy(part.material.color);
          part.material.emissiveIntensity = i === body ? 0.5 : 0;
        }
      });
    });
  }

  dispose(): void {
    this.group.traverse((part) => {
      if (part instanceof Mesh || part instanceof Line) {
        part.geometry.dispose();
        const materials = Array.isArray(part.material) ? part.material : [part.material];
        for (const material of materials) material.dispose();
      }
    });
    this.group.removeFromParent();
  }
}
