"""The rules, one function each: what breaks it, one line for each place."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.gates.tree import PACKAGE, Class, Module, Tree

LARGEST = 500_000  # bytes of a tracked file
DEEPEST = 2  # classes with behaviour behind a method
AT_THE_TOP = {"__init__.py", "__main__.py", "errors.py", "seeds.py", "py.typed"}
OTHER_WORDS = {"local", "cross", "keep", "open", "align"}  # names that are also other words: a tower, a verb
METHOD = (f"{PACKAGE}.methods._base.method", "Method")
SKILL = (f"{PACKAGE}.parties.skills.skill", "Skill")
DEFERRED = "# deferred: "


def loose(tree: Tree) -> Iterator[str]:
    """Nothing lies at the top level but the five files that belong there."""
    for path in sorted((tree.root / PACKAGE).iterdir()):
        if path.is_file() and path.name not in AT_THE_TOP:
            yield f"{PACKAGE}/{path.name} lies loose at the top level. Put it into a room."


def large(tree: Tree) -> Iterator[str]:
    """No tracked file is large."""
    for path in tracked(tree.root):
        if path.is_file() and path.stat().st_size > LARGEST:
            size = path.stat().st_size // 1000
            yield f"{path.relative_to(tree.root)} has {size} kB, above {LARGEST // 1000} kB. Keep it elsewhere."


def tracked(root: Path) -> list[Path]:
    """The files that git tracks or would add; all files where there is no repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode or not listed.stdout:
        return sorted(root.rglob("*"))
    return [root / name for name in listed.stdout.split("\0") if name]


def deep(tree: Tree) -> Iterator[str]:
    """At most two classes with behaviour stand behind a method."""
    for method in methods_of(tree):
        chain = behind(tree, method)
        if len(chain) > DEEPEST:
            names = ", ".join(one.node.name for one in chain)
            yield (
                f"{method.module.at(method.node)}: {method.node.name} stands on {len(chain)} classes with behaviour: "
                f"{names}. At most {DEEPEST}; make shared code a function."
            )


def methods_of(tree: Tree) -> list[Class]:
    """The classes of all methods: those in the table METHODS."""
    registry = f"{PACKAGE}.methods.registry"
    known = {one.key for one in tree.below(*METHOD)}
    named = (tree.find(registry, ast.Name(name)) for name in _table_values(tree, registry, "METHODS"))
    return [one for one in named if one is not None and one.key in known]


def _table_values(tree: Tree, module: str, table: str) -> list[str]:
    for node in tree.modules[module].tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == table:
            return [value.id for value in getattr(node.value, "values", []) if isinstance(value, ast.Name)]
    raise LookupError(f"{module} has no table {table}.")


def behind(tree: Tree, method: Class) -> list[Class]:
    """The classes with behaviour that a method stands on, itself included."""
    return [one for one in tree.ancestors(method).values() if one.behaves]


def stray_skills(tree: Tree) -> Iterator[str]:
    """A skill lies in its method's room, among the shared ones, or at the sites."""
    for one in tree.below(*SKILL):
        shared = one.module.name.startswith((f"{PACKAGE}.parties.skills.", f"{PACKAGE}.sites."))
        if not shared and not one.module.paper:
            yield f"{one.module.at(one.node)}: the skill {one.node.name} lies outside a method's room."


def compared(tree: Tree) -> Iterator[str]:
    """Nothing outside a method's room compares with a name of a method, operation or objective."""
    names = (
        tree.keys_of(f"{PACKAGE}.methods.registry", "METHODS")
        | tree.keys_of(f"{PACKAGE}.objectives", "OBJECTIVES")
        | tree.operations
    ) - OTHER_WORDS
    for module in tree.modules.values():
        for node in ast.walk(module.tree) if not module.paper else ():
            for text in _compared_with(node):
                if text in names:
                    yield f"{module.path}:{node.lineno} compares with the name {text!r}. Ask for a property instead."  # type: ignore[attr-defined]


