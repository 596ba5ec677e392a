"""Multibody dynamics: one model file, engines that check each other.

>>> import gelenk as gk
>>> model = gk.gallery("double-pendulum")
>>> model.joints
['shoulder', 'elbow']
>>> run = gk.run(model, duration=1)
>>> run["joint.elbow.angle"].shape == run.time.shape
True
>>> run.verdict == "good"
True
"""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping
from typing import Any

from . import _gelenk
from ._gelenk import Inputs, Model, Run, Simulation, State, __version__, gallery, load, loads, run
from ._results import (
    BodyMotion,
    Contact,
    Derivation,
    Optimum,
    Rollout,
    Sensitivity,
    Verdict,
    derive,
    rollout,
)
from ._sweep import Sweep, sweep
from .errors import (
    Diagnostic,
    GelenkError,
    InputError,
    InternalError,
    ModelError,
    RunError,
    UnknownNameError,
)

__all__ = [
    "BodyMotion", "Contact", "Derivation", "Diagnostic", "GelenkError", "InputError", "Inputs",
    "InternalError", "Model", "ModelError", "Optimum", "Rollout", "Run", "RunError", "Sensitivity",
    "Simulation", "State", "Sweep", "UnknownNameError", "Verdict", "__version__", "derive", "gallery",
    "load", "loads", "models", "open", "optimize", "rollout", "run", "sensitivity", "sweep",
]

MutableMapping.register(Inputs)


def models() -> dict[str, str]:
    """The gallery: names of models, and what they show."""
    return _gelenk.gallery_names()


def open(path: str | os.PathLike[str]) -> Run:
    """A run from a recording, made here or by the command `gelenk run`."""
    return _gelenk.open_recording(path)


def optimize(
    problem: str | os.PathLike[str],
    *,
    progress: Callable[[dict[str, Any]], Any] | None = None,
    **settings: Any,
) -> Optimum:
    """The best motion of a problem: a file, or a name of the gallery of problems.

    `starts`, `seed`, `intervals`, `tolerance`, `max_iterations` as on the command line; other names are parameters of the
    problem. `progress` is called now and then with a dict of iteration, objective, infeasibility and kkt.

    >>> import gelenk as gk
    >>> best = gk.optimize("rod-turn")
    >>> best.status
    'optimal'
    """
    return Optimum(_gelenk.optimize(problem, progress=progress, **settings))


def sensitivity(
    model: Model, time: float, *, parameters: list[str] | tuple[str, ...] = (), rtol: float = 1e-10
) -> Sensitivity:
    """How the state at `time` answers to the start, the inputs and the parameters named; exact, by the dae engine.

    >>> import gelenk as gk
    >>> found = gk.sensitivity(gk.gallery("double-pendulum"), 0.5, parameters=["l1"])
    >>> found.by_start.shape, found.by_parameters.shape
    ((4, 4), (4, 1))
    """
    if isinstance(parameters, str):
        raise TypeError("parameters: a list of names is wanted, not str")
    return Sensitivity(**_gelenk.sensitivity(model, time, parameters=list(parameters), rtol=rtol))
