"""The package as it is written: its modules, parsed, and what its classes derive from. Nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

PACKAGE = "colonnade"


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str  # with dots
    path: str  # from the root of the repository
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The folder under the package, or the file itself where it lies at the top level."""
        return self.name.split(".")[1] if "." in self.name else ""

    @property
    def paper(self) -> str:
        """The method's room that the file is in; empty elsewhere."""
        parts = self.name.split(".")
        return parts[2] if len(parts) > 2 and parts[1] == "methods" and parts[2] not in ("_base", "registry") else ""

    def line(self, number: int) -> str:
        """One line of the file."""
        return self.text.splitlines()[number - 1]

    def at(self, node: ast.stmt | ast.expr) -> str:
        """Where something stands, for a person."""
        return f"{self.path}:{node.lineno}"


@dataclass(frozen=True)
class Class:
    """One class, and where it is."""

    module: Module
    node: ast.ClassDef

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from all others."""
        return self.module.name, self.node.name

    @property
    def behaves(self) -> bool:
        """Whether it defines functions; a group of fields does not."""
        return any(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in self.node.body)


class Tree:
    """All modules and classes of the package under a root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = {made.name: made for made in _modules(root)}

    @cached_property
    def classes(self) -> dict[tuple[str, str], Class]:
        """Classes of modules, by module and name."""
        return {
            (made.name, node.name): Class(made, node)
            for made in self.modules.values()
            for node in made.tree.body
            if isinstance(node, ast.ClassDef)
        }

    def ancestors(self, one: Class) -> dict[tuple[str, str], Class]:
        """The class and all classes of ours that it derives from."""
        found = {one.key: one}
        for base in one.node.bases:
            above = self.find(one.module.name, base.value if isinstance(base, ast.Subscript) else base)
            if above is not None:
                found |= self.ancestors(above)
        return found

    def below(self, module: str, name: str) -> list[Class]:
        """All classes that derive from one, without itself."""
        top = (module, name)
        return [one for one in self.classes.values() if one.key != top and top in self.ancestors(one)]

    def find(self, module: str, name: ast.expr) -> Class | None:
        """The class of ours that a name stands for in a module; None where it is not ours."""
        if not isinstance(name, ast.Name):
            return None
        return self._find(module, name.id)

    def _find(self, module: str, name: str) -> Class | None:
        if (module, name) in self.classes:
            return self.classes[module, name]
        source = imported(self.modules[module].tree).get(name) if module in self.modules else None
        return None if source is None else self._find(*source)

    def keys_of(self, module: str, table: str) -> set[str]:
        """The names in a table such as METHODS: the keys of a dict at the top of a module."""
        for node in self.modules[module].tree.body:
            targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
            value = getattr(node, "value", None)
            if isinstance(value, ast.Dict) and any(isinstance(t, ast.Name) and t.id == table for t in targets):
                return {key.value for key in value.keys if isinstance(key, ast.Constant)}  # type: ignore[misc]
        raise LookupError(f"{module} has no table {table}.")

    @cached_property
    def operations(self) -> set[str]:
        """The names of all operations: functions that `@operation` declares."""
        return {
            function.name
            for one in self.classes.values()
            for function in one.node.body
            if isinstance(function, ast.FunctionDef)
            for mark in function.decorator_list
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "operation"
        }


@cache
def parsed(text: str) -> ast.Module:
    """A file's tree; the same text is parsed once."""
    return ast.parse(text)


@cache
def imported(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """What a name stands for that is imported at the top of a module: module and name."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }


def _modules(root: Path) -> Iterator[Module]:
    for path in sorted((root / PACKAGE).rglob("*.py")):
        inside = path.relative_to(root)
        parts = inside.with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        yield Module(name, inside.as_posix(), text, parsed(text))
