"""The README holds what it says: its blocks run, its table is the record's, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.headline import END, PAGES, START, few_labels_page, headline, sentence, with_headline
from benchmarks.results import RESULTS, ROOT
from tests.blocks import BLOCK, KINDS, assert_alike, blocks, problems

README = (ROOT / "README.md").read_text(encoding="utf-8")
INDEXES = [ROOT / name for name in ("README.md", "docs/README.md", "docs/methods/README.md", "results/README.md")]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def links(page: Path) -> list[str]:
    """Files of this repository that a page links to or shows."""
    return LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder whose name has blanks, on a machine without data sets."""
    folder = tmp_path / "a clean folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("COLONNADE_DATA", raising=False)
    return folder


def test_the_readme_runs_from_top_to_bottom(clean: Path) -> None:
    found = problems(README, clean)
    assert not found, "\n".join(found)


def test_every_block_is_of_a_known_kind_and_most_run() -> None:
    found = blocks(README)
    assert {block.kind for block in found} <= set(KINDS)
    assert len(found) == len(re.findall(r"^```\w+$", README, re.M))
    assert sum(not block.skipped for block in found) > len(found) / 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_headline_is_made_from_the_record(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert with_headline(text) == text, "Run `python -m benchmarks.headline`."


def test_the_first_figures_are_made_from_the_record() -> None:
    assert sentence() in README and len(README.splitlines()) <= 180


def test_the_page_of_few_labels_is_made_from_its_record() -> None:
    assert (RESULTS / "few-labels.md").read_text(encoding="utf-8") == few_labels_page()


def test_the_headline_replaces_an_old_table_and_refuses_a_page_without_place() -> None:
    assert with_headline(f"a\n{START}\n| old |\n{END}\nb") == f"a\n{START}\n{headline()}\n{END}\nb"
    with pytest.raises(ValueError, match="no lines"):
        with_headline("a page")


@pytest.mark.parametrize("page", INDEXES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    targets = links(page)
    assert targets
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_is_in_an_index() -> None:
    for folder in (ROOT / "docs", ROOT / "docs" / "methods", RESULTS):
        listed = set(links(folder / "README.md"))
        assert {page.name for page in folder.glob("*.md")} - listed - {"README.md"} == set()


# the runner of blocks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("```python\n1 / 0\n```", "line 2 (python): ZeroDivisionError"),
        ("```bash\ncolonnade run nothing --data digits\n```", "line 2 (bash)"),
        ("```bash\nls\n```", "holds colonnade commands"),
        ("```python\nprint(0.5)\n```\n\n```text\n0.9\n```", "It prints 0.5; the page shows 0.9"),
        ("```toml\na = 1\n```", "names its file"),
        ("```yaml\na: 1\n```", "not 'yaml'"),
    ],
)
def test_a_block_that_fails_is_named(page: str, says: str, clean: Path) -> None:
    (problem,) = problems(page, clean)
    assert says in problem


def test_blocks_share_names_files_and_a_folder(clean: Path) -> None:
    page = (
        "```python\na = 2\n```\n```toml\n# a.toml\nb = 3\n```\n```python\nprint(a, open('a.toml').read()[-2:])\n```\n"
    )
    assert problems(page + "```text\n2 3\n```\n<!-- not run: slow -->\n```python\n1 / 0\n```", clean) == []


def test_outputs_are_alike_when_words_are_equal_and_numbers_near() -> None:
    assert_alike("alone  0.47, 48,948 bytes\n", "alone 0.49, 50,000 bytes")
    with pytest.raises(AssertionError, match="48,948"):
        assert_alike("alone 0.47, 48,948 bytes", "alone 0.47, 4,948 bytes")
    with pytest.raises(AssertionError, match="page shows"):
        assert_alike("alone 0.47", "together 0.47")
