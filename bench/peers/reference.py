"""The eight-loop by its own equations: rod angles, two closing conditions with multipliers, SciPy's DOP853 at 1e-13.

Shares nothing with Gelenk. Prints the centres of the rods at t = 1 s and by how far the chain has come open.
"""
import json

import numpy as np
from mechanisms import angles, eight_loop, lengths
from scipy.integrate import solve_ivp

points, _ = eight_loop()
n = len(points) - 1
length = np.array(lengths(points))
mass = length.copy()
g = 9.81

# d s_i / d a_k = weight[i, k] * (-sin a_k, -cos a_k) for (x, z): whole rods before i, half of i itself.
weight = np.tril(np.ones((n, n)), -1) * length + np.diag(length / 2)
coupling = weight.T @ (mass[:, None] * weight)


def right_side(_, y):
    a, w = y[:n], y[n:]
    sin, cos = np.sin(a), np.cos(a)
    # Σ m ṡ·ṡ = Σ coupling cos(a_k - a_l) w_k w_l
    difference = a[:, None] - a[None, :]
    matrix = coupling * np.cos(difference) + np.diag(mass * length**2 / 12)
    force = -(coupling * np.sin(difference)) @ w**2 + g * (mass @ weight) * cos
    # Closing: Σ l (cos a, -sin a) = constant.
    jac = np.array([-length * sin, -length * cos])
    gamma = np.array([np.sum(length * cos * w**2), -np.sum(length * sin * w**2)])
    system = np.block([[matrix, jac.T], [jac, np.zeros((2, 2))]])
    return np.concatenate([w, np.linalg.solve(system, np.concatenate([force, gamma]))[:n]])


start = np.concatenate([angles(points), np.zeros(n)])
solution = solve_ivp(right_side, (0, 1), start, method="DOP853", rtol=1e-13, atol=1e-14)
a = solution.y[:n, -1]
direction = np.array([np.cos(a), -np.sin(a)]) * length
ends = np.cumsum(direction, axis=1)
centres = ends - direction / 2
open_by = np.hypot(ends[0, -1] - points[-1][0], ends[1, -1] - points[-1][1])
print(json.dumps({"at_one": [[x, 0.0, z] for x, z in centres.T], "open_by": open_by, "steps": len(solution.t)}))
