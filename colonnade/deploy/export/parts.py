"""One file at a time: a party's encoder, which the party can take alone, and the head.

Each has a JSON file beside it that says what goes in and what comes out; the same is in the file's metadata.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade import __version__
from colonnade.data.preprocess import CLIP, Preprocessor
from colonnade.deploy.export.check import largest_difference
from colonnade.deploy.export.graph import CODES, describe, need_onnx, read_text, to_graph
from colonnade.deploy.export.modules import Head, raw_encoder, readers
from colonnade.deploy.export.samples import ROWS, feeds, sample
from colonnade.parties.active import ActiveParty
from colonnade.parties.party import Party

ATOL = 1e-4


@dataclass(frozen=True)
class Exported:
    """A written and checked file."""

    path: Path
    facts: dict[str, Any]  # what its JSON file says
    difference: float  # largest one between file and network on the sample rows


def export_encoder(
    party: Party, method: str, folder: Path, *, file: str = "", categories: str = "text", atol: float = ATOL
) -> Exported:
    """Write a party's preprocessing and encoder as one graph, raw columns in and representation out, and check it."""
    need_onnx()
    raw, made = raw_encoder(party), party.fitted_preprocessor()
    where = f"party {party.name!r}: its encoder {type(party.encoder).__name__}"
    text = bool(made.fields) and categories == "text"
    inputs = {CODES if text and k == "categories" else k: v for k, v in _example(made).items()}
    graph = to_graph(raw, inputs, "representation", where)
    if text:
        read_text(graph, made.vocabularies)
    facts = {
        "kind": "encoder", "party": party.name, "method": method, "colonnade": __version__,
        "inputs": _inputs(made, categories), "output": {"name": "representation", "shape": ["rows", party.width]},
    }  # fmt: skip
    describe(graph, facts)
    path = folder / f"encoder-{file or file_names([party.name])[party.name]}.onnx"
    path.write_bytes(graph.SerializeToString())
    _write_facts(path, facts)
    rows = sample(made)
    expected = _represent(party, made)
    return Exported(path, facts, largest_difference(path, feeds(made, rows, categories), expected, where, atol))


def _example(made: Preprocessor) -> dict[str, Tensor]:
    """Raw rows for the exporter to follow, categories as codes."""
    return {name: torch.from_numpy(values) for name, values in feeds(made, sample(made, 3), "codes").items()}


def _represent(party: Party, made: Preprocessor) -> npt.NDArray[Any]:
    """What the party itself says about the sample rows, (ROWS, D)."""
    table = made.transform(sample(made), f"party {party.name!r}").to(party.device)
    with full_precision(party):
        return party.encode(table.all(), train=False).cpu().numpy()


@contextmanager
def full_precision(party: Party) -> Iterator[None]:
    """float32 inside, as the files have it."""
    before, party.precision = party.precision, "float32"
    try:
        yield
    finally:
        party.precision = before


def _inputs(made: Preprocessor, categories: str) -> dict[str, Any]:
    """What each input holds, for a reader who has nothing but this."""
    if made.shape:
        kind = "uint8" if made.in_bytes else "float32"
        return {"pixels": {"type": kind, "shape": ["rows", *made.shape], "note": "as in training, not scaled"}}
    out: dict[str, Any] = {}
    if made.columns:
        out["numbers"] = {
            "type": "float32", "shape": ["rows", len(made.columns)], "columns": list(made.columns),
            "note": f"raw values, NaN for missing; clipped at {CLIP:g} standard deviations inside",
        }  # fmt: skip
    if made.fields:
        notes = {
            "text": "the categories themselves; text that is not listed counts as unknown or missing",
            "codes": "i for the i-th of a column's categories, from 1; 0 for unknown or missing",
        }
        out["categories"] = {
            "type": "string" if categories == "text" else "int64", "shape": ["rows", len(made.fields)],
            "columns": list(made.fields), "note": notes[categories],
            "known": {f: list(v) for f, v in zip(made.fields, made.vocabularies, strict=True)},
        }  # fmt: skip
    return out


def export_head(active: ActiveParty, method: str, folder: Path, *, atol: float = ATOL) -> Exported:
    """Write scaler, join and head as one graph, representations in and probabilities or targets out, and check it."""
    need_onnx()
    names, targets, where = readers(active), active.targets, f"the head of party {active.name!r}"
    slots = {name: f"representation_{file}" for name, file in file_names(names).items()}
    widths = {active.name: active.width, **active.widths}
    parts = {name: _representations(widths[name], seed) for seed, name in enumerate(names)}
    output = "prediction" if targets.task == "regression" else "probabilities"
    example = {slots[name]: torch.from_numpy(h[:3]) for name, h in parts.items()}
    graph = to_graph(Head(active).eval(), example, output, where)
    facts = {
        "kind": "head", "party": active.name, "method": method, "colonnade": __version__,
        "task": targets.task, "classes": targets.classes.tolist(),
        "inputs": {
            slots[n]: {"type": "float32", "shape": ["rows", widths[n]], "party": n, "note": "zeros if it lacks the row"}
            for n in names
        },
        "output": {"name": output, "shape": ["rows"] if targets.task == "regression" else ["rows", targets.outputs]},
    }  # fmt: skip
    describe(graph, facts)
    path = folder / "head.onnx"
    path.write_bytes(graph.SerializeToString())
    _write_facts(path, facts)
    given = {slots[name]: h for name, h in parts.items()}
    return Exported(path, facts, largest_difference(path, given, _predict(active, parts), where, atol))


def _representations(width: int, seed: int) -> npt.NDArray[np.float32]:
    """(ROWS, D), the second row zero, as of a party that lacks it."""
    h = np.random.default_rng(seed).normal(size=(ROWS, width)).astype(np.float32)
    h[1] = 0
    return h


@torch.no_grad()
def _predict(active: ActiveParty, parts: dict[str, npt.NDArray[np.float32]]) -> npt.NDArray[Any]:
    """What the active party itself says about these representations."""
    tensors = {name: torch.from_numpy(h).to(active.device) for name, h in parts.items()}
    own = tensors.pop(active.name, None)
    training = active.head.training
    active.head.eval()
    with full_precision(active):
        out = active.targets.decode(active.logits(active.joint(own, tensors, ROWS)))
    active.head.train(training)
    return out


def _write_facts(path: Path, facts: dict[str, Any]) -> None:
    path.with_suffix(".json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def file_names(parties: Iterable[str]) -> dict[str, str]:
    """A name for each party that any file system and runtime takes, no two alike."""
    out: dict[str, str] = {}
    taken: set[str] = set()
    for party in parties:
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", party)[:60] or "party"
        name, i = plain, 1
        while name.lower() in taken:
            i += 1
            name = f"{plain}-{i}"
        taken.add(name.lower())
        out[party] = name
    return out
