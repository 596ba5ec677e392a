"""Derived equations, optima, sensitivities."""

import gelenk as gk
import numpy as np
import pytest


def test_the_function_is_the_motion(pendulum):
    motion = gk.derive(pendulum).function()
    run = gk.run(pendulum, engine="dae", duration=0.4, step=0.1)
    h, x = 1e-3, np.zeros(4)

    def rate(x):
        return np.concatenate([x[2:], motion(x[:2], x[2:])[0]])

    for _ in range(400):
        a = rate(x)
        b = rate(x + h / 2 * a)
        c = rate(x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + rate(x + h * c))
    assert x[0] == pytest.approx(run["joint.shoulder.angle"][-1], abs=1e-8)
    assert x[1] == pytest.approx(run["joint.elbow.angle"][-1], abs=1e-8)
    accelerations, mass, bias = motion([0.1, 0.2], [1.0, -0.5])
    assert np.allclose(mass, mass.T) and (np.linalg.eigvalsh(mass) > 0).all()
    assert np.allclose(mass @ accelerations + bias, 0, atol=1e-9)
    longer = motion([0.1, 0.2], [1.0, -0.5], l1=2.0)[1]
    assert longer[0, 0] > mass[0, 0]


def test_sympy_has_the_same_numbers(pendulum):
    sympy = pytest.importorskip("sympy")
    derivation = gk.derive(pendulum)
    found = derivation.sympy()
    point = {"q1": 0.3, "q2": -0.7, "q1_dot": 1.1, "q2_dot": -0.4, "t": 0.0, **derivation.parameters}
    values = {found["symbols"][name]: x for name, x in point.items()}
    mass = np.array(found["M"].subs(values).evalf(17), dtype=float)
    forces = np.array(found["h"].subs(values).evalf(17), dtype=float)[:, 0]
    accelerations, M, bias = derivation.function()([0.3, -0.7], [1.1, -0.4])
    assert np.allclose(mass, M, rtol=1e-12)
    assert np.allclose(forces, -bias, rtol=1e-12)
    assert np.allclose(np.linalg.solve(mass, forces), accelerations, rtol=1e-11)
    assert isinstance(found["M"], sympy.MatrixBase)


def test_texts(pendulum):
    derivation = gk.derive(pendulum, linearize="start")
    assert derivation.latex().startswith("\\documentclass")
    assert "Equations of motion" in derivation.text()
    assert "$$" in derivation._repr_markdown_()
    assert list(derivation.coordinates.values()) == ["joint `shoulder`, angle", "joint `elbow`, angle"]


def test_optimize_finds_the_known_optimum():
    seen = []
    best = gk.optimize("rod-turn", progress=seen.append)
    assert best.status == "optimal"
    assert best.time[0] == 0 and (np.diff(best.time) >= 0).all()
    name = next(iter(best.data["nodes"][0]["states"]))
    assert best.state(name).shape == best.time.shape
    assert all("objective" in live for live in seen)


def test_sensitivity_is_the_difference_of_runs(arm):
    found = gk.sensitivity(arm, 0.5, parameters=["l"])
    i = found.quantities.index("joint.pivot.angle")
    h = 1e-5
    ends = [
        gk.run(arm.with_(l=0.8 + sign * h), engine="dae", duration=0.5, step=0.5)["joint.pivot.angle"][-1]
        for sign in (1, -1)
    ]
    assert found.by_parameters[i, 0] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-4)
    assert found.by_inputs.shape == (2, 1)
    assert np.linalg.det(found.by_start) == pytest.approx(1, rel=1e-6), "without damping volume stays"
