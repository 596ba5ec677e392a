"""Models and runs."""

import pickle
import subprocess
import sys
import time

import gelenk as gk
import numpy as np
import pandas as pd
import pytest
from conftest import ARM


def test_a_model_tells_what_it_is_made_of(arm):
    assert (arm.name, arm.bodies, arm.joints, arm.points) == ("arm", ["arm"], ["pivot"], [])
    assert arm.coordinates == ["joint.pivot.angle"]
    assert arm.inputs == {"torque": 0.0}
    assert arm.parameters == {"l": 0.8, "phi0": 0.3}
    assert arm.quantities["joint.pivot.rate"] == "rad/s"
    assert arm.check()["degrees_of_freedom"] == 1


def test_with_makes_another_model(arm):
    longer = arm.with_(l=2, phi0="pi/4")
    assert longer.parameters == {"l": 2.0, "phi0": pytest.approx(np.pi / 4)}
    assert arm.parameters["l"] == 0.8
    assert longer.with_(l=3).parameters["phi0"] == pytest.approx(np.pi / 4), "values given before stay"


def test_a_file_with_parts_is_loaded_and_pickled(tmp_path, arm):
    file = tmp_path / "arm.toml"
    file.write_text(ARM)
    model = gk.load(file, l=0.5)
    assert model.parameters["l"] == 0.5
    again = pickle.loads(pickle.dumps(model))
    assert again.parameters == model.parameters
    assert again.text == model.text
    a, b = gk.run(model, duration=0.2), gk.run(again, duration=0.2)
    assert (a.to_numpy() == b.to_numpy()).all()


