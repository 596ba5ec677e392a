#!/usr/bin/env python3
"""Writes lagr_sympy.csv: the coefficients of LAGR's example (its section 6.2, system 2) at 100 random points, by SymPy.

    python3 lagr_sympy.py > lagr_sympy.csv        (needs sympy; half a minute)

Another way than the program's: the kinetic energy from velocities and the ordinary moment of inertia, the coefficients from
Lagrange's operator d/dt dT/dq' - dT/dq, the forces from virtual power of each force on its point. Nothing of Gelenk is used.
"""
import random

import sympy as sp

t = sp.Symbol("t")
f = 3
q = [sp.Function(f"q{k}")(t) for k in range(1, f + 1)]
fu = sp.Function("fu")(t)
M = sp.symbols("M1:4")
TH = {(l, j, k): sp.Symbol(f"TH{l}{j}{k}") for l in (1, 2, 3) for j in (1, 2, 3) for k in range(j, 4)}
R, GE, C10, C23, K23, L10, L23, XF101, XF232 = sp.symbols("R GE C10 C23 K23 L10 L23 XF101 XF232")

# Places of the centres in the plane. The pendulum's axes: e1 = (cos, sin), e2 = (-sin, cos).
support = sp.Matrix([fu + q[0], 0])
e2 = sp.Matrix([-sp.sin(q[1]), sp.cos(q[1])])
pendulum = support - R * e2
mass = pendulum + q[2] * e2
places = [support, pendulum, mass]
omegas = [0, sp.diff(q[1], t), sp.diff(q[1], t)]

# Angular velocity is about the third axis: the moment of inertia is TH11 + TH22.
T = 0
for l, (x, w) in enumerate(zip(places, omegas), start=1):
    v = x.diff(t)
    T += M[l - 1] * v.dot(v) / 2 + (TH[l, 1, 1] + TH[l, 2, 2]) * w**2 / 2

# Plain symbols for q, q', q'' and the motion of the guide.
names, back = {}, {}
plain = {}
for k in range(f):
    for order, letter in enumerate(("Q", "QP", "QPP")):
        plain[sp.diff(q[k], t, order) if order else q[k]] = sp.Symbol(f"{letter}{k + 1}")
for order in range(3):
    plain[sp.diff(fu, t, order) if order else fu] = sp.Symbol(f"FU{order}")
order_of_replacement = sorted(plain.items(), key=lambda p: -sp.count_ops(p[0]) - (10 * p[0].derivative_count if p[0].is_Derivative else 0))


def flat(e):
    return sp.expand(e).subs(order_of_replacement)


Q = [sp.Symbol(f"Q{k + 1}") for k in range(f)]
QP = [sp.Symbol(f"QP{k + 1}") for k in range(f)]
QPP = [sp.Symbol(f"QPP{k + 1}") for k in range(f)]
FU = [sp.Symbol(f"FU{k}") for k in range(3)]

left = []
for k in range(f):
    p = sp.diff(T, sp.diff(q[k], t))
    left.append(flat(sp.diff(p, t) - sp.diff(T, q[k])))

results = {}
# The metric with time among the coordinates: T = 1/2 g_mn q'^m q'^n with q'^0 = 1.
T_flat = flat(T)
for m in range(f + 1):
    for n in range(m + 1):
        if m > 0 and n > 0:
            value = sp.diff(T_flat, QP[m - 1], QP[n - 1])
        elif m > 0:
            value = sp.diff(T_flat, QP[m - 1]).subs({s: 0 for s in QP})
        else:
            value = 2 * T_flat.subs({s: 0 for s in QP})
        results["G", m, n] = value
# Christoffel: the terms of Lagrange's operator without accelerations of the coordinates.
for r in range(f):
    rest = sp.expand(left[r].subs({s: 0 for s in QPP}))
    for m in range(f + 1):
        for n in range(m + 1):
            if m > 0 and n > 0:
                value = sp.diff(rest, QP[m - 1], QP[n - 1]) / 2
            elif m > 0:
                value = sp.diff(rest, QP[m - 1]).subs({s: 0 for s in QP}) / 2
            else:
                value = rest.subs({s: 0 for s in QP})
            results["GAM", r + 1, m, n] = value

# Forces and the points they act on.
gravity = sp.Matrix([0, -GE])
pull = C23 * (L23 + q[2] - XF232)
relative = (pendulum - mass).diff(t)
x = q[0] + XF101  # elongation of spring 1 along its guide
works = [
    (pendulum, M[1] * gravity + pull * e2 - K23 * relative),
    (mass, M[2] * gravity - pull * e2 + K23 * relative),
    (sp.Matrix([x, 0]), sp.Matrix([-C10 * (x - L10 * sp.sign(x)), 0])),
]
for r in range(f):
    power = sum(force.dot(point.diff(t).applyfunc(lambda v: sp.diff(v, sp.diff(q[r], t)))) for point, force in works)
    results["KU", r + 1] = flat(power)

NAMES = {
    **{M[l - 1]: f"M({l})" for l in (1, 2, 3)},
    **{s: f"TH({l},{j},{k})" for (l, j, k), s in TH.items()},
    R: "R", GE: "GE", C10: "C(1,0)", C23: "C(2,3)", K23: "K(2,3)", L10: "LA0(1,0)", L23: "LA0(2,3)",
    XF101: "XF(1,0,1)", XF232: "XF(2,3,2)",
    **{Q[k]: f"Q({k + 1})" for k in range(f)},
    **{QP[k]: f"QP({k + 1})" for k in range(f)},
    FU[0]: "FU.(Q(0))", FU[1]: "FU.(1)(Q(0))", FU[2]: "FU.(2)(Q(0))",
}
point_mass = {M[0]: 0, **{s: 0 for (l, j, k), s in TH.items() if l == 3}}
at_rest = {s: 0 for s in FU}
KINETIC = [{}, point_mass, {**point_mass, **at_rest}, {**point_mass, **at_rest, M[2]: 0}]
FORCES = [{}, {**at_rest, C10: 0}, {**at_rest, C10: 0, M[2]: 0, C23: 0, K23: 0}]

random.seed(1978)
points = [{s: sp.Rational(round(random.uniform(-2, 2), 6)) for s in NAMES} for _ in range(100)]


def row(name, e):
    e = sp.simplify(e)
    if e == 0:
        return
    values = [float(sp.N(e.subs(p), 30)) for p in points]
    print(",".join([f'"{name}"'] + [repr(v) for v in values]))


print(f"# Source: lagr_sympy.py, SymPy {sp.__version__}. Coefficients of LAGR's system 2 at 100 random points.")
print("# Rows: values of the symbols; then kineticI:NAME and forcesI:NAME, I the number of the replacement list (0: none).")
print("# Coefficients that are not listed are zero.")
for s, name in NAMES.items():
    print(",".join([f'"{name}"'] + [repr(float(p[s])) for p in points]))
for i, special in enumerate(KINETIC):
    for key, e in results.items():
        if key[0] != "KU":
            row(f"kinetic{i}:{key[0]}({','.join(map(str, key[1:]))})", e.subs(special))
for i, special in enumerate(FORCES):
    for key, e in results.items():
        if key[0] == "KU":
            row(f"forces{i}:KU({key[1]})", e.subs(special))
