"""Every path into the package that a document names leads somewhere."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md")), *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "results").glob("*.md")),
]  # fmt: skip
MODULE = re.compile(r"(?<![\w./-])colonnade((?:\.[A-Za-z_]\w*)+)")
NAMED = re.compile(r"`(colonnade/[\w/]+)\.py`: `([A-Za-z_][\w.]*)")  # a file, and what is in it
MEMBER = re.compile(r"`([A-Z]\w*[a-z]\w*\.[a-z_]\w*)`")  # of a class that the page does not place
FILE = re.compile(r"(?<![\w-])(?:colonnade|tests|benchmarks)/[\w./-]*\w")
ELSEWHERE = {"CHANGELOG.md": "an entry may say where something was before"}


def resolves(name: str) -> bool:
    """Whether a dotted path is a module, or a name in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if not name.startswith(str(error.name)):
                raise
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in ELSEWHERE], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_paths_of_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    modules = {f"colonnade{rest}" for rest in MODULE.findall(text)}
    files = set(FILE.findall(text))
    modules |= {f"{path.replace('/', '.')}.{name}" for path, name in NAMED.findall(text)}
    assert [name for name in sorted(modules) if not resolves(name)] == []
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []


def members() -> set[str]:
    """`Class.function` of all classes of the package, those of their bases included."""
    classes: dict[str, list[ast.ClassDef]] = {}  # of one name there may be several
    for path in (ROOT / "colonnade").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(node)

    def of(name: str) -> set[str]:
        found: set[str] = set()
        for node in classes.get(name, ()):
            found |= {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            found = found.union(*(of(ast.unparse(base)) for base in node.bases if ast.unparse(base) != name))
        return found

    return {f"{name}.{function}" for name in classes for function in of(name)}


def test_the_functions_that_pages_of_methods_name_exist() -> None:
    pages = {
        page.name: MEMBER.findall(page.read_text(encoding="utf-8")) for page in PAGES if page.parent.name == "methods"
    }
    known = members()
    assert sum(map(len, pages.values())) > 30
    assert [(page, name) for page, names in pages.items() for name in names if name not in known] == []


def test_a_path_that_does_not_exist_is_found() -> None:
    assert resolves("colonnade.load") and resolves("colonnade.data.splits.split")
    assert not resolves("colonnade.nowhere") and not resolves("colonnade.data.splits.nothing")
