"""Sweeps: one model for many values, on the cores of this machine, on Ray or on Dask."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _gelenk
from .errors import InputError, RunError

__all__ = ["Sweep", "sweep"]

Pathlike = str | os.PathLike[str]

#: Attempts at a task whose worker was lost.
_RETRIES = 5


class Sweep:
    """A sweep that is done: columns by name, one row a member.

    `failures` has (member, reason) of members that failed; what is kept of them is NaN, unless their run came to its end.
    """

    def __init__(self, name: str, job: _gelenk.SweepJob) -> None:
        self._job = job
        self.name = name
        """Its name."""
        self.columns: dict[str, np.ndarray] = {
            name: np.asarray(column, dtype=object) if isinstance(column, list) else column
            for name, column in job.columns().items()
        }
        """Columns of the table, in its order."""
        self.varied: list[str] = job.varied
        """What was varied."""
        self.kept: list[str] = job.kept
        """What was kept."""

    def __len__(self) -> int:
        return len(self.columns["member"])

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self.columns[name]
        except KeyError:
            raise KeyError(f"the sweep has no column {name!r}; it has {list(self.columns)}") from None

    @property
    def failures(self) -> list[tuple[int, str]]:
        """Members that failed, with the reason."""
        rows = zip(self["member"], self["verdict"], self["error"])
        return [(int(member), why or "") for member, verdict, why in rows if verdict == "failed"]

    def to_pandas(self) -> Any:
        """The table as a pandas.DataFrame; needs pandas."""
        import pandas

        return pandas.DataFrame(self.columns)

    def save(self, path: Pathlike, *, overwrite: bool = False) -> None:
        """Writes the table as Parquet."""
        self._job.save(path, overwrite=overwrite)

    def plots(self) -> dict[str, str]:
        """A picture (SVG) of each number kept: a curve over what is varied, or a map over two things that are."""
        return dict(self._job.pictures())

    def _repr_html_(self) -> str:
        try:
            return "".join(self.plots().values())
        except InputError:
            return f"<pre>{self!r}</pre>"

    def __repr__(self) -> str:
        return f"<gelenk.Sweep {self.name!r}: {len(self)} members, {len(self.failures)} failed>"


def _value(x: Any) -> str:
    """A number, text or list as TOML has it."""
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, str):
        return json.dumps(x, ensure_ascii=False)
    if isinstance(x, numbers.Integral):
        return str(int(x))
    if isinstance(x, numbers.Real):
        return repr(float(x))
    if isinstance(x, (Sequence, np.ndarray)):
        return "[" + ", ".join(_value(one) for one in x) + "]"
    raise TypeError(f"a number, str or a list of them is wanted, not {type(x).__name__}")


def _tables(kind: str, entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        yield f"\n[[{kind}]]"
        yield from (f"{name} = {_value(x)}" for name, x in entry.items())


def _varied(model: _gelenk.Model, name: str, given: Any, ranged: bool) -> dict[str, Any]:
    if not isinstance(name, str):
        raise TypeError(f"vary: names are str, not {type(name).__name__}")
    if name.startswith("input."):
        entry: dict[str, Any] = {"input": name.removeprefix("input.")}
    elif name.startswith(("body.", "point.")) and name not in model.parameters:
        entry = {"start": name}
    else:
        entry = {"parameter": name}
    if isinstance(given, Mapping):
        return entry | dict(given)
    if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
        raise TypeError(
            f"vary: {name!r} wants values, (from, to, count), or a dict, not {type(given).__name__}"
        )
    if isinstance(given, tuple) and len(given) == (2 if ranged else 3):
        keys = ["from", "to"] if ranged else ["from", "to", "count"]
        return entry | dict(zip(keys, given))
    return entry | {"values": given}


def _kept(keep: Any) -> list[dict[str, Any]]:
    if isinstance(keep, str):
        keep = [keep]
    if not isinstance(keep, Mapping):
        return [{"name": name} for name in keep]
    entries = []
    for name, what in keep.items():
        value, over = what if isinstance(what, tuple) else (what, "end")
        entries.append({"name": name, "value": value, "over": over})
    return entries


def _text(
    model: _gelenk.Model,
    vary: Mapping[str, Any],
    keep: Any,
    head: dict[str, Any],
    run: Mapping[str, Any],
) -> str:
    ranged = head["sample"] in ("random", "latin", "sobol")
    lines = ["[sweep]"]
    lines += [f"{name} = {_value(x)}" for name, x in head.items() if x is not None]
    lines += ["", "[run]"] + [f"{name} = {_value(x)}" for name, x in run.items()]
    lines += _tables("vary", [_varied(model, name, x, ranged) for name, x in vary.items()])
    lines += _tables("keep", _kept(keep))
    return "\n".join(lines) + "\n"


def _work(text: str, members: list[int]) -> list[str]:
    """What a worker does: text and numbers in, lines out."""
    from gelenk import _gelenk

    return _gelenk.SweepPlan.from_json(text).rows(members)


def _chunks(members: list[int], workers: int) -> list[list[int]]:
    """Parts of the work: eight a worker at least, so that none waits long for the last one; 64 members at most."""
    size = max(1, min(64, len(members) // (8 * max(workers, 1))))
    return [members[i : i + size] for i in range(0, len(members), size)]


def _on_ray(plan: _gelenk.SweepPlan, members: list[int], accept: Callable[[list[str]], Any]) -> None:
    try:
        import ray
    except ImportError as error:
        raise ImportError("backend='ray' needs Ray: pip install 'gelenk[ray]'") from error
    own = not ray.is_initialized()
    if own:
        ray.init(log_to_driver=False)
    try:
        text = ray.put(plan.to_json())
        task = ray.remote(max_retries=_RETRIES, num_cpus=1)(_work)
        workers = int(ray.cluster_resources().get("CPU", 1))
        pending = [task.remote(text, chunk) for chunk in _chunks(members, workers)]
        while pending:
            ready, pending = ray.wait(pending, timeout=0.5)
            for done in ready:
                try:
                    accept(ray.get(done))
                except ray.exceptions.RayError as error:
                    raise RunError(f"a part of the sweep was lost: {error}") from error
    finally:
        if own:
            ray.shutdown()


def _on_dask(
    plan: _gelenk.SweepPlan, members: list[int], accept: Callable[[list[str]], Any], backend: Any
) -> None:
    try:
        from distributed import Client, as_completed, get_client
    except ImportError as error:
        raise ImportError("backend='dask' needs Dask: pip install 'gelenk[dask]'") from error
    own = False
    if isinstance(backend, Client):
        client = backend
    else:
        try:
            client = get_client()
        except ValueError:
            client, own = Client(set_as_default=False), True
    try:
        workers = sum(client.nthreads().values())
        chunks = _chunks(members, workers)
        # The text goes to each worker once.
        [text] = client.scatter([plan.to_json()], broadcast=True)
        futures = client.map(
            lambda text, chunk: _work(text, chunk), [text] * len(chunks), chunks,
            retries=_RETRIES, pure=False,
        )
        for done, lines in as_completed(futures, with_results=True):
            accept(lines)
            done.release()
    finally:
        if own:
            client.close()


def sweep(
    source: Pathlike | _gelenk.Model,
    *,
    vary: Mapping[str, Any] | None = None,
    keep: Any = (),
    sample: str = "grid",
    count: int | None = None,
    seed: int | None = None,
    run: Mapping[str, Any] | None = None,
    assemble: bool = True,
    name: str | None = None,
    output: Pathlike | None = None,
    overwrite: bool = False,
    restart: bool = False,
    threads: int | None = None,
    backend: Any = None,
    recordings: Pathlike | None = None,
    progress: Callable[[float], Any] | None = None,
) -> Sweep:
    """Runs a model for many values of parameters, starts and inputs.

    `source` is a sweep file (as of `gelenk sweep`) or a model. With a model, `vary` has values by name: parameters,
    `input.NAME`, start values such as `body.NAME.velocity.x`; values are a list or array, or `(from, to, count)`, with
    random samples `(from, to)`, or a dict of the keys of `[[vary]]`. `keep` is a list of quantities, or formulas by name,
    each alone (at the end of the run) or with `max`, `min`, `mean`, `start` or `end`. `sample` is `grid`, `list`, `random`,
    `latin` or `sobol`; `run` has settings, such as `duration`.

    With `output`, the table is written there, and every member that is done is noted in `OUTPUT.journal`: after any stop
    the same call goes on from there. `backend` is None (threads), `"ray"`, `"dask"` or a `distributed.Client`; rows are
    the same bit by bit. `progress` is called with the part that is done.

    >>> import gelenk as gk
    >>> lengths = gk.sweep(
    ...     gk.gallery("pendulum"),
    ...     vary={"l": (0.5, 2, 4)},
    ...     keep={"speed": ("energy.kinetic", "max")},
    ...     run={"duration": 0.1},
    ... )
    >>> lengths["l"].tolist()
    [0.5, 1.0, 1.5, 2.0]
    >>> bool((np.diff(lengths["speed"]) != 0).all()), lengths.failures
    (True, [])
    """
    if isinstance(source, _gelenk.Model):
        if not vary:
            raise InputError("nothing is varied: give vary={name: values}")
        if not isinstance(vary, Mapping):
            raise TypeError(f"vary: a dict is wanted, not {type(vary).__name__}")
        head = {"name": name or source.name, "sample": sample, "count": count, "seed": seed}
        text = _text(source, vary, keep, head | {"assemble": assemble}, run or {})
        plan = _gelenk.SweepPlan(text, name="sweep", model=source)
    elif isinstance(source, (str, os.PathLike)):
        if vary or keep or run or count is not None or seed is not None or name is not None:
            raise InputError("a sweep file says itself what is varied and kept")
        path = Path(source)
        plan = _gelenk.SweepPlan(path.read_text("utf-8"), name=path.name, folder=path.parent)
    else:
        raise TypeError(f"a sweep file or a Model is wanted, not {type(source).__name__}")
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}: at least one is wanted")
    journal = None
    if output is not None:
        output = Path(output)
        journal = output.with_name(output.name + ".journal")
    job = _gelenk.SweepJob(plan, journal, restart=restart)
    if backend is None:
        if recordings is not None:
            Path(recordings).mkdir(parents=True, exist_ok=True)
        job.run(threads=threads, recordings=recordings, progress=progress)
    else:
        if recordings is not None:
            raise InputError("recordings are written by local threads only, not with a backend")
        members, done = job.missing(), 0
        before, n = len(plan) - len(members), len(plan)

        def accept(lines: list[str]) -> None:
            nonlocal done
            job.accept(lines)
            done += len(lines)
            if progress is not None:
                progress(min(1.0, (before + done) / n))

        if backend == "ray":
            _on_ray(plan, members, accept)
        elif backend == "dask" or type(backend).__module__.startswith("distributed"):
            _on_dask(plan, members, accept, backend)
        else:
            raise InputError(f"there is no backend {backend!r}; there are 'ray' and 'dask'")
    job.finish(output, overwrite=overwrite)
    return Sweep(plan.name, job)
