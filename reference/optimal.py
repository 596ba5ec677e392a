"""Optima of small problems on the same grids as Gelenk's, without Gelenk: CasADi's IPOPT over multiple shooting with
fine Runge-Kutta steps. Writes optimal.csv beside this file.

    pip install casadi && python reference/optimal.py
"""

import pathlib

import casadi as ca


def solve(rates, cost, n, duration, m, kind, start, end, lower, upper, u_lower, u_upper, guess, steps, mayer=None, free=None):
    """min mayer + ∫ cost with controls constant or linear (continuous) on n intervals."""
    nx = len(start)
    opti = ca.Opti()
    x = opti.variable(nx, n + 1)
    u = opti.variable(m, n if kind == "constant" else n + 1)
    t = opti.variable() if free else duration
    if free:
        opti.set_initial(t, free[0])
        opti.subject_to(opti.bounded(free[1], t, free[2]))
    h = t / n
    total = 0
    for k in range(n):
        xk, q = x[:, k], 0
        u0, u1 = (u[:, k], u[:, k]) if kind == "constant" else (u[:, k], u[:, k + 1])
        dt = h / steps
        for i in range(steps):
            at = [u0 + (u1 - u0) * (i + c) / steps for c in (0.0, 0.5, 1.0)]
            k1, l1 = rates(xk, at[0]), cost(xk, at[0])
            k2, l2 = rates(xk + dt / 2 * k1, at[1]), cost(xk + dt / 2 * k1, at[1])
            k3, l3 = rates(xk + dt / 2 * k2, at[1]), cost(xk + dt / 2 * k2, at[1])
            k4, l4 = rates(xk + dt * k3, at[2]), cost(xk + dt * k3, at[2])
            xk = xk + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            q = q + dt / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
        opti.subject_to(x[:, k + 1] == xk)
        total = total + q
    for j in range(nx):
        for k in range(n + 1):
            fixed = start[j] if k == 0 else end[j] if k == n else None
            if fixed is not None:
                opti.subject_to(x[j, k] == fixed)
            else:
                if lower[j] is not None:
                    opti.subject_to(x[j, k] >= lower[j])
                if upper[j] is not None:
                    opti.subject_to(x[j, k] <= upper[j])
            opti.set_initial(x[j, k], guess[j](k / n))
    opti.subject_to(opti.bounded(u_lower, ca.vec(u), u_upper))
    opti.set_initial(u, guess[nx](0.5))
    opti.minimize(total + (mayer(x[:, n]) if mayer else 0))
    opti.solver("ipopt", {"print_time": False, "expand": True}, {"print_level": 0, "tol": 1e-10, "max_iter": 3000, "bound_relax_factor": 0.0})
    return opti.solve().value(opti.f)


def van_der_pol():
    rates = lambda x, u: ca.vertcat((1 - x[1] ** 2) * x[0] - x[1] + u[0], x[0])
    cost = lambda x, u: x[0] ** 2 + x[1] ** 2 + u[0] ** 2
    zero, one = (lambda s: 0.0), (lambda s: 1.0)
    return solve(rates, cost, 20, 10.0, 1, "constant", [0, 1], [None, None], [None, -0.25], [None, None], -1, 1, [zero, one, zero], 100)


def goddard():
    def rates(x, u):
        drag = 310 * x[1] ** 2 * ca.exp(-500 * (x[0] - 1))
        return ca.vertcat(x[1], (u[0] - drag) / x[2] - 1 / x[0] ** 2, -u[0] / 0.5)

    guess = [lambda s: 1 + 0.01 * s, lambda s: 0.1 * s * (1 - s), lambda s: 1 - 0.4 * s, lambda s: 1.75]
    return -solve(rates, lambda x, u: 0, 50, None, 1, "constant", [1, 0, 1], [None, None, 0.6], [1, 0, 0.6], [None, None, 1], 0, 3.5,
                  guess, 20, mayer=lambda x: -x[0], free=(0.2, 0.01, 1.0))


def cart_pole():
    m1, m2, l, g = 1.0, 0.3, 0.5, 9.81

    def rates(x, u):
        c, s, w, f = ca.cos(x[1]), ca.sin(x[1]), x[3], u[0]
        below = m1 + m2 * (1 - c**2)
        return ca.vertcat(x[2], w, (l * m2 * s * w**2 + f + m2 * g * c * s) / below,
                          -(l * m2 * c * s * w**2 + f * c + (m1 + m2) * g * s) / (l * below))

    guess = [lambda s: s, lambda s: ca.pi * s, lambda s: 0.0, lambda s: 0.0, lambda s: 0.0]
    return solve(rates, lambda x, u: u[0] ** 2, 40, 2.0, 1, "linear", [0, 0, 0, 0], [1, ca.pi, 0, 0], [-2, None, None, None], [2, None, None, None],
                 -20, 20, guess, 40)


if __name__ == "__main__":
    rows = [("van-der-pol", van_der_pol()), ("goddard", goddard()), ("cart-pole", cart_pole())]
    out = pathlib.Path(__file__).with_name("optimal.csv")
    text = "# Optima of small problems on the grids of Gelenk's problem files, by CasADi and IPOPT (optimal.py), without Gelenk.\n"
    text += f"# CasADi {ca.__version__}; Runge-Kutta with 20 to 100 steps an interval; IPOPT's tolerance 1e-10.\n"
    text += "# Tolerance 1e-6: both are solved far closer.\nproblem,objective\n"
    out.write_text(text + "".join(f"{name},{value:.10f}\n" for name, value in rows))
    print(out.read_text())
