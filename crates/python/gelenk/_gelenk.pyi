"""The native part of `gelenk`; use it through `gelenk`."""

import os
from collections.abc import Callable, ItemsView, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._results import BodyMotion, Contact, Verdict
from .errors import Diagnostic

Array = NDArray[np.float64]

__version__: str

class Model:
    """A checked mechanism. It does not change; `with_` makes another."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def gravity(self) -> list[float]: ...
    @property
    def bodies(self) -> list[str]:
        """Names of the rigid bodies."""
    @property
    def points(self) -> list[str]:
        """Names of the point masses."""
    @property
    def joints(self) -> list[str]:
        """Names of the joints."""
    @property
    def coordinates(self) -> list[str]:
        """Names of the joint coordinates, in the order of `q`."""
    @property
    def inputs(self) -> dict[str, float]:
        """The inputs with their default values."""
    @property
    def parameters(self) -> dict[str, float]:
        """The parameters with their values."""
    @property
    def quantities(self) -> dict[str, str]:
        """All quantities of a run by name, with their units."""
    @property
    def warnings(self) -> tuple[Diagnostic, ...]: ...
    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `[run]`."""
    @property
    def text(self) -> str:
        """The text of the model file; of a robot file that of the model it became."""
    def with_(self, **parameters: float | str) -> Model:
        """The model with other values of parameters: numbers or expressions."""
    def check(self) -> dict[str, int]:
        """Degrees of freedom, constraints and rank at the start."""

