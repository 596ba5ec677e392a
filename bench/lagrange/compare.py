"""Lagrange's equations by Gelenk beside SymPy and CasADi: length of the results, agreement, time.

    cargo build --release -p gelenk-lagrange --examples
    python3 compare.py ../../target/release/examples/derive [links | arms]

Needs SymPy and CasADi. For every textbook system the mass matrix and the forcing are derived by SymPy's LagrangesMethod in the
same coordinates; each of SymPy's entries is simplified in several ways (each with LIMIT seconds) and the shortest kept. Both
sides are counted by SymPy's count_ops, and compared at random points. With `links` the planar chain of n links is timed
instead, with `arms` the three-joint and the six-axis arm of the gallery.
"""

import json
import random
import signal
import subprocess
import sys
import tempfile
import time

import casadi as ca
import sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

derive = sys.argv[1]
LIMIT = 60  # seconds for one of SymPy's simplifications of one entry
t = sp.Symbol("t")


def gelenk(model):
    out = subprocess.run([derive, model, "json"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def read(text, names):
    return sp.sympify(text.replace("^", "**"), locals=names)


class OutOfTime(BaseException):
    pass


def stop(*_):
    raise OutOfTime


signal.signal(signal.SIGALRM, stop)
given_up = 0


def shortest(e):
    e = sp.nsimplify(e, rational=True)
    ways = [e]
    for way in (sp.expand, sp.simplify, sp.trigsimp, sp.factor, sp.fu,
                lambda x: sp.factor(sp.trigsimp(sp.expand(x))), lambda x: sp.collect(sp.expand(x), x.free_symbols)):
        signal.alarm(LIMIT)
        try:
            ways.append(way(e))
        except OutOfTime:
            global given_up
            given_up += 1
        except Exception:
            pass
        finally:
            signal.alarm(0)
    return min(ways, key=sp.count_ops)


def double_pendulum():
    l1, l2, m1, m2 = sp.symbols("l1 l2 m1 m2", positive=True)
    a, b = dynamicsymbols("q1 q2")
    # Bars of radius 1/50: J = m (l^2/12 + r^2/4); the first level at 0, the second hanging.
    j1, j2 = m1 * (l1**2 / 12 + sp.Rational(1, 10000)), m2 * (l2**2 / 12 + sp.Rational(1, 10000))
    x1, z1 = l1 / 2 * sp.cos(a), -l1 / 2 * sp.sin(a)
    x2 = l1 * sp.cos(a) - l2 / 2 * sp.sin(a + b)
    z2 = -l1 * sp.sin(a) - l2 / 2 * sp.cos(a + b)
    T = m1 * (x1.diff(t)**2 + z1.diff(t)**2) / 2 + j1 * a.diff(t)**2 / 2
    T += m2 * (x2.diff(t)**2 + z2.diff(t)**2) / 2 + j2 * (a + b).diff(t)**2 / 2
    return T, sp.Rational(981, 100) * (m1 * z1 + m2 * z2), [a, b], []


def spherical_pendulum():
    l = sp.Symbol("l", positive=True)
    phi, th = dynamicsymbols("q1 q2")
    x = l * sp.sin(th) * sp.cos(phi)
    y = l * sp.sin(th) * sp.sin(phi)
    z = -l * sp.cos(th)
    T = (x.diff(t)**2 + y.diff(t)**2 + z.diff(t)**2) / 2
    return T, sp.Rational(981, 100) * z, [phi, th], []


def heavy_top():
    l = sp.Symbol("l", positive=True)
    phi, th, psi = dynamicsymbols("q1 q2 q3")
    m, r, h = 2, sp.Rational(1, 4), sp.Rational(1, 20)
    A = m * (3 * r**2 + h**2) / 12 + m * l**2
    C = m * r**2 / 2
    T = A * (th.diff(t)**2 + phi.diff(t)**2 * sp.sin(th)**2) / 2
    T += C * (psi.diff(t) + phi.diff(t) * sp.cos(th))**2 / 2
    return T, m * sp.Rational(981, 100) * l * sp.cos(th), [phi, th, psi], []


def cart_triple_pendulum():
    g, M, m1, m2, m3, l1, l2, l3, J = sp.symbols("g M m1 m2 m3 l1 l2 l3 J", positive=True)
    s, a, b, c = dynamicsymbols("q1 q2 q3 q4")
    x, z, angle = s, 0, 0
    T = M * s.diff(t)**2 / 2
    V = 0
    points = []
    for m, l, q in ((m1, l1, a), (m2, l2, b), (m3, l3, c)):
        angle = angle + q
        x = x + l * sp.sin(angle)
        z = z - l * sp.cos(angle)
        points.append((x, z))
        T += m * (x.diff(t)**2 + z.diff(t)**2) / 2 + J * angle.diff(t)**2 / 2
        V += m * g * z
    kick = 4 * sp.exp(-10 * t**2)
    x1 = points[0][0]
    forces = [kick * x1.diff(q) for q in (s, a, b, c)]
    return T, V, [s, a, b, c], forces


def bead_on_hoop():
    g, R, m, speed = sp.symbols("g R m speed", positive=True)
    u = dynamicsymbols("q1")
    x = R * sp.sin(u) * sp.cos(speed * t)
    y = R * sp.sin(u) * sp.sin(speed * t)
    z = -R * sp.cos(u)
    T = m * (x.diff(t)**2 + y.diff(t)**2 + z.diff(t)**2) / 2
    return T, m * g * z, [u], []


def by_sympy(system):
    T, V, q, forces = system
    begin = time.perf_counter()
    method = LagrangesMethod(T - V, q)
    method.form_lagranges_equations()
    mass = method.mass_matrix
    forcing = method.forcing
    spent = time.perf_counter() - begin
    for i, force in enumerate(forces):
        forcing[i] += force
    # Plain symbols, so that both sides speak of the same.
    plain = {}
    for x in q:
        name = x.func.__name__
        plain[x.diff(t)] = sp.Symbol(name + "_dot")
    later = {x: sp.Symbol(x.func.__name__) for x in q}
    put = lambda e: sp.sympify(e).subs(plain).subs(later)
    return mass.applyfunc(put), forcing.applyfunc(put), spent


def textbook():
    worst = 0.0
    for name, system in (("spherical-pendulum", spherical_pendulum), ("double-pendulum", double_pendulum),
                         ("heavy-top", heavy_top), ("bead-on-hoop", bead_on_hoop),
                         ("cart-triple-pendulum", cart_triple_pendulum)):
        mass, forcing, spent = by_sympy(system())
        n = mass.rows
        ours = gelenk(name)
        symbols = mass.free_symbols | forcing.free_symbols
        names = {str(s): s for s in symbols}
        names["t"] = t
        defined = {}
        for d in ours["definitions"]:
            names[d["name"]] = sp.Symbol(d["name"])
        for d in ours["definitions"]:
            defined[names[d["name"]]] = read(d["value"], names)
        g = [[read(ours["g"][i + 1][j + 1], names) for j in range(n)] for i in range(n)]
        motion = [-read(e, names) for e in ours["motion"]]
        theirs_count = ours_count = 0
        point = {s: sp.Float(random.uniform(0.4, 1.6)) for s in symbols | {t}}
        value = lambda e: float(sp.N(e.subs(defined).subs(point)))
        gap = 0.0
        for i in range(n):
            for j in range(i, n):
                gap = max(gap, abs(value(g[i][j]) - value(mass[i, j])))
                ours_count += sp.count_ops(g[i][j])
                theirs_count += sp.count_ops(shortest(mass[i, j]))
            gap = max(gap, abs(value(motion[i]) - value(forcing[i])))
            # An equation may be written with its force on either side.
            ours_count += min(sp.count_ops(motion[i]), sp.count_ops(-motion[i]))
            theirs_count += min(sp.count_ops(shortest(forcing[i])), sp.count_ops(shortest(-forcing[i])))
        ours_count += sum(sp.count_ops(e) for e in defined.values())
        worst = max(worst, gap)
        print(f"{name:22} Gelenk {ours_count:4} operations, SymPy {theirs_count:4}; difference {gap:.1e}; "
              f"SymPy {spent * 1e3:.0f} ms without simplification"
              + (f"; {given_up} simplifications given up after {LIMIT} s" if given_up else ""), flush=True)
    assert worst < 1e-9, worst


def chain(n):
    text = '[model]\nname = "chain"\ngravity = [0, 0, "-g"]\n[parameters]\ng = 9.81\n'
    for i in range(1, n + 1):
        text += f"m{i} = 1\nl{i} = 1\nJ{i} = 0.1\n"
    place = "0"
    for i in range(1, n + 1):
        parent = "world" if i == 1 else f"link{i - 1}"
        text += f'[[body]]\nname = "link{i}"\nmass = "m{i}"\ninertia = ["J{i}", "J{i}", "J{i}"]\n'
        text += f'position = [0, 0, "{place}-l{i}"]\n'
        text += f'[[joint]]\nname = "hinge{i}"\ntype = "hinge"\nbetween = ["{parent}", "link{i}"]\n'
        text += f'point = [0, 0, "{place}"]\naxis = [0, -1, 0]\n'
        place += f"-l{i}"
    return text


def chain_by_sympy(n):
    g = sp.Symbol("g")
    q = dynamicsymbols(f"q1:{n + 1}")
    x = z = angle = T = V = 0
    for i in range(n):
        m, l, J = sp.symbols(f"m{i} l{i} J{i}")
        angle += q[i]
        x += l * sp.sin(angle)
        z -= l * sp.cos(angle)
        T += m * (x.diff(t)**2 + z.diff(t)**2) / 2 + J * angle.diff(t)**2 / 2
        V += m * g * z
    begin = time.perf_counter()
    method = LagrangesMethod(T - V, list(q))
    method.form_lagranges_equations()
    _ = method.mass_matrix, method.forcing
    return time.perf_counter() - begin


def chain_by_casadi(n):
    """The same energies, differentiated by CasADi: mass matrix and forcing as expression graphs, nothing simplified."""
    begin = time.perf_counter()
    q, v, m, l, J = (ca.SX.sym(name, n) for name in "qvmlJ")
    g = ca.SX.sym("g")
    x = z = angle = T = V = 0
    for i in range(n):
        angle += q[i]
        x += l[i] * ca.sin(angle)
        z -= l[i] * ca.cos(angle)
        dx, dz = ca.jtimes(x, q, v), ca.jtimes(z, q, v)
        T += m[i] * (dx**2 + dz**2) / 2 + J[i] * ca.jtimes(angle, q, v)**2 / 2
        V += m[i] * g * z
    mass, momentum = ca.hessian(T, v)
    forcing = ca.gradient(T - V, q) - ca.jtimes(momentum, q, v)
    function = ca.Function("chain", [q, v, m, l, J, g], [mass, forcing])
    return time.perf_counter() - begin, function.n_instructions()


def time_of(model, runs=5):
    """Least time of some runs in ms, and the operations of the result."""
    best = None
    for _ in range(runs):
        out = subprocess.run([derive, model, "time"], check=True, capture_output=True, text=True).stdout
        spent = float(out.split(":")[1].split("ms")[0])
        best = spent if best is None else min(best, spent)
    return best, out.split(",")[1].strip()


def arms():
    for model in ("three-link-arm", "robot-arm"):
        best, operations = time_of(model)
        print(f"{model:16} Gelenk {best:8.1f} ms, simplified, {operations}", flush=True)


def links():
    for n in (2, 3, 4, 6, 8, 12, 16, 20):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(chain(n))
            file.flush()
            best, operations = time_of(file.name, 10 if n < 8 else 1)
        casadi, nodes = chain_by_casadi(n)
        line = f"{n:2} links: Gelenk {best:9.1f} ms, simplified, {operations}"
        line += f"; CasADi {casadi * 1e3:6.1f} ms, {nodes} instructions, not simplified"
        if n <= 4:
            theirs = chain_by_sympy(n) * 1e3
            line += f"; SymPy {theirs:9.0f} ms, not simplified; ratio {theirs / best:.0f}"
        print(line, flush=True)


random.seed(2003)
if sys.argv[2:] == ["links"]:
    links()
elif sys.argv[2:] == ["arms"]:
    arms()
else:
    textbook()
