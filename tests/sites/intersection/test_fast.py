"""RR22 by spu, in an interpreter of its own. What needs spu is left out where there is none."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from colonnade.errors import ConfigError, WireError
from colonnade.sites.intersection import FastPair, IdSet, Link, align, chosen, fast, intersect

needs_spu = pytest.mark.skipif(
    fast.interpreter() is None, reason=f"spu is not installed: set {fast.VARIABLE} to a Python that has it"
)


@needs_spu
def test_two_and_three_parties() -> None:
    ids = {"bank": [f"u{i}" for i in range(50)], "shop": [f"u{i}" for i in range(80, 20, -1)]}
    for telco in ([], [f" u{i}" for i in range(40, 45)]):
        sets = {**ids, "telco": telco} if telco else ids
        alignment, agreed = align(sets, protocol="rr22")
        expected = sorted(set.intersection(*({i.strip() for i in values} for values in sets.values())))
        assert [sets["bank"][row] for row in alignment.rows] == expected
        for name, rows in agreed.items():
            assert [sets[name][row].strip() for row in rows] == expected


@needs_spu
def test_nothing_in_common_and_nothing_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = set(Path("/tmp").glob("psi_*.trace"))
    assert FastPair(IdSet([1], "bank"), IdSet([2], "shop")).meet(alone=True).tolist() == []
    assert not list(tmp_path.iterdir())
    assert set(Path("/tmp").glob("psi_*.trace")) <= before


@needs_spu
def test_two_processes_over_a_link() -> None:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{s.getsockname()[1]}" for s in (one, two)]
    link = Link(active=addresses[0], passive=addresses[1], session="test", timeout_s=30)
    with ThreadPoolExecutor(2) as pool:
        mine = pool.submit(intersect, IdSet(range(50), "bank"), link, "active", tell=False)
        theirs = pool.submit(intersect, IdSet(range(40, 99), "shop"), link, "passive", tell=False)
    assert sorted(mine.result().tolist()) == list(range(40, 50))
    assert theirs.result().tolist() == []


def test_a_link_to_another_machine_needs_certificates() -> None:
    with pytest.raises(ConfigError, match="needs certificate=, key= and authority="):
        Link(active="127.0.0.1:9000", passive="shop.example:9000", session="s")
    with pytest.raises(ConfigError, match="together"):
        Link(active="127.0.0.1:1", passive="127.0.0.1:2", session="s", key=Path("k.pem"))
    with pytest.raises(ConfigError, match="role='server'"):
        link = Link(active="127.0.0.1:1", passive="127.0.0.1:2", session="s")
        intersect(IdSet([1], "p"), link, "server", tell=True)  # type: ignore[arg-type]


def test_rules_must_agree() -> None:
    with pytest.raises(ConfigError, match="'shop' has normalise='exact', not 'text'"):
        FastPair(IdSet([1], "bank"), IdSet([1], "shop", normalise="exact"))
    with pytest.raises(WireError, match="not been told"):
        _ = FastPair(IdSet([1], "bank"), IdSet([1], "shop")).agreed


def test_the_named_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fast.VARIABLE, str(tmp_path / "python"))
    with pytest.raises(ConfigError, match=r"COLONNADE_SPU_PYTHON=.* is no file"):
        fast.interpreter()
    stand_in = tmp_path / "python"
    stand_in.write_text("#!/bin/sh\ncat >/dev/null\necho 'cannot import spu' >&2\nexit 3\n")
    stand_in.chmod(0o755)
    assert chosen() == "rr22"
    with pytest.raises(WireError, match="ended with 3: cannot import spu"):
        FastPair(IdSet([1], "bank"), IdSet([1], "shop")).meet()
