"""The rules of the house, on the package as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import colonnade as cn
from benchmarks.gates.checks import CHECKS, behind, methods_of
from benchmarks.gates.tree import Tree

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(ROOT)


@pytest.mark.parametrize("rule", CHECKS)
def test_the_package_keeps_the_rule(tree: Tree, rule: str) -> None:
    assert list(CHECKS[rule](tree)) == []


def test_depth_is_counted_as_python_counts_it(tree: Tree) -> None:
    """The rule reads files; here the classes themselves are asked, without what dataclasses generate."""
    read = {method.node.name: {one.node.name for one in behind(tree, method)} for method in methods_of(tree)}
    assert read.keys() == {method.__name__ for method in cn.METHODS.values()}
    for method in cn.METHODS.values():
        ours = {one for one in method.__mro__ if one.__module__.startswith("colonnade.")}
        written = {one.__name__ for one in ours if any(_is_written(part, one) for part in vars(one).values())}
        assert read[method.__name__] == written


def _is_written(part: object, owner: type) -> bool:
    """Whether a member is a function of the class's own file; dataclasses make theirs from text."""
    function = getattr(part, "fget", None) or getattr(part, "__func__", part)
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename.endswith(f"{owner.__module__.replace('.', '/')}.py")
