"""RR22 by spu, where the user has it: ten times as fast as elliptic curves, over a link of spu's own.

spu needs Python < 3.12 and numpy < 2, so it runs in a process of its own, by the interpreter that COLONNADE_SPU_PYTHON
names, or by this one where spu is installed. It gets the hashed ids (see `ids.py`) in a folder that only this user can
read, which is removed afterwards.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import secrets
import subprocess
import sys
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from colonnade.data.ids import Positions
from colonnade.errors import ConfigError, MissingDependencyError, WireError
from colonnade.sites.intersection.holder import Progress, silent
from colonnade.sites.intersection.ids import WIDTH, IdSet, Keys

VARIABLE = "COLONNADE_SPU_PYTHON"
ROLES = ("active", "passive")  # spu's ranks

_LOOPBACK = re.compile(r"(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+")
_TRACE = re.compile(r"Trace has been written to (/\S+/psi_[\w-]+\.trace)")


@dataclass(frozen=True, kw_only=True)
class Link:
    """How two sites meet: "host:port" of both, a session name that both know, and certificates (PEM files)."""

    active: str
    passive: str
    session: str
    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None  # who signed the other's certificate
    timeout_s: int = 600

    def __post_init__(self) -> None:
        tls = (self.certificate, self.key, self.authority)
        if any(tls) and not all(tls):
            raise ConfigError("a link needs certificate=, key= and authority= together.")
        if not all(tls) and not all(_LOOPBACK.fullmatch(address) for address in (self.active, self.passive)):
            raise ConfigError(
                f"a link between {self.active!r} and {self.passive!r} needs certificate=, key= and authority=. "
                f"Without them it may only join processes on one machine (127.0.0.1)."
            )


def interpreter() -> str | None:
    """The Python that has spu; None when there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        if not Path(named).is_file():
            raise ConfigError(f"{VARIABLE}={named!r} is no file. Name a Python interpreter that has spu, or unset it.")
        return named
    return sys.executable if importlib.util.find_spec("spu") else None


def required() -> str:
    """The Python that has spu; an error that says how to get one."""
    found = interpreter()
    if found is None:
        raise MissingDependencyError(
            f"RR22 needs spu, which needs Python 3.11 or before and numpy 1. Make it an environment of its own "
            f"(python3.11 -m venv spu; spu/bin/pip install spu==0.9.5) and set {VARIABLE}=spu/bin/python. "
            f"Or use protocol='ecdh'."
        )
    return found


def intersect(
    ids: IdSet, link: Link, role: Literal["active", "passive"], *, tell: bool, protocol: str = "rr22"
) -> Positions:
    """One site's part of an intersection over a link; both sites call it at the same time.

    Returns the own rows that are common, by hash: the same order at both. The passive party gets none unless `tell`.
    """
    if role not in ROLES:
        raise ConfigError(f"role={role!r} is no choice. Use 'active' or 'passive'.")
    (found,) = _execute({ROLES.index(role): ids.keys}, link, tell, protocol)
    return ids.find(found) if found is not None else np.zeros(0, dtype=np.int64)


