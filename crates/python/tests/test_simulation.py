"""Simulations, states and rollouts."""

import copy
import pickle
import threading
import time

import gelenk as gk
import numpy as np
import pytest


def test_steps_are_those_of_a_run(pendulum):
    run = gk.run(pendulum, duration=0.5, step=0.005)
    sim = gk.Simulation(pendulum, step=0.005)
    for k in range(1, len(run)):
        sim.step()
        assert sim.time == run.time[k]
        assert sim["joint.elbow.angle"] == run["joint.elbow.angle"][k]
    assert sim.steps == 100
    assert sim.energy["total"] == run["energy.total"][-1]
    assert (sim["body.lower.position"] == run.body("lower").position[-1]).all()


def test_q_and_qd_follow_the_names_of_coordinates(pendulum):
    sim = gk.Simulation(pendulum, step=0.005)
    sim.step(40)
    assert sim.q.shape == sim.qd.shape == (2,)
    assert list(sim.q) == [sim[name] for name in pendulum.coordinates]
    assert list(sim.qd) == [sim["joint.shoulder.rate"], sim["joint.elbow.rate"]]
    assert (sim.read(["time", "joint.elbow.angle", "body.lower.position"])[1:2] == sim.q[1:]).all()


def test_a_controller_in_the_loop_holds_the_arm_upright(arm):
    sim = gk.Simulation(arm.with_(phi0="pi - 0.2"), step=0.002)
    for _ in range(2000):
        sim.inputs["torque"] = -40 * (sim.q[0] - np.pi) - 6 * sim.qd[0]
        sim.step()
    assert abs(sim.q[0] - np.pi) < 1e-3
    assert abs(sim.qd[0]) < 1e-3


def test_inputs_are_a_mapping(arm):
    sim = gk.Simulation(arm)
    assert dict(sim.inputs) == {"torque": 0.0}
    sim.inputs["torque"] = 3
    assert sim.inputs["torque"] == 3.0 and "torque" in sim.inputs and len(sim.inputs) == 1
    sim.inputs = {"torque": -1.0}
    assert list(sim.inputs.items()) == [("torque", -1.0)]
    sim.inputs.set_all(np.array([0.25]))
    assert sim.inputs["torque"] == 0.25


SCENES = ["double-pendulum", "four-bar", "hexapod", "stack", "car", "bricard", "newtons-cradle", "three-link-arm"]


@pytest.mark.parametrize("name", SCENES)
def test_states_resume_bit_by_bit(name):
    model = gk.gallery(name)
    sim = gk.Simulation(model)
    if model.inputs:
        sim.inputs = {name: 0.5 for name in model.inputs}
    sim.step(60)
    state = sim.state()
    sent = pickle.loads(pickle.dumps(state))
    assert sent == state
    other, copied = gk.Simulation(model), copy.deepcopy(sim)
    other.restore(sent)
    assert other.time == sim.time and dict(other.inputs) == dict(sim.inputs)
    assert other.energy == sim.energy and len(other.contacts) == len(sim.contacts)
    sim.step(60)
    other.step(60)
    copied.step(60)
    assert other.state() == sim.state()
    assert copied.state() == sim.state()
    assert pickle.dumps(other.state()) == pickle.dumps(sim.state())
    sim.restore(state)
    sim.step(60)
    assert sim.state() == other.state(), "back in time"


def test_reset_goes_to_the_start(pendulum):
    sim = gk.Simulation(pendulum)
    start = sim.state()
    sim.step(10)
    assert sim.state() != start
    sim.reset()
    assert sim.state() == start


def test_contacts_tell_bodies_and_forces():
    sim = gk.Simulation(gk.gallery("stack"))
    sim.step(100)
    contact = sim.contacts[0]
    assert isinstance(contact, gk.Contact)
    assert len(contact.bodies) == 2 and contact.force.shape == contact.normal.shape == (3,)
    assert np.linalg.norm(contact.normal) == pytest.approx(1)
    assert contact.force @ contact.normal > 0


def test_rollout_has_the_bits_of_single_worlds_for_any_number_of_threads():
    model = gk.gallery("three-link-arm")
    rng = np.random.default_rng(1)
    inputs = rng.uniform(-2, 2, (6, 80, 3))
    states = []
    for k in range(6):
        sim = gk.Simulation(model)
        sim.step(3 * k + 1)
        states.append(sim.state())
    found = [gk.rollout(model, states, inputs, threads=n) for n in (1, 2, 5)]
    for many in found[1:]:
        assert (many.q == found[0].q).all() and (many.qd == found[0].qd).all()
        assert many.states == found[0].states
    many = found[0]
    assert many.q.shape == many.qd.shape == (6, 80, 3) and many.time.shape == (6, 80)
    assert many.failures == []
    sim = gk.Simulation(model)
    for world in (0, 5):
        sim.restore(states[world])
        for k in range(80):
            sim.inputs.set_all(inputs[world, k])
            sim.step()
            assert (sim.q == many.q[world, k]).all() and (sim.qd == many.qd[world, k]).all()
            assert sim.time == many.time[world, k]
        assert sim.state() == many.states[world]


def test_rollout_takes_inputs_by_name_and_gives_quantities(arm):
    torque = np.linspace(-1, 1, 5)[:, None]
    many = gk.rollout(
        arm, 5, {"torque": torque}, 50, quantities=["body.arm.position", "energy.kinetic", "joint.pivot.angle"]
    )
    assert many["body.arm.position"].shape == (5, 50, 3)
    assert (many["joint.pivot.angle"] == many.q[..., 0]).all()
    assert (np.diff(many.q[:, -1, 0]) > 0).all(), "more torque, larger angle"
    again = gk.rollout(arm, many.states, {"torque": np.zeros(10)})
    assert again.q.shape == (5, 10, 1) and again.time[0, 0] == pytest.approx(51 * 0.005)


def test_a_world_that_fails_touches_no_other():
    text = """
        [model]
        name = "root"
        [inputs]
        push = 1
        [[body]]
        name = "bar"
        mass = 1
        ends = [[0, 0, 0], [1, 0, 0]]
        shape = { cylinder = { radius = 0.02 } }
        [[joint]]
        name = "elbow"
        type = "hinge"
        between = ["world", "bar"]
        point = [0, 0, 0]
        axis = [0, 1, 0]
        motor = { torque = "sqrt(input.push)" }
    """
    model = gk.loads(text)
    push = np.ones((3, 30))
    push[1, 10:] = -1
    many = gk.rollout(model, 3, {"push": push})
    assert [(world, step) for world, step, _ in many.failures] == [(1, 10)]
    assert "elbow" in many.failures[0][2]
    assert np.isfinite(many.q[[0, 2]]).all() and np.isfinite(many.q[1, :10]).all()
    assert np.isnan(many.q[1, 10:]).all()
    assert (many.q[0] == many.q[2]).all()


def test_python_goes_on_while_worlds_are_stepped(pendulum):
    count = 0
    done = threading.Event()

    def work():
        gk.rollout(pendulum, 8, steps=4000, threads=1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        count += 1
        time.sleep(0.001)
    thread.join()
    assert count > 5


def test_no_worlds_and_no_steps(pendulum):
    assert gk.rollout(pendulum, 0, steps=5).q.shape == (0, 5, 2)
    none = gk.rollout(pendulum, 2, steps=0)
    assert none.q.shape == (2, 0, 2) and len(none.states) == 2
