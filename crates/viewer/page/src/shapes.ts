// Geometry of shapes, and parts that are drawn many times.

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  DynamicDrawUsage,
  InstancedMesh,
  Matrix4,
  MeshStandardMaterial,
  PlaneGeometry,
  Quaternion,
  SphereGeometry,
  Vector3,
} from 'three';
import type { ShapeSpec } from './protocol.ts';

/** Colours that can be told apart, also by the colour-blind; then hues all around. */
const PALETTE = ['#4c8dd6', '#e8903a', '#3fa96b', '#d6587a', '#8f6fd1', '#c9a227', '#3bb3b8', '#b5654a', '#7f9a3a', '#6b7f99'];

export function colorOf(i: number, n: number): Color {
  if (n <= PALETTE.length) return new Color(PALETTE[i % PALETTE.length]);
  return new Color().setHSL((0.58 + (0.85 * i) / Math.max(n - 1, 1)) % 1, 0.55, 0.56);
}

/** The geometry of a shape, its axis along z; null for one that the stage draws itself. */
export function geometryOf(shape: ShapeSpec): BufferGeometry | null {
  const { radius = 0, length = 0 } = shape;
  // Round parts of three lie along y.
  const upright = (geometry: BufferGeometry) => geometry.rotateX(Math.PI / 2);
  switch (shape.type) {
    case 'box': {
      const [x, y, z] = shape.size ?? [1, 1, 1];
      return new BoxGeometry(x, y, z);
    }
    case 'sphere':
      return new SphereGeometry(radius, 32, 20);
    case 'cylinder':
      return upright(new CylinderGeometry(radius, radius, length, 36));
    case 'capsule':
      return upright(new CapsuleGeometry(radius, length, 10, 24));
    case 'cone':
      return upright(new ConeGeometry(radius, length, 36));
    case 'plane': {
      const [x, y] = shape.size ?? [10, 10];
      return new PlaneGeometry(x, y);
    }
    case 'heightfield':
      return heightfield(shape);
    case 'mesh':
      return mesh(shape);
    default:
      return null;
  }
}

function heightfield(shape: ShapeSpec): BufferGeometry {
  const heights = shape.heights ?? [];
  const columns = Math.max(shape.columns ?? 2, 2);
  const rows = Math.max(Math.floor(heights.length / columns), 2);
  const [x, y] = shape.size ?? [1, 1];
  const geometry = new PlaneGeometry(x, y, columns - 1, rows - 1);
  const position = geometry.getAttribute('position') as BufferAttribute;
  // The plane's first row has the largest y, the model's the smallest.
  for (let j = 0; j < rows; j++) {
    for (let i = 0; i < columns; i++) position.setZ((rows - 1 - j) * columns + i, heights[j * columns + i] ?? 0);
  }
  geometry.computeVertexNormals();
  return geometry;
}

function mesh(shape: ShapeSpec): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new BufferAttribute(new Float32Array(shape.vertices ?? []), 3));
  geometry.setIndex(new BufferAttribute(new Uint32Array(shape.triangles ?? []), 1));
  const flat = geometry.toNonIndexed();
  flat.computeVertexNormals();
  return flat;
}

/** How far a shape reaches from its middle, m; 0 for grounds. */
export function reachOf(shape: ShapeSpec): number {
  const { radius = 0, length = 0 } = shape;
  switch (shape.type) {
    case 'box':
      return 0.5 * Math.hypot(...(shape.size ?? [0]));
    case 'sphere':
      return radius;
    case 'cylinder':
    case 'cone':
      return Math.hypot(radius, 0.5 * length);
    case 'capsule':
      return radius + 0.5 * length;
    case 'mesh': {
      let most = 0;
      const v = shape.vertices ?? [];
      for (let i = 0; i + 2 < v.length; i += 3) most = Math.max(most, Math.hypot(v[i], v[i + 1], v[i + 2]));
      return most;
    }
    default:
      return 0;
  }
}

const Z = new Vector3(0, 0, 1);
const NONE = new Matrix4().makeScale(0, 0, 0);

/** Many sticks of one thickness, each between two points; or other parts that point from one place to another. */
export class Sticks {
  readonly object: InstancedMesh;
  private readonly matrix = new Matrix4();
  private readonly turn = new Quaternion();
  private readonly direction = new Vector3();
  private readonly middle = new Vector3();
  private readonly scale = new Vector3();

  constructor(count: number, color: Color | string, geometry?: BufferGeometry, opacity = 1) {
    // Of length 1 along z, about the middle; of radius 1.
    const unit = geometry ?? new CylinderGeometry(1, 1, 1, 10).rotateX(Math.PI / 2);
    const material = new MeshStandardMaterial({ color, roughness: 0.6, metalness: 0.1 });
    if (opacity < 1) {
      material.transparent = true;
      material.opacity = opacity;
      material.depthWrite = false;
    }
    this.object = new InstancedMesh(unit, material, Math.max(count, 1));
    this.object.instanceMatrix.setUsage(DynamicDrawUsage);
    this.object.frustumCulled = false;
    this.object.castShadow = opacity === 1;
    for (let i = 0; i < Math.max(count, 1); i++) this.hide(i);
  }

  /** Puts one from a to b. */
  set(i: number, a: Vector3, b: Vector3, radius: number): void {
    this.direction.subVectors(b, a);
    const length = this.direction.length();
    if (!(length > 1e-12)) {
      this.hide(i);
      return;
    }
    this.turn.setFromUnitVectors(Z, this.direction.divideScalar(length));
    this.middle.addVectors(a, b).multiplyScalar(0.5);
    this.scale.set(radius, radius, length);
    this.object.setMatrixAt(i, this.matrix.compose(this.middle, this.turn, this.scale));
    this.object.instanceMatrix.needsUpdate = true;
  }

  hide(i: number): void {
    this.object.setMatrixAt(i, NONE);
    this.object.instanceMatrix.needsUpdate = true;
  }
}

/** Arrows: a shaft and a head each. */
export class Arrows {
  readonly shafts: Sticks;
  readonly heads: Sticks;
  private readonly tip = new Vector3();
  private readonly neck = new Vector3();

  constructor(
    readonly count: number,
    color: string,
  ) {
    this.shafts = new Sticks(count, color);
    this.heads = new Sticks(count, color, new ConeGeometry(1, 1, 16).rotateX(Math.PI / 2));
    for (const part of [this.shafts, this.heads]) {
      part.object.castShadow = false;
      const material = part.object.material as MeshStandardMaterial;
      material.emissive = new Color(color);
      material.emissiveIntensity = 0.35;
    }
  }

  /** An arrow from `at` along `vector`, in metres of the scene. */
  set(i: number, at: Vector3, vector: Vector3, radius: number): void {
    const length = vector.length();
    if (i >= this.count) return;
    if (!(length > 2 * radius)) {
      this.hide(i);
      return;
    }
    const head = Math.min(7 * radius, 0.5 * length);
    this.tip.addVectors(at, vector);
    this.neck.copy(this.tip).addScaledVector(vector, -head / length);
    this.shafts.set(i, at, this.neck, radius);
    this.heads.set(i, this.neck, this.tip, 2.6 * radius);
  }

  hide(i: number): void {
    this.shafts.hide(i);
    this.heads.hide(i);
  }

  set visible(value: boolean) {
    this.shafts.object.visible = value;
    this.heads.object.visible = value;
  }
}