class Run:
    """A motion: times, quantities by name, verdict."""

    @property
    def model(self) -> Model: ...
    @property
    def engine(self) -> str: ...
    @property
    def settings(self) -> dict[str, Any]: ...
    @property
    def summary(self) -> dict[str, Any]:
        """What `gelenk run --json` shows: steps, energy, constraint errors, corrections."""
    @property
    def verdict(self) -> Verdict: ...
    @property
    def events(self) -> list[dict[str, Any]]: ...
    @property
    def time(self) -> Array:
        """Times of the samples, s."""
    def keys(self) -> list[str]:
        """Names of all quantities."""
    def __len__(self) -> int: ...
    def __contains__(self, name: str) -> bool: ...
    def __getitem__(self, name: str) -> Array:
        """A quantity by name: (T,), or (T, 3) or (T, 4) for vectors and rotations."""
    def body(self, name: str) -> BodyMotion:
        """The motion of a body or point."""
    def to_numpy(self) -> Array:
        """All quantities: one row a sample, columns in the order of `keys()`."""
    def to_pandas(self) -> Any:
        """All quantities as a pandas.DataFrame."""
    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes a recording (`.mcap`) or a table (`.csv`, `.parquet`)."""

class State:
    """A state that a simulation can go on from, bit by bit. It can be pickled."""

    @property
    def time(self) -> float: ...
    @property
    def positions(self) -> Array: ...
    @property
    def velocities(self) -> Array: ...
    @property
    def angular_velocities(self) -> Array: ...

class Inputs:
    """The inputs of a simulation: a mapping from names to numbers."""

    def __getitem__(self, name: str) -> float: ...
    def __setitem__(self, name: str, value: float) -> None: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: str) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]: ...
    def items(self) -> ItemsView[str, float]: ...
    def set_all(self, values: Sequence[float] | Array) -> None:
        """Sets all inputs at once, in the order of the model."""

class Simulation:
    """A model in motion, advanced step by step by the impulse engine."""

    inputs: Inputs
    def __init__(
        self,
        model: Model,
        step: float | None = None,
        *,
        order: int | None = None,
        tolerance: float | None = None,
        contact: str | None = None,
    ) -> None: ...
    @property
    def model(self) -> Model: ...
    @property
    def step_size(self) -> float: ...
    @property
    def time(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def q(self) -> Array:
        """Joint coordinates in the order of `model.coordinates`, rad or m."""
    @property
    def qd(self) -> Array:
        """Their rates, rad/s or m/s."""
    @property
    def energy(self) -> dict[str, float]: ...
    @property
    def contacts(self) -> list[Contact]: ...
    def step(self, n: int = 1) -> None:
        """Advances by `n` steps."""
    def __getitem__(self, name: str) -> Any:
        """A quantity now: a number, or an array for a vector."""
    def read(self, names: Sequence[str]) -> Array:
        """Several quantities now, one after the other in an array."""
    def take_events(self) -> list[dict[str, Any]]: ...
    def state(self) -> State:
        """The state now, inputs included."""
    def restore(self, state: State) -> None:
        """Goes on from a state of the same model."""
    def reset(self) -> None:
        """Goes back to the start of the model."""

class Worlds:
    """Several worlds of one shape, stepped together; `gelenk.gym` is made of them."""

    def __init__(
        self,
        model: Model,
        n: int,
        *,
        step: float | None = None,
        quantities: Sequence[str] = (),
        formulas: Sequence[str] = (),
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def width(self) -> int: ...
    def reset(self, i: int, model: Model) -> None: ...
    def step(self, inputs: Array, n: int) -> list[tuple[int, str]]: ...
    def look(self) -> Array: ...

def load(path: str | os.PathLike[str], **parameters: float | str) -> Model:
    """Loads a model file, a URDF or an MJCF file."""

def loads(
    text: str, *, name: str = "model", folder: str | os.PathLike[str] | None = None, **parameters: float | str
) -> Model:
    """Loads a model from a text; part files and meshes are read below `folder`."""

def gallery(name: str, **parameters: float | str) -> Model:
    """A model of the gallery; `gelenk.models()` lists them."""

def gallery_names() -> dict[str, str]: ...
def model_from_bytes(bytes: bytes) -> Model: ...
def state_from_bytes(bytes: bytes) -> State: ...
def open_recording(path: str | os.PathLike[str]) -> Run: ...
def run(
    model: Model,
    *,
    duration: float | None = None,
    engine: str | None = None,
    step: float | None = None,
    order: int | None = None,
    tolerance: float | None = None,
    accuracy: float | None = None,
    sample: float | None = None,
    at: Sequence[float] | None = None,
    contact: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    integrator: str | None = None,
    inputs: dict[str, float | str | tuple[ArrayLike, ArrayLike]] | None = None,
    progress: Callable[[float], Any] | None = None,
) -> Run:
    """Runs a model with an engine: `impulse`, `dae` or `lagrange`.

    What is left out is as in `[run]` of the model. `inputs`: for each name a number, a formula of time and state in the
    place of the input, or a tuple of times and values that are held (impulse engine).
    """

def rollout(*arguments: Any) -> Any: ...
def derive(model: Model, linearize: str | dict[str, Any] | None = None) -> dict[str, str]: ...
def optimize(
    problem: str | os.PathLike[str],
    *,
    starts: int | None = None,
    seed: int | None = None,
    intervals: int | None = None,
    tolerance: float | None = None,
    max_iterations: int | None = None,
    progress: Callable[[dict[str, Any]], Any] | None = None,
    **parameters: float | str,
) -> dict[str, Any]: ...
def sensitivity(
    model: Model, time: float, *, parameters: Sequence[str] | None = None, rtol: float = 1e-10
) -> dict[str, Any]: ...

class SweepPlan:
    """A sweep that has been read, with the model inside."""

    def __init__(
        self,
        text: str,
        *,
        name: str = "sweep",
        folder: str | os.PathLike[str] | None = None,
        model: Model | None = None,
    ) -> None: ...
    @staticmethod
    def from_json(text: str) -> SweepPlan: ...
    def to_json(self) -> str:
        """The plan as JSON, for other processes."""
    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...
    def rows(self, members: Sequence[int]) -> list[str]:
        """Runs members, one after the other; a line of JSON for each."""

class SweepJob:
    """A sweep on its way: rows that are done, and their journal."""

    def __init__(
        self,
        plan: SweepPlan,
        journal: str | os.PathLike[str] | None = None,
        *,
        restart: bool = False,
    ) -> None: ...
    def missing(self) -> list[int]: ...
    def accept(self, lines: list[str]) -> None: ...
    def run(
        self,
        *,
        threads: int | None = None,
        recordings: str | os.PathLike[str] | None = None,
        progress: Callable[[float], Any] | None = None,
    ) -> None: ...
    def finish(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> None: ...
    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None: ...
    def columns(self) -> dict[str, Any]: ...
    @property
    def varied(self) -> list[str]: ...
    @property
    def kept(self) -> list[str]: ...
    def pictures(self) -> list[tuple[str, str]]: ...
