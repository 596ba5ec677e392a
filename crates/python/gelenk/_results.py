"""What results are made of, in Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from . import _gelenk
from .errors import InputError

__all__ = ["BodyMotion", "Contact", "Derivation", "Optimum", "Rollout", "Sensitivity", "Verdict"]


class Contact(NamedTuple):
    """Two bodies that touch, and the force between them over the last step, world frame, SI units."""

    bodies: tuple[str, str]
    point: np.ndarray
    normal: np.ndarray
    """Unit normal from the second body to the first."""
    force: np.ndarray
    """Force on the first body; the second gets the opposite."""
    gap: float


@dataclass(frozen=True)
class Verdict:
    """Whether a result can be relied on: `good`, `doubtful` or `failed`, with what speaks against it.

    It is true if it is good, and equal to its level: `run.verdict == "good"`.
    """

    level: str
    findings: list[dict[str, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.level == "good"

    def __str__(self) -> str:
        return self.level

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.level == other
        if isinstance(other, Verdict):
            return (self.level, self.findings) == (other.level, other.findings)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.level)


def _verdict(text: str) -> Verdict:
    given = json.loads(text)
    return Verdict(given.get("level") or given.get("grade"), given["findings"])


class BodyMotion:
    """The motion of a body or point over a run, as arrays with one row a sample."""

    def __init__(self, run: _gelenk.Run, name: str):
        self._run = run
        self._what = "body" if name in run.model.bodies else "point"
        self.name = name
        run[f"{self._what}.{name}.position.x"]  # an unknown name fails here

    @property
    def position(self) -> np.ndarray:
        """Origin of its frame, world, m: (T, 3)."""
        return self._run[f"{self._what}.{self.name}.position"]

    @property
    def velocity(self) -> np.ndarray:
        """Its velocity, m/s: (T, 3)."""
        return self._run[f"{self._what}.{self.name}.velocity"]

    @property
    def rotation(self) -> np.ndarray:
        """Body to world as quaternions w, x, y, z: (T, 4)."""
        return self._run[f"{self._what}.{self.name}.rotation"]

    @property
    def angular_velocity(self) -> np.ndarray:
        """World frame, rad/s: (T, 3)."""
        return self._run[f"{self._what}.{self.name}.angular_velocity"]


def _simulation(model: _gelenk.Model, how: dict[str, Any], state: _gelenk.State) -> _gelenk.Simulation:
    simulation = _gelenk.Simulation(model, **how)
    simulation.restore(state)
    return simulation


@dataclass(frozen=True)
class Rollout:
    """Many worlds, stepped together; rows are after each step."""

    time: np.ndarray
    """(worlds, steps), s."""
    q: np.ndarray
    """Joint coordinates: (worlds, steps, n)."""
    qd: np.ndarray
    """Their rates: (worlds, steps, n)."""
    quantities: dict[str, np.ndarray]
    """What was asked for: (worlds, steps), or (worlds, steps, 3) of vectors."""
    states: list[_gelenk.State]
    """Where each world ended; of those that failed the last good state."""
    failures: list[tuple[int, int, str]]
    """World, step and reason of those that could not go on; their rows from there on are NaN."""

    def __getitem__(self, name: str) -> np.ndarray:
        return self.quantities[name]


def _inputs(model: _gelenk.Model, worlds: int, steps: int, given: Any) -> np.ndarray | None:
    """Inputs of a rollout as an array (worlds, steps, inputs)."""
    if given is None:
        return None
    names = list(model.inputs)
    if isinstance(given, Mapping):
        out = np.empty((worlds, steps, len(names)))
        out[:] = list(model.inputs.values())
        for name, value in given.items():
            if name not in names:
                _gelenk.Simulation(model).inputs[name]  # says which there are
            try:
                value = np.asarray(value, dtype=float)
                out[:, :, names.index(name)] = np.broadcast_to(value, (worlds, steps))
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"input `{name}`: a number, ({steps},) or ({worlds}, {steps}) numbers are wanted: {error}"
                ) from None
    else:
        try:
            given = np.asarray(given, dtype=float)
            out = np.broadcast_to(given, (worlds, steps, len(names)))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"inputs: an array ({steps}, {len(names)}) or ({worlds}, {steps}, {len(names)}) is wanted: {error}"
            ) from None
    if not np.isfinite(out).all():
        raise InputError("inputs: all numbers must be finite")
    return np.ascontiguousarray(out)


def rollout(
    model: _gelenk.Model,
    states: _gelenk.State | list[_gelenk.State] | int | None = None,
    inputs: Any = None,
    steps: int | None = None,
    *,
    step: float | None = None,
    order: int | None = None,
    tolerance: float | None = None,
    contact: str | None = None,
    threads: int | None = None,
    quantities: list[str] | tuple[str, ...] = (),
) -> Rollout:
    """Steps many worlds of one model on all cores, with the same bits for any number of threads.

    `states`: where each world begins, or how many begin at the model's start. `inputs`: a dict of input names with a
    number, (steps,) or (worlds, steps) numbers each, or an array (worlds, steps, inputs) or (steps, inputs). `steps`
    may be left out where the inputs tell it. `quantities` names what else is kept.

    >>> import gelenk as gk
    >>> many = gk.rollout(gk.gallery("double-pendulum"), 4, steps=100, step=0.001)
    >>> many.q.shape
    (4, 100, 2)
    >>> bool((many.q[0] == many.q[3]).all())
    True
    """
    if not isinstance(model, _gelenk.Model):
        raise TypeError(f"a gelenk.Model is wanted, not {type(model).__name__}; gelenk.load(path) makes one")
    begin: list[_gelenk.State] | None
    if states is None or isinstance(states, int) and not isinstance(states, bool):
        worlds, begin = (1 if states is None else states), None
        if worlds < 0:
            raise InputError(f"states = {states}: there cannot be fewer than no worlds")
    elif isinstance(states, _gelenk.State):
        worlds, begin = 1, [states]
    else:
        begin = list(states)
        worlds = len(begin)
        for state in begin:
            if not isinstance(state, _gelenk.State):
                raise TypeError(f"states: gelenk.State is wanted, not {type(state).__name__}")
    if steps is None:
        shapes = inputs.values() if isinstance(inputs, Mapping) else [] if inputs is None else [inputs]
        axis = -1 if isinstance(inputs, Mapping) else -2
        lengths = {np.shape(value)[axis] for value in shapes if len(np.shape(value)) >= -axis}
        if len(lengths) != 1:
            raise InputError("give the number of steps: the inputs do not tell it")
        steps = lengths.pop()
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)):
        raise TypeError(f"steps: an int is wanted, not {type(steps).__name__}")
    if steps < 0:
        raise InputError(f"steps = {steps}: there cannot be fewer than none")
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int)):
        raise TypeError(f"threads: an int is wanted, not {type(threads).__name__}")
    if threads is not None and not 1 <= threads <= 4096:
        raise InputError(f"threads = {threads}: between 1 and 4096 are wanted")
    if isinstance(quantities, str):
        raise TypeError("quantities: a list of names is wanted, not str")
    names = list(quantities)
    table, last, failures = _gelenk.rollout(
        model, worlds, begin, _inputs(model, worlds, int(steps), inputs), int(steps),
        step, order, tolerance, contact, threads, names,
    )
    n = len(model.coordinates)
    kept: dict[str, np.ndarray] = {}
    at = 1 + 2 * n
    for name in names:
        width = _width(model, name)
        kept[name] = table[..., at] if width == 1 else table[..., at : at + width]
        at += width
    return Rollout(
        time=table[..., 0],
        q=table[..., 1 : 1 + n],
        qd=table[..., 1 + n : 1 + 2 * n],
        quantities=kept,
        states=last,
        failures=failures,
    )


def _width(model: _gelenk.Model, name: str) -> int:
    known = model.quantities
    if f"{name}.w" in known:
        return 4
    if f"{name}.x" in known or name.startswith("contact.") and name.endswith(".force"):
        return 3
    return 1


@dataclass(frozen=True)
class Derivation:
    """Equations of motion in closed form, and as code.

    Coordinates are `q1`, `q2`, ...; `coordinates` says what they are.
    """

    _given: dict[str, str]
    data: dict[str, Any]
    """Everything as `gelenk derive --json` has it: coordinates, parameters, expressions."""

    @property
    def coordinates(self) -> dict[str, str]:
        """The coordinates and what they mean."""
        return {entry["name"]: entry["meaning"] for entry in self.data["coordinates"]}

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters that stand in the equations, with their values."""
        return dict(self.data["parameters"])

    def latex(self) -> str:
        """A LaTeX document."""
        return self._given["latex"]

    def text(self) -> str:
        """The equations as text."""
        return self._given["text"]

    def markdown(self) -> str:
        """Markdown with LaTeX formulas; notebooks show it."""
        return self._given["markdown"]

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def python(self) -> str:
        """Python code with NumPy alone: accelerations, mass matrix, bias."""
        if "python" not in self._given:
            raise InputError(self._given["no_python"])
        return self._given["python"]

    def sympy(self) -> dict[str, Any]:
        """The mass matrix `M`, the forces `h` with M q'' = h, the symbols by name, and kinetic and potential energy.

        Needs SymPy.
        """
        import sympy

        expressions = self.data.get("expressions")
        if not expressions:
            raise InputError("the closed form is too large: use function()")
        names: set[str] = set(self.parameters) | {"t"}
        for entry in self.data["coordinates"]:
            names |= {entry["name"], entry["rate"], entry["acceleration"]}
        functions = {"abs": sympy.Abs, "sign": sympy.sign, "min": sympy.Min, "max": sympy.Max}
        known = {name: sympy.Symbol(name, real=True) for name in names}

        def read(text: str) -> Any:
            return sympy.sympify(text.replace("^", "**"), locals={**functions, **known}, rational=True)

        n = len(self.data["coordinates"])
        mass = sympy.Matrix(n, n, lambda i, j: read(expressions["g"][i + 1][j + 1]))
        rates = {known[e["acceleration"]]: 0 for e in self.data["coordinates"]}
        # Lagrange's equations as written out: M q'' + Gamma q' q' - Q = 0.
        qd = [sympy.Integer(1)] + [known[e["rate"]] for e in self.data["coordinates"]]
        forces = []
        for i in range(n):
            gamma = expressions["gamma"][i]
            bias = sum(
                read(gamma[mu][nu]) * qd[mu] * qd[nu] for mu in range(n + 1) for nu in range(n + 1)
            )
            forces.append((read(expressions["Q"][i]) - bias).subs(rates))
        energies = {
            name: read(expressions[name])
            for name in ("kinetic", "potential")
            if expressions.get(name) is not None
        }
        return {"M": mass, "h": sympy.Matrix(forces), "symbols": known, **energies}

    def function(self) -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """A function of q, qd and t, with parameters by name: accelerations, mass matrix M and bias b of M q'' + b = 0.

        >>> import gelenk as gk
        >>> f = gk.derive(gk.gallery("double-pendulum")).function()
        >>> accelerations, mass, bias = f([0.1, 0.2], [0, 0])
        >>> bool(abs(mass @ accelerations + bias).max() < 1e-9)
        True
        """
        code: dict[str, Any] = {}
        exec(compile(self.python(), "<gelenk.derive>", "exec"), code)
        find = {
            kind: next((code[name] for name in code if name.endswith(f"_{kind}")), None)
            for kind in ("accelerations", "mass", "bias")
        }
        documented = (code["__doc__"] or "").splitlines()
        order = [line.split("=", 1)[1].split(":")[0].strip() for line in documented if "x[" in line]
        coordinates = self.data["coordinates"]
        n = len(coordinates)
        places = {entry["name"]: ("q", i) for i, entry in enumerate(coordinates)}
        places |= {entry["rate"]: ("qd", i) for i, entry in enumerate(coordinates)}
        values = self.parameters

        def motion(q: Any, qd: Any, t: float = 0.0, **parameters: float):
            q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
            if q.shape != (n,) or qd.shape != (n,):
                raise InputError(f"q and qd of {n} numbers are wanted, not {q.shape} and {qd.shape}")
            for name in parameters:
                if name not in values:
                    raise InputError(f"the equations have no parameter `{name}`; there are {', '.join(values)}")
            given = {**values, **parameters}
            x = []
            for name in order:
                if name in places:
                    which, i = places[name]
                    x.append(q[i] if which == "q" else qd[i])
                elif name == "t":
                    x.append(t)
                elif name in given:
                    x.append(given[name])
                else:
                    raise InputError(f"the equations need a value of `{name}`")
            accelerations = np.asarray(find["accelerations"](x), dtype=float)
            mass = np.asarray(find["mass"](x), dtype=float).reshape(n, n)
            return accelerations, mass, np.asarray(find["bias"](x), dtype=float)

        return motion