def test_urdf_is_loaded(tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text(
        """<robot name="r"><link name="base"/><link name="bar"><inertial><mass value="1"/><origin xyz="0 0 -0.5"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/></joint></robot>"""
    )
    model = gk.load(file)
    assert "j" in model.joints
    assert len(gk.run(model, duration=0.1)) > 1


def test_a_small_swing_has_the_period_of_theory(arm):
    run = gk.run(arm.with_(phi0=0.01), duration=3, step=0.001)
    angle = run["joint.pivot.angle"]
    down = np.flatnonzero((angle[:-1] > 0) != (angle[1:] > 0))
    times = run.time[down] - angle[down] * np.diff(run.time)[down] / (angle[down + 1] - angle[down])
    period = 2 * np.diff(times).mean()
    # A thin rod about its end, with the inertia of its thickness: J = m (l²/3 + r²/4).
    theory = 2 * np.pi * np.sqrt((0.8**2 / 3 + 0.02**2 / 4) / (9.81 * 0.4)) * (1 + 0.01**2 / 16)
    assert period == pytest.approx(theory, rel=1e-5)


@pytest.mark.parametrize("engine", ["impulse", "dae", "lagrange"])
def test_engines_agree(pendulum, engine):
    run = gk.run(pendulum, duration=0.5, engine=engine, step=0.0005, sample=0.1)
    best = gk.run(pendulum, duration=0.5, engine="dae", rtol=1e-13, step=0.1)
    assert run.engine == engine
    assert run["joint.elbow.angle"][-1] == pytest.approx(best["joint.elbow.angle"][-1], abs=1e-5)


def test_arrays_have_the_names_of_the_contract(pendulum):
    run = gk.run(pendulum, duration=0.5, sample=0.01)
    n = len(run)
    assert run.time.shape == (n,) and run.time[0] == 0 and run.time[-1] == 0.5
    body = run.body("lower")
    assert body.position.shape == body.velocity.shape == body.angular_velocity.shape == (n, 3)
    assert body.rotation.shape == (n, 4)
    assert np.allclose(np.linalg.norm(body.rotation, axis=1), 1)
    assert (run["body.lower.position.x"] == body.position[:, 0]).all()
    rate = run["joint.elbow.rate"]
    assert (rate == run["joint.elbow.velocity"]).all(), "expressions of model files have this name"
    assert np.gradient(run["joint.elbow.angle"], run.time)[5:-5] == pytest.approx(rate[5:-5], abs=0.05)
    energy = sum(run[f"energy.{name}"] for name in ("kinetic", "potential"))
    assert (energy == run["energy.total"]).all()
    assert run["gap.elbow"].max() <= 1e-9
    assert run["joint.shoulder.force"].shape == (n, 3)
    assert run.keys()[0] == "time" and "gap.elbow" in run and "gap.wrist" not in run


def test_joint_forces_balance_momentum(pendulum):
    sim = gk.Simulation(pendulum, step=0.005)
    h, index = 0.005, 1 + pendulum.bodies.index("lower")
    before = sim.state().velocities[index]
    for _ in range(20):
        sim.step()
        after = sim.state().velocities[index]
        # m Δv / h = F + m g: the force of the elbow is the mean over the step.
        expected = pendulum.parameters["m2"] * ((after - before) / h - np.array(pendulum.gravity))
        assert sim["joint.elbow.force"] == pytest.approx(expected, abs=1e-6)
        before = after


def test_pandas(pendulum):
    run = gk.run(pendulum, duration=0.1)
    table = run.to_pandas()
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == run.keys()
    assert (table["joint.elbow.angle"].to_numpy() == run["joint.elbow.angle"]).all()


def test_files(pendulum, tmp_path):
    run = gk.run(pendulum, duration=0.1)
    run.save(tmp_path / "x.mcap")
    again = gk.open(tmp_path / "x.mcap")
    assert (again.to_numpy() == run.to_numpy()).all()
    assert again.verdict == run.verdict == "good"
    assert again.model.parameters == pendulum.parameters
    run.save(tmp_path / "x.parquet")
    table = pd.read_parquet(tmp_path / "x.parquet")
    assert (table["body.lower.position.x [m]"].to_numpy() == run["body.lower.position.x"]).all()
    run.save(tmp_path / "x.csv")
    assert len(pd.read_csv(tmp_path / "x.csv")) == len(run)
    (tmp_path / "note.mcap").write_text("mine")
    with pytest.raises(FileExistsError):
        run.save(tmp_path / "note.mcap")
    run.save(tmp_path / "note.mcap", overwrite=True)


def test_inputs_by_formula_are_exact_in_every_engine(arm):
    runs = [
        gk.run(arm, engine=engine, inputs={"torque": "2*sin(3*t)"}, step=0.0005, sample=0.1)
        for engine in ("impulse", "dae")
    ]
    ends = [run["joint.pivot.angle"][-1] for run in runs]
    assert ends[0] == pytest.approx(ends[1], abs=1e-5)
    free = gk.run(arm, engine="dae", sample=0.1)["joint.pivot.angle"][-1]
    assert abs(ends[1] - free) > 0.1, "the torque moves it"
    back = gk.run(arm, engine="dae", inputs={"torque": "-20*joint.pivot.angle - 4*joint.pivot.velocity"}, duration=4)
    assert abs(back["joint.pivot.angle"][-1]) < 0.01, "a formula of the state is a control law"


def test_inputs_by_arrays_are_held(arm):
    times = np.linspace(0, 1, 11)
    values = np.where(times < 0.45, 1.5, -0.5)
    run = gk.run(arm, inputs={"torque": (times, values)}, step=0.01)
    sim = gk.Simulation(arm, step=0.01)
    for k in range(100):
        sim.inputs["torque"] = values[np.searchsorted(times, k * 0.01 + 1e-9, side="right") - 1]
        sim.step()
    assert run["joint.pivot.angle"][-1] == sim["joint.pivot.angle"]


def test_a_constant_input_is_one_formula(arm):
    constant = gk.run(arm, inputs={"torque": 1.25})["joint.pivot.angle"]
    held = gk.run(arm, inputs={"torque": ([0.0], [1.25])})["joint.pivot.angle"]
    assert constant == pytest.approx(held, abs=1e-9)


def test_contact_forces_carry_the_weight():
    run = gk.run(gk.gallery("stack"), duration=1)
    up, down = run["contact.box0.floor.force.z"][-1], run["contact.box0.box1.force.z"][-1]
    assert down == pytest.approx(-0.9 * up, rel=1e-3), "ten equal boxes"
    assert run["contact.floor.box0.force"][-1] == pytest.approx([0, 0, -up], abs=1e-6)
    assert up == pytest.approx(1412.64, rel=1e-3)


def test_a_bad_result_is_not_called_good(pendulum):
    run = gk.run(pendulum, duration=4, step=0.1, order=2)
    assert run.verdict != "good" and not run.verdict
    assert run.verdict.findings[0]["quantity"] == "energy"


def test_a_run_that_fails_keeps_what_was_reached(arm):
    with pytest.raises(gk.RunError) as caught:
        gk.run(arm, inputs={"torque": "1/(0.5 - t)^3*0 + sqrt(0.5 - t)"}, duration=1)
    assert "t = 0.5" in str(caught.value) or "0.5" in str(caught.value)
    assert 0.3 < caught.value.run.time[-1] <= 0.51


def test_progress_is_called(pendulum):
    seen = []
    gk.run(pendulum, duration=200, step=0.001, sample=1, progress=seen.append)
    assert seen[-1] == 1.0 and len(seen) > 1 and seen == sorted(seen)


def test_an_exception_in_progress_ends_the_run(pendulum):
    def stop(part):
        raise KeyError("enough")

    begin = time.perf_counter()
    with pytest.raises(KeyError, match="enough"):
        gk.run(pendulum, duration=1e5, step=0.001, sample=10, progress=stop)
    assert time.perf_counter() - begin < 20


LONG = """
import signal, sys, threading, time, os
import gelenk as gk
# Programs in the background of a shell begin deaf to Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
model = gk.gallery("double-pendulum")
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.perf_counter()
try:
    {call}
except KeyboardInterrupt:
    sys.exit(7 if time.perf_counter() - begin < 20 else 8)
sys.exit(9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    "call",
    [
        "gk.run(model, duration=1e6, step=0.001, sample=100)",
        "gk.run(model, duration=1e6, engine='dae', sample=100)",
        "gk.Simulation(model, step=0.001).step(10**9)",
        "gk.rollout(model, 4, steps=10**6)",
        "gk.optimize('walk-upright', max_iterations=10**6)",
    ],
)
def test_ctrl_c_is_heard(call):
    done = subprocess.run([sys.executable, "-c", LONG.format(call=call)], timeout=120)
    assert done.returncode == 7
