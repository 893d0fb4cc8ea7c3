"""A whole trained model as a folder of ONNX files, which appears complete and checked or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from colonnade import __version__
from colonnade.deploy.export.graph import need_onnx
from colonnade.deploy.export.parts import ATOL, Exported, export_encoder, export_head, file_names
from colonnade.errors import ConfigError, above, one_of
from colonnade.methods._base.folder import check_replaceable, new_folder
from colonnade.methods._base.method import Method
from colonnade.parties.party import Party
from colonnade.parties.skills.kinds import REPRESENTATION
from colonnade.wire.protection import Noise

INDEX = "export.json"
CATEGORIES = ("text", "codes")


def export_onnx(model: Method, folder: str | Path, *, categories: str = "text", atol: float = ATOL) -> dict[str, Any]:
    """Write each party's encoder and the head as ONNX files with a JSON file beside each; what `export.json` says.

    Args:
        model: a trained method with encoders at the parties.
        folder: new or empty, or an earlier export, which is replaced.
        categories: how encoders read categories: "text" (the values themselves) or "codes" (int64, for runtimes
            without text).
        atol: largest difference to the network on sample rows; where outputs are larger than 1, in units of the
            largest.
    """
    folder = Path(folder)
    _check(model, folder, categories, atol)
    with new_folder(folder, INDEX) as draft:
        return _write(model, draft, categories, atol)


def _check(model: Method, folder: Path, categories: str, atol: float) -> None:
    problems: list[str] = []
    one_of(problems, "categories", categories, CATEGORIES)
    above(problems, "atol", atol, 0)
    if not isinstance(model, Method) or not model.trained().has_networks:
        name = getattr(model, "name", type(model).__name__)
        problems.append(f"{name} has no networks that could be exported. Export a method with encoders and a head.")
    if problems:
        raise ConfigError(f"export: {' '.join(problems)}")
    check_replaceable(folder, INDEX)
    need_onnx()


def _write(model: Method, draft: Path, categories: str, atol: float) -> dict[str, Any]:
    """All files of the model; the index tells nobody another party's columns."""
    fed = model.federation_
    parties = [party for party in (fed.active, *_passive(model)) if party.encoder is not None]
    files = file_names(party.name for party in parties)
    encoders = {
        p.name: export_encoder(p, model.name, draft, file=files[p.name], categories=categories, atol=atol)
        for p in parties
    }
    head = export_head(fed.active, model.name, draft, atol=atol)
    index = {
        "colonnade": __version__, "method": model.name, "task": model.task_, "active": fed.active.name,
        "encoders": {name: _entry(made) for name, made in encoders.items()},
        "head": {**_entry(head), "inputs": {i["party"]: slot for slot, i in head.facts["inputs"].items()}},
        "classes": head.facts["classes"], "atol": atol, "notes": notes(model),
        "files": sorted([INDEX, *(path.name for path in draft.iterdir())]),
    }  # fmt: skip
    (draft / INDEX).write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return index


def _entry(made: Exported) -> dict[str, Any]:
    return {"file": made.path.name, "output": made.facts["output"], "largest_difference": made.difference}


def _passive(model: Method) -> list[Party]:
    return list((model.federation_.engine.promises.parties or {}).values())


def notes(model: Method) -> list[str]:
    """What the files do not do, and the model does."""
    found = []
    for protection in model.federation_.wire.protections:
        if not isinstance(protection, Noise) or protection.kind != REPRESENTATION.name:
            continue
        if protection.phases is None or "predict" in protection.phases:
            found.append(
                f"{protection.name}:representation:{protection.scale:g} acts on what parties send, also for "
                f"predictions; the exported encoders give representations without it."
            )
    if model.federation_.wire.precision != "float32":
        found.append(
            f"representations travel as {model.federation_.wire.precision}; the exported encoders do not round them."
        )
    precision = model.get_params()["precision"]
    if precision != "float32":
        found.append(f"the model was trained in {precision}; the files compute in float32.")
    return found
