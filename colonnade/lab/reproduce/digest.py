"""A digest of what the runs of a recipe depend on: sources and settings, not the commit.

The sources are the modules that a run of a cell, the recipe's methods and the reader of its data import, and what those
import. Comments, docstrings and empty lines do not count. Lists of all methods and all data sets do not either: a new
method changes nothing about the runs of the others.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from colonnade.data.datasets import DATASETS
from colonnade.errors import ConfigError
from colonnade.lab.reproduce.form import Recipe, data_named
from colonnade.lab.reproduce.plan import cells_of
from colonnade.lab.run.cell import parse_method
from colonnade.methods.registry import method_named

PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).resolve().parents[3]  # the folder that holds the package
LISTS = {PACKAGE, f"{PACKAGE}.methods.registry", f"{PACKAGE}.data.datasets"}
RUN, ATTACKED, COMPUTED = "lab.run.cell", "lab.compare.trials", "lab.reproduce.privacy_loss"


def digest_of(made: Recipe, data: str) -> str:
    """Of the runs of a recipe on one of its data sets."""
    entry = data_named(made, data)
    methods = [m for m in made.method if not m.data or data in m.data]
    start = RUN if not (made.attack or made.loss) else ATTACKED if made.attack else COMPUTED
    roots = {f"{PACKAGE}.{start}"}
    if not made.loss:
        roots |= {method_named(parse_method(m.run)[0]).__module__ for m in methods}
        roots.add(inspect.unwrap(DATASETS[data].read).__module__)
    settings = [[place.method, place.at, cell.key] for m in methods for place, cell in cells_of(made, entry, m)]
    content = [settings, made.attack, made.loss, entry.adversary, sorted(_code(name) for name in _closure(roots))]
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


def _closure(roots: set[str]) -> set[str]:
    """The modules, with all of ours that they import."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found and name not in LISTS and _file(name) is not None:
            found.add(name)
            waiting += _imports(name)
    return found


@cache
def _imports(name: str) -> tuple[str, ...]:
    return tuple(_imported(ast.parse(_source(name))))


def _imported(tree: ast.Module) -> Iterator[str]:
    """Modules of ours that a source names in an import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == PACKAGE)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if _file(inner) is not None else str(node.module)


@cache
def _file(name: str) -> Path | None:
    place = ROOT.joinpath(*name.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def _code(name: str) -> str:
    """A digest of a module's lines that do something."""
    return f"{name} {hashlib.blake2b(code_lines(_source(name)).encode(), digest_size=8).hexdigest()}"


def _source(name: str) -> str:
    file = _file(name)
    if file is None:
        raise ConfigError(f"{name} is no module under {ROOT}. Name one that is.")
    return file.read_text(encoding="utf-8")


def code_lines(source: str) -> str:
    """A source without docstrings, lines of comments and empty lines."""
    spoken = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                spoken |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = [line.rstrip() for place, line in enumerate(source.splitlines(), 1) if place not in spoken]
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))