def _compared_with(node: ast.AST) -> Iterator[str]:
    """The texts that `==`, `!=`, `in` or `case` compares with."""
    if isinstance(node, ast.Compare):
        for side in (node.left, *node.comparators):
            yield from _texts(side)
    elif isinstance(node, ast.MatchValue):
        yield from _texts(node.value)


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for item in node.elts:
            yield from _texts(item)


def engine_asked(tree: Tree) -> Iterator[str]:
    """Nothing asks which engine it has."""
    engines = {
        one.node.name
        for one in tree.classes.values()
        if one.module.room == "engines" and any(getattr(f, "name", "") == "call" for f in one.node.body)
    }
    for module in tree.modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                for name in {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node.args[1])}:
                    if name in engines:
                        yield f"{module.at(node)} asks whether it has the engine {name}. Read `engine.promises`."


def private_read(tree: Tree) -> Iterator[str]:
    """No private attribute of an object of another room is read."""
    private = {name: set(_private_names(ms)) for name, ms in _by_room(tree).items()}
    for module in tree.modules.values():
        elsewhere = set().union(*(names for room, names in private.items() if room != module.room))
        for node in ast.walk(module.tree):
            name = node.attr if isinstance(node, ast.Attribute) else ""
            if _of_another(node) and _is_private(name) and name in elsewhere - private[module.room]:
                yield f"{module.at(node)} reads {ast.unparse(node)}, which is private to another room."  # type: ignore[arg-type]


def _of_another(node: ast.AST) -> bool:
    """Whether an attribute is not the object's own."""
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") not in ("self", "cls")


def _by_room(tree: Tree) -> dict[str, list[Module]]:
    rooms: dict[str, list[Module]] = defaultdict(list)
    for module in tree.modules.values():
        rooms[module.room].append(module)
    return rooms


def _private_names(modules: list[Module]) -> Iterator[str]:
    """Private functions and attributes that the modules define."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef):
                name = node.name
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                name = node.attr
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
            else:
                continue
            if _is_private(name):
                yield name


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def named_in_passive(tree: Tree) -> Iterator[str]:
    """The passive party knows no method by name."""
    module = tree.modules[f"{PACKAGE}.parties.passive"]
    names = tree.keys_of(f"{PACKAGE}.methods.registry", "METHODS") | {one.node.name for one in methods_of(tree)}
    for name in sorted(names - {"local", "linear", "combined"}):
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w*-])", module.text):
            yield f"{module.path} names the method {name!r}."


def late_imports(tree: Tree) -> Iterator[str]:
    """A module imports ours at its top; a later import says which package it waits for. Commands may import late."""
    for module in tree.modules.values():
        if module.room in ("cli", ""):
            continue
        for node in _late(module.tree):
            source = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
            if source.split(".")[0] == PACKAGE and DEFERRED not in module.line(node.lineno):
                yield (
                    f"{module.at(node)} imports {source} inside a function. Import it at the top; where it needs a "
                    f"package that may be absent or slow, say so: {DEFERRED}…"
                )


def _late(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom))


def root_imported(tree: Tree) -> Iterator[str]:
    """No room imports the root, which imports all rooms; the version alone is read there."""
    for module in tree.modules.values():
        for node in ast.walk(module.tree):
            named = isinstance(node, ast.Import) and any(alias.name == PACKAGE for alias in node.names)
            given = isinstance(node, ast.ImportFrom) and node.module == PACKAGE
            if named or (given and any(alias.name != "__version__" for alias in node.names)):  # type: ignore[union-attr]
                yield f"{module.path}:{node.lineno} imports the root. Import the module that has the name."  # type: ignore[attr-defined]


Check = Callable[[Tree], Iterator[str]]
CHECKS: dict[str, Check] = {
    "loose": loose,
    "large": large,
    "deep": deep,
    "stray-skills": stray_skills,
    "compared": compared,
    "engine-asked": engine_asked,
    "private-read": private_read,
    "named-in-passive": named_in_passive,
    "late-imports": late_imports,
    "root-imported": root_imported,
}
