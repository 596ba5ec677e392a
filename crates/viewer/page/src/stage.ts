// The stage: camera, light, floor, and the mechanisms on it.

import {
  Box3,
  Color,
  DirectionalLight,
  DoubleSide,
  Frustum,
  Group,
  HemisphereLight,
  Matrix4,
  Mesh,
  NeutralToneMapping,
  PCFShadowMap,
  PerspectiveCamera,
  Plane,
  PlaneGeometry,
  Quaternion,
  Raycaster,
  Scene,
  ShaderMaterial,
  ShadowMaterial,
  Sphere,
  Vector2,
  Vector3,
  WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { foresee, together } from './extent.ts';
import type { Looks } from './mechanism.ts';
import { Mechanism } from './mechanism.ts';
import type { Run } from './run.ts';
import { Sticks } from './shapes.ts';

/** What the pointer has got hold of. */
export interface Grip {
  body: number;
  /** Principal frame. */
  local: Vector3;
}

export interface StageEvents {
  /** A body is taken; false where it cannot be moved, and the camera turns instead. */
  grab(grip: Grip, target: Vector3): boolean;
  pull(target: Vector3): void;
  release(): void;
  choose(body: number | null): void;
}

const GRID_VERTEX = `
varying vec3 place;
void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  place = world.xyz;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;

// Lines of one pixel at every metre (or tenth, ten ...), stronger at every tenth, fading with the distance.
const GRID_FRAGMENT = `
uniform vec3 ink;
uniform vec2 centre;
uniform float cell;
uniform float reach;
varying vec3 place;
float lines(float size) {
  vec2 x = place.xy / size;
  vec2 width = fwidth(x);
  vec2 d = abs(fract(x - 0.5) - 0.5) / max(width, vec2(1e-6));
  return (1.0 - min(min(d.x, d.y), 1.0)) * (1.0 - clamp(max(width.x, width.y) * 2.0, 0.0, 1.0));
}
void main() {
  float far = 1.0 - smoothstep(0.25 * reach, reach, distance(place.xy, centre));
  float strength = max(0.16 * lines(cell), 0.6 * lines(10.0 * cell));
  gl_FragColor = vec4(ink, strength * far);
}`;

/** Moments of a motion that are looked at to show all of it. */
const MOMENTS = 200;

/** Width of the tools at the right edge, px. */
const TOOLS = 60;

export class Stage {
  readonly canvas: HTMLCanvasElement;
  readonly looks: Looks = { joints: true, jointForces: false, contactForces: false, trails: false };
  readonly renderer: WebGLRenderer;
  readonly camera = new PerspectiveCamera(38, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  main: Mechanism | null = null;
  ghosts: Mechanism[] = [];
  follow = false;
  events: StageEvents | null = null;
  /** Something has changed since the last picture. */
  dirty = true;
  private readonly scene = new Scene();
  /** Turns the model so that its gravity points down. */
  private readonly root = new Group();
  private readonly sun = new DirectionalLight(0xffffff, 2.3);
  private readonly sky = new HemisphereLight(0xffffff, 0xb4b9c4, 1.9);
  private readonly grid: Mesh<PlaneGeometry, ShaderMaterial>;
  private readonly shade: Mesh<PlaneGeometry, ShadowMaterial>;
  private readonly pull: Sticks;
  private readonly ray = new Raycaster();
  private readonly background = new Color();
  private grip: (Grip & { plane: Plane; target: Vector3 }) | null = null;
  private readonly centre = new Vector3();
  private readonly corner = new Vector3();
  private size = 1;
  /** The user has turned or moved the camera; it is theirs then. */
  touched = false;
  /** Nothing that moves is in the picture. */
  empty = false;
  private readonly seen = new Frustum();
  private readonly turn = new Matrix4();
  private readonly ball = new Sphere();
  private slow = 0;
  private last = 0;

  constructor(parent: HTMLElement) {
    this.renderer = new WebGLRenderer({ antialias: true, powerPreference: 'high-performance' });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.toneMapping = NeutralToneMapping;
    this.canvas = this.renderer.domElement;
    this.canvas.className = 'stage';
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('aria-label', 'The mechanism in space: drag to turn the view, wheel to zoom, drag a body to pull it');
    parent.append(this.canvas);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = false;
    this.controls.addEventListener('change', () => (this.dirty = true));
    this.controls.addEventListener('start', () => (this.touched = true));
    this.scene.add(this.root, this.sky, this.sun, this.sun.target);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.radius = 3;
    const grid = new ShaderMaterial({
      vertexShader: GRID_VERTEX,
      fragmentShader: GRID_FRAGMENT,
      uniforms: { ink: { value: new Color() }, centre: { value: new Vector2() }, cell: { value: 1 }, reach: { value: 10 } },
      transparent: true,
      depthWrite: false,
      side: DoubleSide,
    });
    this.grid = new Mesh(new PlaneGeometry(1, 1), grid);
    this.shade = new Mesh(new PlaneGeometry(1, 1), new ShadowMaterial({ opacity: 0.22, depthWrite: false }));
    this.shade.receiveShadow = true;
    // Before trails and ghosts, which are to be seen below the floor too.
    this.shade.renderOrder = this.grid.renderOrder = -1;
    this.scene.add(this.shade, this.grid);
    this.pull = new Sticks(1, '#ff5d5d');
    this.root.add(this.pull.object);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(parent);
    this.theme();
  }

  /** Takes the colours of the page. */
  theme(): void {
    const style = getComputedStyle(document.documentElement);
    this.background.set(style.getPropertyValue('--stage').trim() || '#101418');
    this.scene.background = this.background;
    this.grid.material.uniforms.ink.value.set(style.getPropertyValue('--grid').trim() || '#567');
    this.shade.material.opacity = parseFloat(style.getPropertyValue('--shade')) || 0.25;
    for (const mechanism of [this.main, ...this.ghosts]) mechanism?.fade.copy(this.background);
    this.dirty = true;
  }

  private resize(): void {
    const parent = this.canvas.parentElement;
    if (!parent) return;
    const { clientWidth: width, clientHeight: height } = parent;
    if (width === 0 || height === 0) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    // The middle of what the tools leave free is the middle of the picture.
    this.camera.setViewOffset(width, height, TOOLS / 2, 0, width, height);
    this.camera.updateProjectionMatrix();
    this.dirty = true;
  }

  /** Puts a run on the stage. */
  setMain(run: Run, keepCamera: boolean): void {
    this.main?.dispose();
    this.main = new Mechanism(run, false, this.background);
    this.root.add(this.main.group);
    const [x, y, z] = run.scene.gravity;
    const up = new Vector3(-x, -y, -z);
    const vertical = new Vector3(0, 0, 1);
    this.root.quaternion.copy(up.lengthSq() > 0 ? new Quaternion().setFromUnitVectors(up.normalize(), vertical) : new Quaternion());
    this.root.updateMatrixWorld(true);
    if (!keepCamera) this.fit();
    this.dirty = true;
  }

  setGhosts(runs: Run[]): void {
    for (const ghost of this.ghosts) ghost.dispose();
    this.ghosts = runs.filter((run) => run.frames.length > 0).map((run) => new Mechanism(run, true, this.background));
    for (const ghost of this.ghosts) this.root.add(ghost.group);
    this.dirty = true;
  }

  /** Looks at the whole motion that is known, without what has flown off. */
  fit(): void {
    const main = this.main;
    if (!main) return;
    const box = new Box3();
    this.touched = false;
    const frames = main.run.frames;
    const every = Math.max(1, Math.floor(frames.length / MOMENTS));
    const p = new Vector3();
    const stay = together(main, frames[frames.length - 1], this.root.quaternion);
    for (let i = 0; i < frames.length; i += every) {
      for (const [k, place] of together(main, frames[i], this.root.quaternion)) if (stay.has(k)) box.expandByPoint(place);
    }
    main.show(main.run.start, this.looks);
    this.root.updateMatrixWorld(true);
    for (const [k, group] of main.bodies.entries()) {
      if (main.run.scene.bodies[k].fixed) continue;
      box.expandByObject(group);
    }
    for (const thread of main.run.scene.threads) {
      thread.bodies.forEach((body, side) => box.expandByPoint(main.point(body, thread.points[side], p).applyQuaternion(this.root.quaternion)));
    }
    let lowest = Infinity;
    if (frames.length === 1) lowest = foresee(main, box, this.root.quaternion);
    if (box.isEmpty()) box.setFromCenterAndSize(p.set(0, 0, 0), new Vector3(1, 1, 1));
    box.getCenter(this.centre);
    this.size = Math.max(box.getSize(p).length(), 0.3 * main.size, 1e-3);
    const floor = main.floor ?? Math.min(box.min.z, lowest) - 0.02 * this.size;
    this.layFloor(floor);
    this.grid.visible = !main.rough;
    this.shade.visible = !main.rough;
    const view = new Vector3(0.42, -1, 0.36).normalize();
    const distance = 1.08 * this.distanceFor(box, view);
    this.controls.target.copy(this.centre);
    this.camera.position.copy(this.centre).addScaledVector(view, distance);
    this.camera.near = distance / 200;
    this.camera.far = 60 * distance;
    this.camera.updateProjectionMatrix();
    this.controls.minDistance = distance / 50;
    this.controls.maxDistance = 15 * distance;
    this.controls.update();
    this.dirty = true;
  }

  /** How far away the camera sees all of a box, looking from `view` at its middle. */
  private distanceFor(box: Box3, view: Vector3): number {
    const right = new Vector3(0, 0, 1).cross(view).normalize();
    const up = view.clone().cross(right);
    const tall = Math.tan((this.camera.fov * Math.PI) / 360);
    const free = Math.max(0.5, 1 - TOOLS / Math.max(this.canvas.clientWidth, 1));
    const wide = tall * this.camera.aspect * free;
    const corner = new Vector3();
    let distance = 0.4 * this.size;
    for (let i = 0; i < 8; i++) {
      corner.set(i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y, i & 4 ? box.max.z : box.min.z).sub(this.centre);
      const needed = Math.max(Math.abs(corner.dot(right)) / wide, Math.abs(corner.dot(up)) / tall);
      distance = Math.max(distance, needed + corner.dot(view));
    }
    return distance;
  }

  private layFloor(height: number): void {
    const reach = 4 * this.size;
    for (const floor of [this.grid, this.shade]) {
      floor.scale.set(2 * reach, 2 * reach, 1);
      floor.position.set(this.centre.x, this.centre.y, height);
    }
    this.grid.position.z += 1e-4 * this.size;
    const uniforms = this.grid.material.uniforms;
    uniforms.reach.value = reach;
    uniforms.centre.value.set(this.centre.x, this.centre.y);
    uniforms.cell.value = 10 ** Math.floor(Math.log10(this.size / 3));
    const s = 1.2 * this.size;
    this.sun.position.copy(this.centre).add(new Vector3(0.35, -0.5, 1.1).multiplyScalar(2 * s));
    this.sun.target.position.copy(this.centre);
    const shadow = this.sun.shadow.camera;
    [shadow.left, shadow.right, shadow.bottom, shadow.top] = [-s, s, -s, s];
    [shadow.near, shadow.far] = [0.1 * s, 6 * s];
    shadow.updateProjectionMatrix();
  }

  /** Shows everything at a time and draws it, if anything has changed. */
  draw(t: number): void {
    if (!this.dirty) return;
    this.dirty = false;
    const begin = performance.now();
    this.main?.show(t, this.looks);
    for (const ghost of this.ghosts) {
      // A ghost that has ended is no longer there: frozen it would look as if it were.
      ghost.group.visible = !ghost.run.over(t);
      ghost.show(t, { ...this.looks, joints: false });
    }
    if (this.follow && this.main) this.walkAlong();
    this.showPull();
    this.renderer.render(this.scene, this.camera);
    this.look();
    this.spare(begin);
  }

  /** Where pictures take long, as without a graphics card, shadows are drawn smaller and pixels larger. */
  private spare(begin: number): void {
    const apart = begin - this.last;
    this.last = begin;
    if (apart > 1000) return;
    this.slow = apart > 55 ? this.slow + 1 : 0;
    if (this.slow === 20 && !new URLSearchParams(location.search).has('fine')) {
      this.renderer.setPixelRatio(1);
      this.sun.shadow.mapSize.set(512, 512);
      this.sun.shadow.map?.dispose();
      this.sun.shadow.map = null;
      this.resize();
    }
  }

  /** The camera stays where it is while parts fly off; what it can say is that all have gone. */
  private look(): void {
    const main = this.main;
    if (!main) return;
    const { camera, corner, seen } = this;
    seen.setFromProjectionMatrix(this.turn.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse));
    const moving = main.run.scene.bodies.flatMap((body, i) => (body.fixed ? [] : [i]));
    this.empty = moving.length > 0;
    for (const i of moving) {
      this.ball.set(corner.copy(main.bodies[i].position).applyQuaternion(this.root.quaternion), Math.max(main.reach[i], 0.02 * main.size));
      if (!seen.intersectsSphere(this.ball)) continue;
      this.empty = false;
      return;
    }
  }

  /** Keeps the camera beside what moves. */
  private walkAlong(): void {
    const main = this.main;
    if (!main) return;
    const middle = new Vector3();
    let mass = 0;
    main.run.scene.bodies.forEach((body, i) => {
      if (body.fixed) return;
      middle.addScaledVector(main.bodies[i].position, body.mass || 1e-9);
      mass += body.mass || 1e-9;
    });
    middle.divideScalar(mass || 1).applyQuaternion(this.root.quaternion);
    const step = middle.sub(this.controls.target);
    this.controls.target.add(step);
    this.camera.position.add(step);
    this.sun.position.add(step);
    this.sun.target.position.add(step);
    this.grid.position.x += step.x;
    this.grid.position.y += step.y;
    this.shade.position.x = this.grid.position.x;
    this.shade.position.y = this.grid.position.y;
    this.grid.material.uniforms.centre.value.set(this.grid.position.x, this.grid.position.y);
  }

  private showPull(): void {
    if (!this.grip || !this.main) {
      this.pull.hide(0);
      return;
    }
    this.main.point(this.grip.body, this.grip.local, this.corner);
    this.pull.set(0, this.corner, this.grip.target, 0.005 * this.main.size);
  }

  private pointer(event: PointerEvent): Vector2 {
    const box = this.canvas.getBoundingClientRect();
    return new Vector2(((event.clientX - box.left) / box.width) * 2 - 1, 1 - ((event.clientY - box.top) / box.height) * 2);
  }

  /** The body under the pointer and where it is hit. */
  private hit(event: PointerEvent): { body: number; point: Vector3 } | null {
    if (!this.main) return null;
    this.ray.setFromCamera(this.pointer(event), this.camera);
    this.ray.params.Line.threshold = 0;
    for (const hit of this.ray.intersectObjects(this.main.bodies, true)) {
      let part: typeof hit.object | null = hit.object;
      while (part && part.userData.body === undefined) part = part.parent;
      if (part && hit.object instanceof Mesh) return { body: part.userData.body as number, point: hit.point };
    }
    return null;
  }

  private listen(): void {
    let pressed: { x: number; y: number; body: number | null } | null = null;
    const canvas = this.canvas;
    canvas.addEventListener(
      'pointerdown',
      (event) => {
        if (event.button !== 0 || !event.isPrimary) return;
        const hit = this.hit(event);
        pressed = { x: event.clientX, y: event.clientY, body: hit?.body ?? null };
        if (!hit || !this.main || this.main.run.scene.bodies[hit.body].fixed) return;
        const group = this.main.bodies[hit.body];
        const local = group.worldToLocal(hit.point.clone());
        const normal = this.camera.getWorldDirection(new Vector3());
        const plane = new Plane().setFromNormalAndCoplanarPoint(normal, hit.point);
        const target = this.root.worldToLocal(hit.point.clone());
        if (!this.events?.grab({ body: hit.body, local }, target)) return;
        this.grip = { body: hit.body, local, plane, target };
        this.controls.enabled = false;
        canvas.setPointerCapture(event.pointerId);
      },
      { capture: true },
    );
    canvas.addEventListener('pointermove', (event) => {
      if (!this.grip) {
        if (event.pointerType === 'mouse' && event.buttons === 0) canvas.style.cursor = this.hovers(event) ? 'grab' : '';
        return;
      }
      this.ray.setFromCamera(this.pointer(event), this.camera);
      const point = this.ray.ray.intersectPlane(this.grip.plane, new Vector3());
      if (!point) return;
      this.grip.target.copy(this.root.worldToLocal(point));
      this.events?.pull(this.grip.target);
      this.dirty = true;
    });
    const up = (event: PointerEvent) => {
      const still = pressed && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 5;
      if (this.grip) {
        this.grip = null;
        this.controls.enabled = true;
        this.events?.release();
        this.dirty = true;
      }
      if (still && event.type === 'pointerup') this.events?.choose(pressed?.body ?? null);
      pressed = null;
    };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
  }

  private hovers(event: PointerEvent): boolean {
    const hit = this.hit(event);
    return hit !== null && !(this.main?.run.scene.bodies[hit.body].fixed ?? true);
  }

  /** Where a body is on the screen, in pixels of the page; for tests and labels. */
  screenPlace(body: number): { x: number; y: number } | null {
    const group = this.main?.bodies[body];
    if (!group) return null;
    const box = this.canvas.getBoundingClientRect();
    const p = group.getWorldPosition(new Vector3()).project(this.camera);
    return { x: box.left + ((p.x + 1) / 2) * box.width, y: box.top + ((1 - p.y) / 2) * box.height };
  }
}