class FastPair:
    """The active party's link to a passive one that lives in the same process."""

    def __init__(self, ids: IdSet, other: IdSet, *, protocol: str = "rr22", progress: Progress = silent) -> None:
        if ids.normalise != other.normalise:
            raise ConfigError(f"party {other.party!r} has normalise={other.normalise!r}, not {ids.normalise!r}.")
        self.ids, self.other, self.protocol, self.progress = ids, other, protocol, progress
        self._both: Keys | None = None  # what the passive party knows to be common, by hash
        self._agreed: Positions | None = None

    def meet(self, *, alone: bool = False) -> Positions:
        """Own rows whose ids the passive party holds; when it is `alone`, it learns them in the same step."""
        mine, theirs = self._run(self.ids.keys, tell=alone)
        self._both = theirs
        return np.sort(self.ids.find(mine))

    def tell(self, rows: Positions) -> None:
        """Intersect again with the agreed rows alone, now for both to see; then send their order."""
        agreed = self.ids.keys[rows]
        both = self._both
        if both is None or len(both) != len(rows):
            both = self._run(agreed, tell=True)[1]
        if both is None:
            raise WireError(f"party {self.other.party!r} was not told which rows are aligned. Align again.")
        theirs = self.other.find(both)  # by hash
        by_hash = np.argsort(agreed)  # all that is sent: where each of the ids by hash stands in the agreed order
        self._agreed = np.empty(len(rows), dtype=np.int64)
        self._agreed[by_hash] = theirs

    @property
    def agreed(self) -> Positions:
        """The passive party's rows in the agreed order."""
        if self._agreed is None:
            raise WireError(f"party {self.other.party!r} has not been told which rows are aligned.")
        return self._agreed

    def _run(self, keys: Keys, *, tell: bool) -> tuple[Keys, Keys | None]:
        self.progress("intersect", 0, len(keys))
        mine, theirs = _execute({0: keys, 1: self.other.keys}, None, tell, self.protocol)
        self.progress("intersect", len(keys), len(keys))
        if mine is None:
            raise WireError(f"the intersection with party {self.other.party!r} gave nothing. Align again.")
        return mine, theirs


def _execute(sides: dict[int, Keys], link: Link | None, tell: bool, protocol: str) -> list[Keys | None]:
    """Let spu intersect; the common keys of each side, None where it learns nothing."""
    with TemporaryDirectory(prefix="colonnade-") as name:  # readable by this user alone
        folder = Path(name)
        for rank, keys in sides.items():
            (folder / f"given{rank}.csv").write_bytes(_written(keys))
        _run(folder, _task(folder, list(sides), link, tell, protocol))
        return [_read(folder / f"found{rank}.csv") if rank == 0 or tell else None for rank in sides]


def _task(folder: Path, ranks: list[int], link: Link | None, tell: bool, protocol: str) -> dict[str, Any]:
    sides = [{"rank": r, "given": str(folder / f"given{r}.csv"), "found": str(folder / f"found{r}.csv")} for r in ranks]
    task = {"protocol": protocol, "tell": tell, "sides": sides, "tls": None, "timeout_s": 600}
    if link is None:
        return {**task, "session": secrets.token_hex(8), "parties": [(role, role) for role in ROLES]}
    tls = {"certificate": str(link.certificate), "key": str(link.key), "authority": str(link.authority)}
    parties = [("active", link.active), ("passive", link.passive)]
    return {
        **task, "session": link.session, "parties": parties, "tls": tls if link.key else None,
        "timeout_s": link.timeout_s,
    }  # fmt: skip


def _run(folder: Path, task: dict[str, Any]) -> None:
    program = Path(__file__).with_name("fast_worker.py").read_text()
    done = subprocess.run(
        [required(), "-c", program],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder)},
        check=False,
    )
    for trace in _TRACE.findall(done.stdout + done.stderr):  # spu leaves them in /tmp
        Path(trace).unlink(missing_ok=True)
    if done.returncode:
        last = (done.stderr.strip() or "no text").splitlines()[-1]
        raise WireError(
            f"spu's set intersection ended with {done.returncode}: {re.sub('[A-Za-z0-9+/]{20}', '…', last)}"
        )


def _written(keys: Keys) -> bytes:
    """A column of base64: 15 bytes are 20 characters, without a rest."""
    lines = np.full((len(keys), 21), ord("\n"), dtype=np.uint8)
    lines[:, :20] = np.frombuffer(b64encode(keys.tobytes()), dtype=np.uint8).reshape(-1, 20)
    return b"id\n" + lines.tobytes()


def _read(path: Path) -> Keys:
    _, _, lines = path.read_bytes().partition(b"\n")
    return np.frombuffer(b64decode(lines.translate(None, b'\n"')), dtype=f"S{WIDTH}")
