#!/usr/bin/env python3
"""Writes orders.csv: five mechanisms of the gallery in reduced coordinates, to 25 digits.

Shares nothing with Gelenk: masses and moments from formulas, equations of motion by Newton and Euler in joint angles (Lagrange's for
those with one freedom), integrated by Gragg, Bulirsch and Stoer in numbers of 113 bits. Needs gmpy2. The second run, with other
steps, says how many digits hold.
"""
import sys
from gmpy2 import mpfr, sin, cos, sqrt, get_context, const_pi

get_context().precision = 113
G = mpfr("9.81")
TIMES = 5


def n(text):
    return mpfr(str(text))


# Vectors and matrices as lists.
def add(a, b):
    return [x + y for x, y in zip(a, b)]


def sub(a, b):
    return [x - y for x, y in zip(a, b)]


def scale(a, k):
    return [x * k for x in a]


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def mv(m, v):
    return [dot(row, v) for row in m]


def mm(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def tr(m):
    return [list(col) for col in zip(*m)]


ZERO = [mpfr(0)] * 3
ONE = [[mpfr(i == j) for j in range(3)] for i in range(3)]
X, Y, Z = ONE


def rotation(axis, angle):
    s, c = sin(angle), cos(angle)
    u = axis
    skew = [[mpfr(0), -u[2], u[1]], [u[2], mpfr(0), -u[0]], [-u[1], u[0], mpfr(0)]]
    return [[c * ONE[i][j] + s * skew[i][j] + (1 - c) * u[i] * u[j] for j in range(3)] for i in range(3)]


def round_body(axis, along, across):
    """Inertia tensor of a body of revolution."""
    return [[across * ONE[i][j] + (along - across) * axis[i] * axis[j] for j in range(3)] for i in range(3)]


class Tree:
    """Bodies after each other; every freedom is a turn ("turn", point, axis) or a move ("move", axis)."""

    def __init__(self):
        self.links = []

    def body(self, parent, freedoms, mass, center, inertia):
        for freedom in freedoms:
            self.links.append([parent, freedom, mpfr(0), ZERO, [ZERO] * 3])
            parent = len(self.links) - 1
        self.links[-1][2:] = [mass, center, inertia]
        return parent

    def places(self, q):
        out = []
        for (parent, freedom, *_), x in zip(self.links, q):
            rot, shift = out[parent] if parent is not None else (ONE, ZERO)
            if freedom[0] == "turn":
                own = rotation(freedom[2], x)
                own_shift = sub(freedom[1], mv(own, freedom[1]))
            else:
                own, own_shift = ONE, scale(freedom[1], x)
            out.append((mm(rot, own), add(mv(rot, own_shift), shift)))
        return out

    def screws(self, places):
        out = []
        for parent, freedom, *_ in self.links:
            rot, shift = places[parent] if parent is not None else (ONE, ZERO)
            if freedom[0] == "turn":
                u = mv(rot, freedom[2])
                out.append((u, cross(add(mv(rot, freedom[1]), shift), u)))
            else:
                out.append((ZERO, mv(rot, freedom[1])))
        return out

    def forces(self, bodies, screws, v, acc, gravity, loads):
        speeds, rates, wrenches = [], [], []
        for k, (parent, _, mass, *_) in enumerate(self.links):
            u, m = screws[k]
            w0, l0 = speeds[parent] if parent is not None else (ZERO, ZERO)
            w, l = add(w0, scale(u, v[k])), add(l0, scale(m, v[k]))
            speeds.append((w, l))
            a0, b0 = rates[parent] if parent is not None else (ZERO, scale(gravity, -1))
            a = add(a0, add(scale(u, acc[k]), scale(cross(w, u), v[k])))
            b = add(b0, add(scale(m, acc[k]), scale(add(cross(w, m), cross(l, u)), v[k])))
            rates.append((a, b))
            if mass == 0:
                wrenches.append([ZERO, ZERO])
                continue
            c, inertia = bodies[k]
            push = add(b, add(cross(a, c), cross(w, add(l, cross(w, c)))))
            force = scale(push, mass)
            torque = add(mv(inertia, a), cross(w, mv(inertia, w)))
            if k in loads:
                force, torque = sub(force, loads[k][0]), sub(torque, loads[k][1])
            wrenches.append([add(torque, cross(c, force)), force])
        tau = [None] * len(self.links)
        for k in reversed(range(len(self.links))):
            tau[k] = dot(screws[k][0], wrenches[k][0]) + dot(screws[k][1], wrenches[k][1])
            parent = self.links[k][0]
            if parent is not None:
                wrenches[parent] = [add(wrenches[parent][i], wrenches[k][i]) for i in range(2)]
        return tau

    def rate(self, y, load):
        size = len(self.links)
        q, v = y[:size], y[size:]
        places = self.places(q)
        screws = self.screws(places)
        bodies = {}
        for k, (_, _, mass, center, inertia) in enumerate(self.links):
            if mass != 0:
                rot, shift = places[k]
                bodies[k] = (add(mv(rot, center), shift), mm(mm(rot, inertia), tr(rot)))
        zero = [mpfr(0)] * size
        bias = self.forces(bodies, screws, v, zero, [mpfr(0), mpfr(0), -G], load(places))
        columns = []
        for k in range(size):
            unit = zero[:]
            unit[k] = mpfr(1)
            columns.append(self.forces(bodies, screws, zero, unit, ZERO, {}))
        return v + solve(tr(columns), [-b for b in bias])

    def see(self, y):
        places = self.places(y[: len(self.links)])
        return [
            add(mv(place[0], link[3]), place[1]) for link, place in zip(self.links, places) if link[2] != 0
        ]


def solve(matrix, rhs):
    size = len(rhs)
    rows = [row[:] + [x] for row, x in zip(matrix, rhs)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, size):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    out = [mpfr(0)] * size
    for i in reversed(range(size)):
        out[i] = (rows[i][size] - sum(rows[i][j] * out[j] for j in range(i + 1, size))) / rows[i][i]
    return out


def step(f, y, length, columns=14):
    """One step of Gragg, Bulirsch and Stoer."""
    table = []
    for k in range(columns):
        m = 2 * (k + 1)
        h = length / m
        before, now = y, [a + h * b for a, b in zip(y, f(y))]
        for _ in range(m - 1):
            before, now = now, [a + 2 * h * b for a, b in zip(before, f(now))]
        row, rows = now, []
        for j, earlier in enumerate(table):
            factor = mpfr(m) ** 2 / mpfr(2 * (k - j)) ** 2 - 1
            rows.append(row)
            row = [a + (a - b) / factor for a, b in zip(row, earlier)]
        rows.append(row)
        table = rows
    return table[-1]


def pendulum():
    angle = const_pi() / 18

    def f(y):
        return [y[1], -G * sin(y[0])]

    return ["bob"], f, [angle, mpfr(0)], lambda y: [[sin(y[0]), mpfr(0), -cos(y[0])]], n(2), 8


def ball(point):
    return [("turn", point, Z), ("turn", point, Y), ("turn", point, X)]


def rod(mass, length, radius):
    """Moments of a cylinder along and across its axis."""
    return mass * radius**2 / 2, mass * (length**2 / 12 + radius**2 / 4)


def spherical_double_pendulum():
    tree = Tree()
    d = [n("0.8"), mpfr(0), n("-0.6")]
    upper = tree.body(None, ball(ZERO), n(2), scale(d, n("0.5")), round_body(d, *rod(n(2), n(1), n("0.04"))))
    center = add(d, [mpfr(0), mpfr(0), n("-0.4")])
    tree.body(upper, ball(d), n(1), center, round_body(Z, *rod(n(1), n("0.8"), n("0.04"))))
    start = [mpfr(0)] * 6 + [n("1.6"), n(0), n("1.2"), n("1.4"), n(0), n("-1.2")]
    return ["upper", "lower"], lambda y: tree.rate(y, lambda _: {}), start, tree.see, n(1), 10


def heavy_top():
    tree = Tree()
    tilt = n("0.6")
    axle = [sin(tilt), mpfr(0), cos(tilt)]
    mass, radius, length = n(2), n("0.25"), n("0.05")
    freedoms = [("turn", ZERO, Z), ("turn", ZERO, Y), ("turn", ZERO, axle)]
    inertia = round_body(axle, *rod(mass, length, radius))
    tree.body(None, freedoms, mass, scale(axle, n("0.5")), inertia)
    start = [mpfr(0)] * 5 + [n(60)]
    return ["top"], lambda y: tree.rate(y, lambda _: {}), start, tree.see, n("0.5"), 12


def slider_crank():
    """Crank angle phi from the vertical: m(phi)/2 phi'^2 + V(phi) is constant."""
    r, l = n("0.3"), n(1)
    crank = rod(n(2), r, n("0.03"))[1] + 2 * r**2 / 4 + n(6) * n("0.25") ** 2 / 2
    inertia = rod(n(1), l, n("0.02"))[1]
    half = n("0.5")

    def f(y):
        s, c = sin(y[0]), cos(y[0])
        sp = r * c / l
        cp = sqrt(1 - sp**2)
        d = -r * s / (l * cp)
        dd = (-r * c / l + sp * d * d) / cp
        x, z = r * c - half * l * sp * d, -r * s - half * l * cp * d
        dx = -r * s - half * l * (cp * d * d + sp * dd)
        dz = -r * c + half * l * (sp * d * d - cp * dd)
        p = r * c - l * sp * d
        dp = -r * s - l * (cp * d * d + sp * dd)
        mass = crank + x * x + z * z + inertia * d * d + n("1.5") * p * p
        rate = x * dx + z * dz + inertia * d * dd + n("1.5") * p * dp
        push = G * (-2 * half * r * s + z)
        return [y[1], -(rate * y[1] ** 2 + push) / mass]

    def see(y):
        s, c = sin(y[0]), cos(y[0])
        pin = [r * s, mpfr(0), r * c]
        along = [l * sqrt(1 - (r * c / l) ** 2), mpfr(0), -r * c]
        # Of the 8 kg, 2 kg are at half the radius.
        return [scale(pin, 1 / mpfr(8)), add(pin, scale(along, half)), add(pin, along)]

    return ["crank", "rod", "piston"], f, [mpfr(0), n(8)], see, n(1), 20


def spring_swing():
    tree = Tree()
    mass, a, b, c = n(3), n("0.8"), n("0.5"), n("0.06")
    box = [b * b + c * c, a * a + c * c, a * a + b * b]
    inertia = [[mass * box[i] / 12 * ONE[i][j] for j in range(3)] for i in range(3)]
    free = [("move", X), ("move", Y), ("move", Z)] + ball(ZERO)
    board = tree.body(None, free, mass, ZERO, inertia)
    hook = [n("0.2"), n("0.1"), mpfr(0)]
    center = add(hook, [mpfr(0), mpfr(0), n("-0.35")])
    tree.body(board, ball(hook), n(1), center, round_body(Z, *rod(n(1), n("0.7"), n("0.04"))))

    def load(places):
        rot, at = places[board]
        force, torque = ZERO, ZERO
        for sx, sy in [(-1, -1), (1, -1), (-1, 1), (1, 1)]:
            arm = mv(rot, [n("0.4") * sx, n("0.25") * sy, mpfr(0)])
            d = sub([n("0.5") * sx, n("0.3") * sy, n("0.8")], add(at, arm))
            length = sqrt(dot(d, d))
            pull = scale(d, 150 * (length - n("0.75")) / length)
            force, torque = add(force, pull), add(torque, cross(arm, pull))
        return {board: (force, torque)}

    start = [mpfr(0)] * 9 + [n("0.5"), n("0.2"), n(0), n(1), n(0), n(0), n(1), n(0), n(1)]
    return ["board", "bar"], lambda y: tree.rate(y, load), start, tree.see, n(1), 8


HEAD = """\
# Source: reference/orders.py, which integrates the mechanisms in reduced coordinates (Newton-Euler or Lagrange) by Gragg, Bulirsch and
# Stoer in numbers of 113 bits; it shares nothing with Gelenk. All digits hold: runs with other steps agree to {digits:.0e} m.
# Table: centres of mass of the bodies of five models of the gallery, as in their files, at five times.
# Units: time s; x, y, z m.
# Tolerance: none; errors of runs against these figures fall with the order of the method (crates/impulse/tests/orders.rs).
# Reason: slopes of 8 need errors down to 1e-12 m that are those of the method alone.
model,time,body,x,y,z"""


def main():
    lines, worst = [], mpfr(0)
    for make in [pendulum, spherical_double_pendulum, heavy_top, slider_crank, spring_swing]:
        name = make.__name__.replace("_", "-")
        bodies, f, start, see, duration, parts = make()
        runs = []
        for count in (parts, parts + 3):
            y, seen = start, []
            for _ in range(TIMES):
                for _ in range(count):
                    y = step(f, y, duration / TIMES / count)
                seen.append(see(y))
            runs.append(seen)
        off = max(abs(a - b) for s, t in zip(*runs) for p, q in zip(s, t) for a, b in zip(p, q))
        worst = max(worst, off)
        print(f"{name}: runs agree to {float(off):.1e} m", file=sys.stderr, flush=True)
        for i, places in enumerate(runs[1]):
            for body, place in zip(bodies, places):
                time = duration / TIMES * (i + 1)
                figures = ",".join(f"{x:.20f}" for x in place)
                lines.append(f"{name},{float(time):.1f},{body},{figures}")
    print(HEAD.format(digits=float(worst)))
    print("\n".join(lines))


main()
