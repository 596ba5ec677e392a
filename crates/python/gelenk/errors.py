"""Exceptions of Gelenk.

All are `GelenkError`. Those of wrong input are `ValueError` or `KeyError` too, and those of a computation that could not go
on are `RuntimeError`, so that code which knows nothing of Gelenk can catch them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

__all__ = [
    "Diagnostic",
    "GelenkError",
    "InputError",
    "InternalError",
    "ModelError",
    "RunError",
    "UnknownNameError",
]


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong with a file, where, and what to do."""

    code: str
    severity: str
    message: str
    element: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    help: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        help = f"; {self.help}" if self.help else ""
        return f"{place}{self.severity}: {self.message}{help}"


class GelenkError(Exception):
    """Anything that Gelenk refuses or cannot do."""


class InputError(GelenkError, ValueError):
    """An argument whose value makes no sense."""


class UnknownNameError(GelenkError, KeyError):
    """A model, parameter, input or quantity that is not there; the message has the nearest that is."""

    def __str__(self) -> str:  # KeyError shows quotes
        return str(self.args[0]) if self.args else ""


class ModelError(GelenkError, ValueError):
    """A model or problem file with faults: all of them are in `diagnostics`."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = ()):
        super().__init__(message, diagnostics)
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return str(self.args[0])


class RunError(GelenkError, RuntimeError):
    """A computation that could not go on.

    `element` names the body or joint at fault, if known. After `gelenk.run`, `run` holds what was reached.
    """

    run = None

    def __init__(self, message: str, element: str | None = None):
        super().__init__(message, element)
        self.element = element

    def __str__(self) -> str:
        return str(self.args[0])


class InternalError(GelenkError, RuntimeError):
    """A mistake of Gelenk itself: please report it."""


def _diagnostics(text: str) -> tuple[Diagnostic, ...]:
    names = Diagnostic.__dataclass_fields__
    return tuple(
        Diagnostic(**{name: entry[name] for name in names if name in entry})
        for entry in json.loads(text)
    )


def _model_error(message: str, diagnostics: str) -> ModelError:
    return ModelError(message.rstrip(), _diagnostics(diagnostics))
