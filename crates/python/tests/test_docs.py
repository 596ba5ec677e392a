"""Docstrings, the README and the guide are true: their examples run, in order, as a newcomer would type them."""

import ast
import doctest
import re
from pathlib import Path

import gelenk
import gelenk._results
import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("module", ["gelenk", "gelenk._results", "gelenk.gym"])
def test_docstrings(module):
    module = pytest.importorskip(module)
    found = doctest.testmod(module)
    assert found.attempted > 3 and found.failed == 0


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_snippets(page, tmp_path, monkeypatch):
    text = (ROOT / page).read_text()
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    count = 0
    files = re.finditer(r"```(python|toml)\n(.*?)```", text, re.S)
    for language, block in (match.groups() for match in files):
        first = block.splitlines()[0]
        if language == "toml":
            named = re.fullmatch(r"# ([\w-]+\.toml)", first)
            if named:
                Path(named[1]).write_text(block)
            continue
        count += 1
        line = text[: text.index(block)].count("\n")
        exec(compile("\n" * line + block, page, "exec"), names)
    assert count >= (1 if page == "README.md" else 6)


def test_stubs_name_what_there_is():
    stubs = ast.parse((Path(gelenk.__file__).parent / "_gelenk.pyi").read_text())
    native = gelenk._gelenk
    told = {node.name for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    there = {name for name in dir(native) if not name.startswith("__")}
    assert told == there
    for node in stubs.body:
        if isinstance(node, ast.ClassDef):
            members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            members |= {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
            public = {n for n in dir(getattr(native, node.name)) if not n.startswith("_")}
            assert {n for n in members if not n.startswith("_")} == public, node.name
    for name in gelenk.__all__:
        assert getattr(gelenk, name).__doc__ or name == "__version__", name
