"""Environments."""

import gelenk as gk
import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
from gelenk.gym import CART_POLE, Env, cart_pole  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

# The checker warns of spaces without bounds, which quantities have, and of actions in newtons.
@pytest.mark.filterwarnings("ignore:.*(infinity|recommend).*")
def test_the_checker_of_gymnasium_passes():
    check_env(cart_pole(), skip_render_check=True)
    arm = gk.gallery("three-link-arm")
    env = Env(arm, observation=["joint.elbow.angle", "body.forearm.velocity"], reward="-joint.elbow.angle^2", frames=3)
    check_env(env, skip_render_check=True)


def feedback():
    """Gains that hold the pole, by a Riccati equation on differences of the model itself."""
    h, n = 0.02, 4
    model = gk.loads(CART_POLE, phi0=0)

    def after(x0, phi0, push):
        sim = gk.Simulation(model.with_(x0=x0, phi0=phi0), step=0.001)
        sim.inputs["push"] = push
        sim.step(20)
        return sim.read(["joint.rail.position", "joint.rail.rate", "joint.hinge.angle", "joint.hinge.rate"])

    d = 1e-4
    A, B = np.eye(n), (after(0, 0, d) - after(0, 0, -d)) / (2 * d)
    for column, which in ((0, "x0"), (2, "phi0")):
        at = {"x0": 0.0, "phi0": 0.0, "push": 0.0}
        A[:, column] = (after(**{**at, which: d}) - after(**{**at, which: -d})) / (2 * d)
    A[0, 1], A[2, 3] = h, h
    P = np.eye(n)
    for _ in range(5000):
        K = (B @ P @ A) / (0.01 + B @ P @ B)
        P = np.eye(n) + A.T @ P @ A - np.outer(A.T @ P @ B, K)
    return K


def test_feedback_balances_the_pole_and_chance_does_not():
    gains = feedback()

    def length(policy, seed):
        env = cart_pole()
        observation, _ = env.reset(seed=seed)
        for k in range(1, 1000):
            observation, reward, terminated, truncated, _ = env.step(policy(env, observation))
            assert reward == 1.0
            if terminated or truncated:
                return k, truncated
        raise AssertionError("an episode ends after 500 actions")

    for seed in range(3):
        k, truncated = length(lambda env, x: [-gains @ x], seed)
        assert (k, truncated) == (500, True)
    chance = [length(lambda env, x: env.action_space.sample(), seed)[0] for seed in range(5)]
    assert np.mean(chance) < 150


def test_the_same_seed_gives_the_same_episode():
    def episode(seed):
        env = cart_pole()
        rows = [env.reset(seed=seed)[0]]
        rows += [env.step([(-1) ** k * 3.0])[0] for k in range(20)]
        return np.array(rows)

    assert (episode(4) == episode(4)).all()
    assert (episode(4) != episode(5)).any()


def test_a_vector_of_environments_is_many_single_ones():
    many = cart_pole(3)
    observations, _ = many.reset(seed=11)
    assert observations.shape == (3, 4) and many.observation_space.contains(observations)
    assert len(np.unique(observations[:, 2])) == 3, "each begins differently"
    singles = []
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(11)))
    for i in range(3):
        drawn = {name: float(random.uniform(-0.05, 0.05)) for name in ("x0", "phi0")}
        sim = gk.Simulation(gk.loads(CART_POLE, **drawn))
        singles.append(sim)
        assert sim["joint.hinge.angle"] == observations[i, 2]
    for k in range(30):
        actions = np.array([[1.0], [-2.0], [50.0 if k % 2 else -50.0]])
        observations, rewards, terminated, truncated, _ = many.step(actions)
        for sim, action, row in zip(singles, actions, observations):
            sim.inputs["push"] = np.clip(action[0], -10, 10)
            sim.step(2)
            assert sim["joint.hinge.angle"] == row[2] and sim["joint.rail.position"] == row[0]
        if terminated.any():
            break
    assert (rewards == 1).all() and not truncated.any()


def test_worlds_that_have_ended_begin_anew():
    many = cart_pole(2, time_limit=300)
    many.reset(seed=2)
    ends = 0
    for _ in range(200):
        before = ends
        observations, rewards, terminated, truncated, _ = many.step(np.array([[10.0], [0.0]]))
        ends += int(terminated[0])
        if ends > before:
            observations, rewards, terminated, _, _ = many.step(np.array([[10.0], [0.0]]))
            assert abs(observations[0, 0]) <= 0.05 and rewards[0] == 0.0 and not terminated[0]
            break
    assert ends == 1


def test_rewards_are_formulas_or_functions():
    arm = gk.gallery("three-link-arm")
    how = dict(observation=["joint.elbow.angle", "time"], frames=5, action_limits=(-5, 5))
    text = "1 - joint.elbow.angle^2 - 0.1*input.tau3^2 + t"

    def same(observation, action):
        return 1 - observation[0] ** 2 - 0.1 * action[2] ** 2 + observation[1]

    envs = [Env(arm, reward=reward, **how) for reward in (text, same)]
    for env in envs:
        env.reset(seed=0)
    for _ in range(5):
        a, b = (env.step([1.0, 0.5, -2.0])[1] for env in envs)
        assert a == pytest.approx(b, rel=1e-14)


def test_a_simulation_that_fails_ends_the_episode():
    model = gk.loads(
        """
        [model]
        name = "root"
        [inputs]
        push = 0
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
    )
    env = Env(model, observation=["joint.elbow.angle"], reward="1")
    env.reset(seed=0)
    assert env.step([0.5])[2:] == (False, False, {})
    _, reward, terminated, _, info = env.step([-0.5])
    assert (reward, terminated) == (0.0, True) and "elbow" in info["failure"]
    env.reset()
    assert env.step([0.5])[2] is False


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"observation": []}, gk.InputError),
        ({"observation": "time"}, TypeError),
        ({"observation": ["nothing"]}, gk.UnknownNameError),
        ({"action": ["shove"]}, gk.UnknownNameError),
        ({"action": []}, gk.InputError),
        ({"reward": "1 +"}, gk.InputError),
        ({"reward": "joint.hinge.angel"}, gk.UnknownNameError),
        ({"reward": 3}, TypeError),
        ({"alive": {"nothing": (0, 1)}}, gk.UnknownNameError),
        ({"alive": {"joint.hinge.angle": (1, 0)}}, gk.InputError),
        ({"alive": {"joint.hinge.angle": 3}}, gk.InputError),
        ({"alive": {"body.pole.position": (-1, 1)}}, gk.InputError),
        ({"start": {"nothing": (0, 1)}}, gk.UnknownNameError),
        ({"start": {"x0": (0, float("nan"))}}, gk.InputError),
        ({"frames": 0}, gk.InputError),
        ({"frames": 1.5}, TypeError),
        ({"step": -1.0}, gk.InputError),
        ({"time_limit": 0}, gk.InputError),
        ({"time_limit": "10"}, TypeError),
        ({"action_limits": (1, -1)}, gk.InputError),
        ({"action_limits": {"shove": (0, 1)}}, gk.InputError),
        ({"num_envs": 0}, gk.InputError),
        ({"num_envs": 1.5}, TypeError),
    ],
)
def test_wrong_environments_are_refused(change, error):
    with pytest.raises(error) as caught:
        cart_pole(**change)
    assert str(caught.value)


@pytest.mark.parametrize("action", [[float("nan")], [1.0, 2.0], 1.0, ["a"]])
def test_wrong_actions_are_refused(action):
    env = cart_pole()
    env.reset(seed=0)
    with pytest.raises((ValueError, TypeError)):
        env.step(action)
