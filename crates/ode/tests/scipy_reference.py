#!/usr/bin/env python3
"""Writes scipy_reference.csv: values of SciPy's DOP853 and Radau for tests/scipy.rs. Needs numpy and scipy.

    python3 scipy_reference.py > scipy_reference.csv
"""
import sys

import numpy as np
import scipy
from scipy.integrate import DOP853, Radau, solve_ivp


def pendulum(t, y):
    return np.array([y[1], -np.sin(y[0]) + 0.1 * np.cos(2 * t)])


def lorenz(t, y):
    return np.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def robertson(t, y):
    a, b, c = 0.04 * y[0], 3e7 * y[1] ** 2, 1e4 * y[1] * y[2]
    return np.array([-a + c, a - b - c, b])


def oregonator(t, y):
    return np.array([
        77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1])),
        (y[2] - (1 + y[0]) * y[1]) / 77.27,
        0.161 * (y[0] - y[2]),
    ])


PROBLEMS = {
    "pendulum": (pendulum, [1.0, 0.5]),
    "lorenz": (lorenz, [1.0, 2.0, 20.0]),
    "robertson": (robertson, [1.0, 0.0, 0.0]),
    "oregonator": (oregonator, [1.0, 2.0, 3.0]),
}


def row(kind, problem, t0, h, theta, y):
    print(",".join([kind, problem, repr(t0), repr(h), repr(theta)] + [repr(float(x)) for x in y]))


def one_step(problem, h):
    """One step of DOP853 of a given length, whatever its error, and its interpolant."""
    f, y0 = PROBLEMS[problem]
    solver = DOP853(f, 0.0, np.array(y0), 1e3, first_step=h, rtol=1e6, atol=1e6)
    solver.step()
    assert abs(solver.t - h) < 1e-15
    dense = solver.dense_output()
    row("dop853-step", problem, 0.0, h, 1.0, solver.y)
    for theta in (0.125, 0.5, 0.875):
        row("dop853-step", problem, 0.0, h, theta, dense(theta * h))


def one_radau_step(problem, h):
    """One step of Radau with Newton's iteration to the end, and the collocation polynomial."""
    f, y0 = PROBLEMS[problem]
    solver = Radau(f, 0.0, np.array(y0), 1e3, first_step=h, rtol=1e6, atol=1e6)
    solver.newton_tol = 1e-22
    solver.step()
    assert abs(solver.t - h) < 1e-15
    dense = solver.dense_output()
    row("radau-step", problem, 0.0, h, 1.0, solver.y)
    for theta in (0.25, 0.75):
        row("radau-step", problem, 0.0, h, theta, dense(theta * h))


def long_run(kind, method, problem, t_end, rtol, atol):
    f, y0 = PROBLEMS[problem]
    solution = solve_ivp(f, (0.0, t_end), y0, method=method, rtol=rtol, atol=atol)
    assert solution.success
    row(kind, problem, 0.0, t_end, 1.0, solution.y[:, -1])


print(f"# Source: scipy_reference.py, SciPy {scipy.__version__}, NumPy {np.__version__}.")
print("# dop853-step, radau-step: state at t0 + theta*h of one step of length h (theta < 1: dense output).")
print("# dop853-run, radau-run: state at t0 + h of an adaptive run.")
print("# Tolerances: tests/scipy.rs says which and why.")
print("kind,problem,t0,h,theta,y...")
for h in (0.1, 0.5):
    one_step("pendulum", h)
for h in (0.01, 0.1):
    one_step("lorenz", h)
one_radau_step("pendulum", 0.3)
long_run("dop853-run", "DOP853", "pendulum", 20.0, 1e-13, 1e-13)
long_run("dop853-run", "DOP853", "lorenz", 2.0, 1e-13, 1e-13)
long_run("radau-run", "Radau", "robertson", 1e4, 1e-11, 1e-15)
long_run("radau-run", "Radau", "oregonator", 100.0, 1e-11, 1e-11)
long_run("radau-run", "Radau", "pendulum", 5.0, 1e-12, 1e-12)
sys.stdout.flush()
