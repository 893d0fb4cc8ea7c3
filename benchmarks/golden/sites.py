"""Training, prediction and alignment by frames between three sites, without sockets: what a case of `Sites` gives.

What a site draws for noise and masks comes from `secrets`, which gives the same bytes here every time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from . import digest
from .adapter import find
from .cases import Sites

PASSIVE = ("shop", "telco")
ALIGNED = range(100, 200)  # ids that all three hold
ANNOUNCING = ("assign",)  # requests that later trees put a field into: their size is not compared
UNSEEN = {*digest.IGNORED, "assignment", "run"}  # of the record: the traffic of `assign`, and what names the run


@dataclass
class Frames:
    """What crossed between the active party and one site, by operation."""

    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    hashes: dict[str, Any] = field(default_factory=lambda: defaultdict(hashlib.blake2b))

    def add(self, request: bytes, reply: bytes) -> None:
        """Count a request and its reply, and digest what they hold."""
        asked, answered = find("open_request")(request), find("open_reply")(reply)
        self.counts[asked.operation] += 1
        self.hashes[asked.operation].update(json.dumps([asked.number, answered.ended]).encode())
        for frame in (asked.frame, answered.content if answered.ended == "answered" else b""):
            self.hashes[asked.operation].update(_announced(frame, asked.operation))

    def shown(self) -> dict[str, str]:
        """By operation."""
        return {name: f"{count} {self.hashes[name].hexdigest()[:16]}" for name, count in self.counts.items()}


def _announced(frame: bytes, operation: str) -> bytes:
    """A frame without the fields that later trees add to it; a frame is 8 bytes of length, a header, and tensors."""
    if operation not in ANNOUNCING or not frame:
        return frame
    length = int.from_bytes(frame[:8], "little")
    header = digest.of_json(json.loads(frame[8 : 8 + length]))
    return json.dumps(header).encode() + frame[8 + length :]


def train(case: Sites, folder: Path) -> dict[str, Any]:
    """Train between the sites, predict between them, and put the parts together; what came of it, by field."""
    files = _write_sites(folder, case)
    found: dict[str, Any] = {}
    if case.align:
        found["alignment"] = _align(files)
    frames: dict[str, Frames] = defaultdict(Frames)
    run = find("run_of")(case.name)
    if case.cut is not None:
        _cut(case, files, run, frames)
    record = _train(case, files, run, frames, None)
    later: dict[str, Frames] = defaultdict(Frames)
    predicted = _predict(files, run, later)
    parts = {name: _part(path.parent / "out") for name, path in files.items()}
    if not case.align:  # an alignment puts rows in another order every time
        found["predictions"] = predicted
        found["frames"] = {name: made.shown() for name, made in frames.items()}
        found["frames of predictions"] = {name: made.shown() for name, made in later.items()}
    return {
        "weights": {name: part[0] for name, part in parts.items()},
        "history": {name: part[1].get("history") for name, part in parts.items()},
        "traffic": digest.of_json(record["traffic"]),
        "record": {"record": digest.of_json(record, UNSEEN), **{name: part[1] for name, part in parts.items()}},
        "audit": digest.of_json(json.loads((files["bank"].parent / "out" / f"{run.hex()}-audit.json").read_text())),
        **found,
    }


def load(case: Sites, folder: Path) -> dict[str, Any]:
    """Put the parts that a tree's sites kept together, and predict."""
    folders = {name: folder / name / "out" for name in ("bank", *PASSIVE)}
    model = find("put_together")(folders, find("run_of")(case.name).hex(), "bank")
    views = _tables()
    views["bank"].pop("churn")
    rows = {name: frame.loc[list(ALIGNED)] for name, frame in views.items()}
    out = model.predict_proba(rows)
    return {"predictions": digest.of_array(out), "history": digest.of_json(model.history_)}


@contextlib.contextmanager
def _drawing(name: str) -> Iterator[None]:
    """Let `secrets` give a party the same secret every time."""
    byte = (1 + ("bank", *PASSIVE).index(name)).to_bytes()
    with patch.object(secrets, "token_bytes", lambda size: byte * size), patch.object(secrets, "randbits", lambda n: 7):
        yield


def _tables(rows: int = len(ALIGNED), alone: int = 10) -> dict[str, pd.DataFrame]:
    """Tables by party, index = id; `rows` of them are held by all, `alone` by one party each."""
    draw = np.random.default_rng(0)
    hidden = draw.normal(size=(rows, 3))
    made = {}
    for k, name in enumerate(("bank", *PASSIVE)):
        base = np.concatenate([hidden, draw.normal(size=(alone, 3))])
        x = base @ draw.normal(size=(3, 3 + k)) + 0.2 * draw.normal(size=(rows + alone, 3 + k))
        frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(3 + k)]).round(4)
        if name == "shop":
            frame["sort"] = np.where(base[:, 0] > 0, "a", "b")
        frame.index = pd.Index([*ALIGNED, *range(5000 + 100 * k, 5000 + 100 * k + alone)], name="id")
        made[name] = frame.sample(frac=1.0, random_state=k)
    target = pd.Series(np.where(hidden.sum(axis=1) > 0, "yes", "no"), index=list(ALIGNED))
    made["bank"]["churn"] = target.reindex(made["bank"].index)
    return made


