"""`--site` can be left out where there is one file of the kit's party."""

from __future__ import annotations

from pathlib import Path

import pytest

from colonnade.errors import ConfigError
from colonnade.sites.provisioning.processes import Kit
from colonnade.sites.provisioning.site_file import site_path
from colonnade.sites.settings.description import FederationFile

KIT = Kit(Path("kits/shop"), FederationFile(name="two", active="bank", passive=("shop",)))


def write(path: Path, party: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[site]\nparty = "{party}"\n')
    return path


def test_the_file_of_the_kits_party_is_found_among_others(tmp_path: Path) -> None:
    write(tmp_path / "bank" / "site.toml", "bank")
    mine = write(tmp_path / "shop" / "site.toml", "shop")
    assert site_path(KIT, None, tmp_path) == mine


def test_the_file_in_the_folder_itself_is_found(tmp_path: Path) -> None:
    assert site_path(KIT, None, write(tmp_path / "site.toml", "shop").parent) == tmp_path / "site.toml"


def test_a_file_that_is_given_is_taken(tmp_path: Path) -> None:
    write(tmp_path / "site.toml", "shop")
    assert site_path(KIT, Path("other.toml"), tmp_path) == Path("other.toml")


def test_two_files_of_the_party_are_not_chosen_between(tmp_path: Path) -> None:
    write(tmp_path / "a" / "site.toml", "shop")
    write(tmp_path / "b" / "site.toml", "shop")
    with pytest.raises(ConfigError, match=r"2 files are for party 'shop': .*a/site.toml, .*b/site.toml. Name one by"):
        site_path(KIT, None, tmp_path)


def test_where_there_is_none_the_folder_is_named(tmp_path: Path) -> None:
    write(tmp_path / "bank" / "site.toml", "bank")
    with pytest.raises(ConfigError, match=rf"no site.toml of party 'shop' is in {tmp_path}.*Name it by --site"):
        site_path(KIT, None, tmp_path)


def test_a_file_that_cannot_be_read_is_taken_so_that_its_error_is_shown(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text("[site\n")
    assert site_path(KIT, None, tmp_path) == tmp_path / "site.toml"