def derive(model: _gelenk.Model, linearize: str | dict[str, Any] | None = None) -> Derivation:
    """Lagrange's equations of motion of a model, in closed form.

    `linearize`: "start", or a dict of coordinates, adds the linear equations there.

    >>> import gelenk as gk
    >>> equations = gk.derive(gk.gallery("double-pendulum"))
    >>> list(equations.coordinates)
    ['q1', 'q2']
    >>> "subsection" in equations.latex()
    True
    """
    given = _gelenk.derive(model, linearize)
    return Derivation(given, json.loads(given.pop("json")))


@dataclass(frozen=True)
class Optimum:
    """The best motion found."""

    data: dict[str, Any]
    """Everything as `gelenk optimize --json` has it."""

    @property
    def status(self) -> str:
        """`optimal`, or how it ended."""
        return self.data["status"]

    @property
    def objective(self) -> float:
        """The objective."""
        return self.data["objective"]

    @property
    def time(self) -> np.ndarray:
        """Times of the nodes, s."""
        return np.array([node["time"] for node in self.data["nodes"]])

    def state(self, name: str) -> np.ndarray:
        """A state at the nodes."""
        return self._column("states", name)

    def control(self, name: str) -> np.ndarray:
        """A control at the nodes; NaN where none begins."""
        return self._column("controls", name)

    def _column(self, which: str, name: str) -> np.ndarray:
        nodes = self.data["nodes"]
        known = {key for node in nodes for key in (node.get(which) or {})}
        if name not in known:
            raise InputError(f"there is no `{name}` among the {which}: {', '.join(sorted(known))}")
        return np.array([(node.get(which) or {}).get(name, np.nan) for node in nodes])

    def __repr__(self) -> str:
        return f"<gelenk.Optimum of {self.data['problem']!r}: {self.status}, objective {self.objective}>"


@dataclass(frozen=True)
class Sensitivity:
    """Derivatives of a motion's end by its start, its inputs and parameters."""

    time: float
    quantities: list[str]
    """Independent quantities, then their rates: rows, and columns of `by_start`."""
    start: np.ndarray
    end: np.ndarray
    parameters: list[str]
    by_start: np.ndarray
    by_inputs: np.ndarray
    by_parameters: np.ndarray
