"""The demo's files are those of the example that people read."""

from __future__ import annotations

from pathlib import Path

import pytest

from colonnade.cli.demo.files import write_files
from colonnade.sites.settings.description import read_federation

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "two-sites"


@pytest.mark.parametrize("name", ["federation.toml", "bank/site.toml", "shop/site.toml"])
def test_the_demo_writes_the_example(name: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    assert (tmp_path / name).read_text() == (EXAMPLE / name).read_text()


def test_another_port_is_written(tmp_path: Path) -> None:
    write_files(tmp_path, 43210)
    assert read_federation(tmp_path / "federation.toml").port == 43210