def _write_sites(folder: Path, case: Sites) -> dict[str, Path]:
    """A folder per party with its table and its site.toml."""
    files = {}
    for name, frame in _tables().items():
        home = folder / name
        home.mkdir(parents=True)
        frame.to_csv(home / "table.csv")
        (home / "aligned.txt").write_text("\n".join(map(str, ALIGNED)))
        agreed = 'normalise = "text"' if case.align else 'aligned = "aligned.txt"'
        label = '\nlabel = "churn"' if name == "bank" else ""
        policy = "" if name == "bank" else case.policy
        (home / "site.toml").write_text(
            f'[site]\nparty = "{name}"\n{agreed}\n[table]\ndata = "table.csv"\nid = "id"{label}\n[policy]\n{policy}\n'
        )
        files[name] = home / "site.toml"
    return files


def _federation() -> Any:
    return find("FederationFile")(name="golden", active="bank", passive=PASSIVE)


def _open_sites(files: dict[str, Path], run: bytes, *, remember: bool = False) -> dict[str, Any]:
    """The passive sites; with `remember`, each has a journal and goes on where it was cut."""
    opened = {}
    for name in PASSIVE:
        site = find("read_site")(files[name])
        table = find("read_site_table")(site)
        with _drawing(name):
            past = find("Past")(site.out, f"{run.hex()}-{name}") if remember else None
        offers = find("Offers")(site, table, "bank", run)
        opened[name] = find("PassiveSite")(name, "bank", table, site.policy, run, site.out, offers, past=past)
    return opened


def _calls(
    opened: dict[str, Any], frames: dict[str, Frames], cut: int | None = None
) -> dict[str, Callable[[bytes], bytes]]:
    """Functions in the place of a network, which write down what crosses; the shop is lost at request `cut`."""
    turn = threading.Lock()

    def call_of(name: str) -> Callable[[bytes], bytes]:
        def call(request: bytes) -> bytes:
            if cut is not None and name == "shop" and find("open_request")(request).number >= cut:
                raise find("LostSiteError")("site 'shop' was cut.", (name,))
            with turn, _drawing(name):  # sites have a process each: here they share torch's global generator
                reply: bytes = opened[name].answer(request)
            frames[name].add(request, reply)
            return reply

        return call

    return {name: call_of(name) for name in opened}


def _train(
    case: Sites, files: dict[str, Path], run: bytes, frames: dict[str, Frames], cut: int | None
) -> dict[str, Any]:
    """Train until the end, or until the cut."""
    remember = case.cut is not None
    site = find("read_site")(files["bank"])
    with _drawing("bank"):
        memory = find("Memory")(site.out, run.hex(), "bank") if remember else None
    opened = _open_sites(files, run, remember=remember)
    replies = None if memory is None else memory.replies
    link = find("Link")(_calls(opened, frames, cut), run, memory=replies, ahead=False)
    table = find("read_site_table")(site, PASSIVE)
    active = find("ActiveSite")(_federation(), site, table, link, memory)
    try:
        record: dict[str, Any] = active.train(case.method, dict(case.options))
        return record
    except find("LostSiteError"):
        if memory is not None:
            memory.replies.journal.close()  # as a process that ends does
        raise
    finally:
        for there in opened.values():
            if there.past is not None:
                there.past.journal.close()


def _cut(case: Sites, files: dict[str, Path], run: bytes, frames: dict[str, Frames]) -> None:
    """Train until the cut."""
    with contextlib.suppress(find("LostSiteError")):
        _train(case, files, run, frames, case.cut)
        raise RuntimeError(f"the run was over before request {case.cut}, at which it should be cut.")


def _predict(files: dict[str, Path], run: bytes, frames: dict[str, Frames]) -> dict[str, Any]:
    """Predictions of all aligned rows, and of one that the bank alone holds."""
    site = find("read_site")(files["bank"])
    table = find("read_site_table")(site, PASSIVE)
    part = find("read_part")(site.out, run.hex(), "bank")
    predictor, source = find("predictor_between_sites")(part, table, find("Cache")(0, 1.0))
    later = find("run_of")("predictions")
    missing = source.connect(_calls(_open_sites(files, later), frames), later)
    ids = [*ALIGNED, 5000]
    places = {one: row for row, one in enumerate(table.ids.tolist())}
    batch = find("predict_batch")(predictor, ids, np.array([places[one] for one in ids]), table)
    shown = batch.frame(predictor, "id")
    return {
        "outputs": digest.of_array(batch.values),
        "table": digest.of_bytes(shown.to_csv().encode()),
        "missing": digest.of_json([missing.absent, missing.refused]),
    }


def _align(files: dict[str, Path]) -> Any:
    """The rows that all sites agree on by private set intersection; keys, and with them frames, are new every time."""
    site = find("read_site")(files["bank"])
    run = find("run_of")("alignment")
    link = find("Link")(_calls(_open_sites(files, run), defaultdict(Frames)), run)
    record = find("align_sites")(site, _federation(), find("read_site_table")(site, PASSIVE), link)
    return digest.of_json({key: record[key] for key in ("aligned", "common", "ids")})


def _part(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A party's part of the model: tensors, and the JSON beside them."""
    found = digest.of_folder(folder)
    tensors = {
        key: content
        for name, content in found.items()
        if name.endswith(".safetensors")
        for key, content in content.items()
    }
    kept = {name.partition("-")[2]: content for name, content in found.items() if name.endswith(".json")}
    part = next(content for content in kept.values() if "encoder" in content)
    return tensors, part
