"""The files beside the package that a visitor of the repository opens."""

from __future__ import annotations

import re
from pathlib import Path

import colonnade as cn

ROOT = Path(__file__).resolve().parent.parent


def test_the_citation_names_the_version_of_the_package() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", text, re.MULTILINE) == [cn.__version__]
    assert all(f"\n{key}:" in f"\n{text}" for key in ("cff-version", "message", "title", "authors", "license"))


def test_the_security_page_says_how_to_report_and_its_links_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)", text)
    assert "docs/threat-model.md" in links and all((ROOT / link).is_file() for link in links)
    section = re.search(r"under \*(.+?)\*", text)
    assert section and f"## {section[1]}" in (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    assert "private security advisory" in text and "@" not in text


def test_no_wheel_lies_in_the_root() -> None:
    assert not list(ROOT.glob("*.whl"))
    assert "*.whl" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
