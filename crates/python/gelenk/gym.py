"""Gymnasium environments over any model with inputs; needs gymnasium.

>>> from gelenk.gym import cart_pole
>>> env = cart_pole()
>>> observation, info = env.reset(seed=1)
>>> observation.shape
(4,)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
>>> float(reward), terminated
(1.0, False)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from . import _gelenk
from .errors import InputError

__all__ = ["CART_POLE", "Env", "VectorEnv", "cart_pole"]

Reward = str | Callable[[np.ndarray, np.ndarray], float]


class _Task:
    """What single and vector environments share: worlds, spaces, reward, end."""

    def __init__(
        self,
        n: int,
        model: _gelenk.Model,
        observation: Sequence[str],
        action: Sequence[str] | None,
        reward: Reward,
        alive: Mapping[str, tuple[float, float]],
        start: Mapping[str, tuple[float, float]],
        step: float | None,
        frames: int,
        action_limits: tuple[float, float] | Mapping[str, tuple[float, float]],
    ):
        if not isinstance(model, _gelenk.Model):
            raise TypeError(f"a gelenk.Model is wanted, not {type(model).__name__}")
        if isinstance(observation, str) or isinstance(action, str):
            raise TypeError("observation and action are lists of names, not str")
        if not observation:
            raise InputError("an environment observes one quantity at least")
        if isinstance(frames, bool) or not isinstance(frames, int):
            raise TypeError(f"frames: an int is wanted, not {type(frames).__name__}")
        if frames < 1:
            raise InputError(f"frames = {frames}: there must be one step at least")
        if not (isinstance(reward, str) or callable(reward)):
            raise TypeError(f"reward: a formula or a function is wanted, not {type(reward).__name__}")
        self.model, self.frames, self.reward = model, frames, reward
        self.names = list(model.inputs)
        self.action = self.names if action is None else list(action)
        if not self.action:
            raise InputError("the model has no inputs: nothing could be done in it")
        probe = _gelenk.Simulation(model)
        for name in self.action:
            probe.inputs[name]  # an unknown name fails here
        for name, limits in start.items():
            self._limits(f"start of `{name}`", limits)
            model.with_(**{name: float(limits[0])})
        self.alive = {name: self._limits(f"alive `{name}`", limits) for name, limits in alive.items()}
        self.start = dict(start)
        formulas = [reward] if isinstance(reward, str) else []
        quantities = [*observation, *self.alive]
        self.worlds = _gelenk.Worlds(model, n, step=step, quantities=quantities, formulas=formulas)
        for name in self.alive:
            if np.ndim(probe[name]):
                raise InputError(f"alive: `{name}` is a vector; name one of its components")
        self.width = self.worlds.width - len(formulas) - len(self.alive)
        box = gymnasium.spaces.Box
        self.observation_space = box(-np.inf, np.inf, (self.width,), np.float64)
        if isinstance(action_limits, Mapping):
            for name in action_limits:
                if name not in self.action:
                    raise InputError(f"action_limits: `{name}` is not an action; there are {', '.join(self.action)}")
            limits = [self._limits(name, action_limits.get(name, (-1, 1))) for name in self.action]
        else:
            limits = [self._limits("action_limits", action_limits)] * len(self.action)
        low, high = np.array(limits, dtype=np.float64).T
        self.action_space = box(low, high, dtype=np.float64)
        self.at = [self.names.index(name) for name in self.action]
        self.defaults = np.array(list(model.inputs.values()))

    @staticmethod
    def _limits(what: str, limits: Any) -> tuple[float, float]:
        try:
            low, high = (float(x) for x in limits)
        except (TypeError, ValueError):
            raise InputError(f"{what}: a pair of numbers is wanted, not {limits!r}") from None
        if not low < high or not np.isfinite([low, high]).all():
            raise InputError(f"{what}: {limits!r} is no range of finite numbers")
        return low, high

    def reset(self, i: int, random: np.random.Generator) -> None:
        """Begins world i anew, with parameters drawn from their ranges."""
        drawn = {name: float(random.uniform(*limits)) for name, limits in self.start.items()}
        self.worlds.reset(i, self.model.with_(**drawn) if drawn else self.model)

    def inputs(self, actions: np.ndarray) -> np.ndarray:
        """Inputs of all worlds for their actions, which are kept within their limits."""
        actions = np.asarray(actions, dtype=np.float64)
        if actions.shape != (len(self.worlds), len(self.action)):
            raise InputError(f"actions of shape {(len(self.worlds), len(self.action))} are wanted, not {actions.shape}")
        if not np.isfinite(actions).all():
            raise InputError("an action is not a finite number")
        inputs = np.repeat(self.defaults[None], len(actions), axis=0)
        inputs[:, self.at] = np.clip(actions, self.action_space.low, self.action_space.high)
        return inputs

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[int, str]]:
        """Observations, rewards, ends and failures by world."""
        failures = dict(self.worlds.step(self.inputs(actions), self.frames))
        seen = self.worlds.look()
        observations = seen[:, : self.width]
        ended = np.zeros(len(seen), dtype=bool)
        for k, (low, high) in enumerate(self.alive.values()):
            value = seen[:, self.width + k]
            ended |= ~((low <= value) & (value <= high))
        if isinstance(self.reward, str):
            rewards = seen[:, -1].copy()
        else:
            rewards = np.array([float(self.reward(o, a)) for o, a in zip(observations, actions)])
        for i in failures:
            ended[i], rewards[i] = True, 0.0
        return observations, rewards, ended, failures


class Env(gymnasium.Env):
    """A model with inputs as an environment.

    `observation` names quantities (vectors count with all their components), `action` inputs (all, if left out).
    `reward` is a formula over quantities, inputs (`input.NAME`) and time `t`, or a function of observation and action.
    An episode ends where a quantity of `alive` leaves its range, or the simulation fails (then `info["failure"]` says
    why, and the reward is 0). `start` gives ranges from which parameters of the model are drawn at every reset.
    An action lasts `frames` steps of `step` seconds. After `time_limit` actions the episode is truncated.

    >>> import gelenk as gk
    >>> env = Env(gk.gallery("three-link-arm"), observation=["joint.elbow.angle", "joint.elbow.rate"],
    ...           reward="-joint.elbow.angle^2", action_limits=(-5, 5), frames=5)
    >>> env.reset(seed=0)[0]
    array([0., 0.])
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        model: _gelenk.Model,
        *,
        observation: Sequence[str],
        reward: Reward,
        action: Sequence[str] | None = None,
        alive: Mapping[str, tuple[float, float]] = {},
        start: Mapping[str, tuple[float, float]] = {},
        step: float | None = None,
        frames: int = 1,
        time_limit: int | None = None,
        action_limits: tuple[float, float] | Mapping[str, tuple[float, float]] = (-1.0, 1.0),
        render_mode: None = None,
    ):
        self._task = _Task(1, model, observation, action, reward, alive, start, step, frames, action_limits)
        self.observation_space = self._task.observation_space
        self.action_space = self._task.action_space
        self.render_mode = render_mode
        self._limit = _time_limit(time_limit)
        self._actions = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Begins an episode; gives the observation and an empty dict."""
        super().reset(seed=seed)
        self._task.reset(0, self.np_random)
        self._actions = 0
        return self._task.worlds.look()[0, : self._task.width], {}

    def step(self, action: np.ndarray):
        """Holds an action for its steps."""
        action = np.asarray(action, dtype=np.float64)
        observations, rewards, ended, failures = self._task.step(action[None])
        self._actions += 1
        truncated = self._limit is not None and self._actions >= self._limit
        info = {"failure": failures[0]} if failures else {}
        return observations[0], float(rewards[0]), bool(ended[0]), truncated, info


class VectorEnv(gymnasium.vector.VectorEnv):
    """`num_envs` environments of one model, stepped on all cores; arguments as those of `Env`.

    A world that has ended begins anew with the next step (`AutoresetMode.NEXT_STEP`).
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int,
        model: _gelenk.Model,
        *,
        observation: Sequence[str],
        reward: Reward,
        action: Sequence[str] | None = None,
        alive: Mapping[str, tuple[float, float]] = {},
        start: Mapping[str, tuple[float, float]] = {},
        step: float | None = None,
        frames: int = 1,
        time_limit: int | None = None,
        action_limits: tuple[float, float] | Mapping[str, tuple[float, float]] = (-1.0, 1.0),
    ):
        if isinstance(num_envs, bool) or not isinstance(num_envs, int):
            raise TypeError(f"num_envs: an int is wanted, not {type(num_envs).__name__}")
        if num_envs < 1:
            raise InputError(f"num_envs = {num_envs}: there must be one at least")
        self.num_envs = num_envs
        self._task = _Task(num_envs, model, observation, action, reward, alive, start, step, frames, action_limits)
        self.single_observation_space = self._task.observation_space
        self.single_action_space = self._task.action_space
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self._limit = _time_limit(time_limit)
        self._actions = np.zeros(num_envs, dtype=int)
        self._ended = np.zeros(num_envs, dtype=bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Begins all episodes anew."""
        super().reset(seed=seed)
        for i in range(self.num_envs):
            self._task.reset(i, self.np_random)
        self._actions[:] = 0
        self._ended[:] = False
        return self._task.worlds.look()[:, : self._task.width], {}

    def step(self, actions: np.ndarray):
        """Holds an action in every world; those that had ended begin anew instead."""
        again = self._ended.copy()
        observations, rewards, ended, failures = self._task.step(np.asarray(actions, dtype=np.float64))
        self._actions += 1
        for i in np.flatnonzero(again):
            self._task.reset(int(i), self.np_random)
            rewards[i], ended[i], self._actions[i] = 0.0, False, 0
        if again.any():
            observations = self._task.worlds.look()[:, : self._task.width]
        truncated = np.zeros(self.num_envs, dtype=bool)
        if self._limit is not None:
            truncated = self._actions >= self._limit
        self._ended = ended | truncated
        info: dict[str, Any] = {}
        failures = {i: why for i, why in failures.items() if not again[i]}
        if failures:
            info["failure"] = np.array([failures.get(i) for i in range(self.num_envs)], dtype=object)
            info["_failure"] = np.array([i in failures for i in range(self.num_envs)])
        return observations, rewards, ended, truncated, info


def _time_limit(given: int | None) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"time_limit: an int is wanted, not {type(given).__name__}")
    if given < 1:
        raise InputError(f"time_limit = {given}: there must be one action at least")
    return given


CART_POLE = """
# A cart on a rail that balances a pole.
[model]
name = "cart-pole"
gravity = [0, 0, -9.81]

[parameters]
x0 = { value = 0, unit = "m", description = "place of the cart at the start" }
phi0 = { value = 0.02, unit = "rad", description = "lean of the pole at the start" }
l = { value = 1, unit = "m", description = "length of the pole" }

[inputs]
push = 0

[[body]]
name = "cart"
mass = 1
position = ["x0", 0, 0]
shape = { box = { size = [0.3, 0.2, 0.1] } }

[[body]]
name = "pole"
mass = 0.1
ends = [["x0", 0, 0], ["x0 + l*sin(phi0)", 0, "l*cos(phi0)"]]
shape = { cylinder = { radius = 0.02 } }

[[joint]]
name = "rail"
type = "slider"
between = ["world", "cart"]
point = ["x0", 0, 0]
axis = [1, 0, 0]
drawn_at = "x0"
motor = { force = "input.push" }

[[joint]]
name = "hinge"
type = "hinge"
between = ["cart", "pole"]
point = ["x0", 0, 0]
axis = [0, 1, 0]
drawn_at = "phi0"

[run]
step = 0.01
"""
"""The model of `cart_pole`."""


def cart_pole(num_envs: int | None = None, **changes: Any) -> Env | VectorEnv:
    """A cart that balances a pole by pushes of up to 10 N: one environment, or `num_envs` in one.

    Observed are place and speed of the cart, and lean and rate of the pole. Every action, of 0.02 s, is worth 1 while
    the pole leans by less than 0.2 rad and the cart is within 2.4 m; an episode has 500.
    """
    model = _gelenk.loads(CART_POLE, name="cart-pole")
    how: dict[str, Any] = {
        "observation": ["joint.rail.position", "joint.rail.rate", "joint.hinge.angle", "joint.hinge.rate"],
        "reward": "1",
        "alive": {"joint.rail.position": (-2.4, 2.4), "joint.hinge.angle": (-0.2, 0.2)},
        "start": {"x0": (-0.05, 0.05), "phi0": (-0.05, 0.05)},
        "frames": 2,
        "time_limit": 500,
        "action_limits": (-10.0, 10.0),
    } | changes
    return Env(model, **how) if num_envs is None else VectorEnv(num_envs, model, **how)
