"""What a user can reach is refused by an error, which `python -O` keeps; an assert is dropped there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import colonnade

ROOMS = ("lab", "deploy", "cli")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_that_users_reach_has_no_assert(room: str) -> None:
    files = sorted((Path(colonnade.__file__).parent / room).rglob("*.py"))
    found = [
        f"{path.name}:{node.lineno}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    ]
    assert files and found == []
