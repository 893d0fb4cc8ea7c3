"""Training in one process: what a case of `Fit` gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import colonnade as cn

from . import adapter, digest
from .cases import Fit


class Own(nn.Module):
    """A user's encoder of four numbers, and whether one of them is missing."""

    width = 5

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.linear = nn.Linear(4 + 1, self.width)
        draw = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weight in self.parameters():
                weight.copy_(0.5 * torch.randn(weight.shape, generator=draw))

    def forward(self, x: Tensor) -> Tensor:
        """Of (B, 5) numbers."""
        return torch.tanh(self.linear(x))


def shrink() -> type[Any]:
    """A user's objective: representations become small."""

    class Shrink(cn.Objective):
        def __init__(self, encoder: nn.Module, *, width: int) -> None:
            super().__init__(encoder)

        def draw(self, table: Any, rows: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
            found: tuple[Tensor, ...] = table.rows(rows)
            return found

        def forward(self, *drawn: Tensor) -> Tensor:
            loss: Tensor = self.encoder(*drawn).square().mean()
            return loss

    return Shrink


def own_encoders(case: Fit) -> dict[str, nn.Module] | None:
    """The user's encoders, drawn anew."""
    return {party: Own(seed) for seed, party in enumerate(case.own)} or None


def train(case: Fit, folder: Path) -> dict[str, Any]:
    """Train, predict and save; what came of it, by field."""
    parts = _split(case)
    options = dict(case.options)
    if case.own:
        options["encoders"] = own_encoders(case)
    if case.own_objective:
        options["objective"] = shrink()
    model = cn.METHODS[case.method](**options)
    model.fit(parts.train, parts.valid if case.data.validation else None)
    found = {
        "history": digest.of_json(model.history_),
        "traffic": digest.of_json(model.traffic_.to_json()),
        "audit": digest.of_json(adapter.audit(model)),
        "late": digest.of_json(getattr(model, "late_", {})),
        "predictions": _predict(model, parts.test),
        "absent": _predict_without(model, parts.test),
    }
    if case.own_objective:  # such a model cannot be saved
        return found
    saved = digest.of_folder(model.save(folder))
    kept = saved.pop("model.json")
    found["record"] = {key: value for key, value in kept.items() if key not in ("history", "traffic")}
    return {"weights": saved, **found}


def load(case: Fit, folder: Path) -> dict[str, Any]:
    """Load what a tree saved, and predict."""
    if case.own_objective:
        return {}
    model = cn.load(folder, encoders=own_encoders(case))
    return {"predictions": _predict(model, _split(case).test), "history": digest.of_json(model.history_)}


def _split(case: Fit) -> Any:
    given = case.data
    views, labels = given.make()
    data = cn.VerticalData(views, labels, given.active, task=given.task)  # type: ignore[arg-type]
    return cn.split(data, labels=given.labels, aligned=given.aligned, seed=1)


def _outputs(model: Any, views: Any, **how: Any) -> Any:
    return model.predict(views, **how) if model.task_ == "regression" else model.predict_proba(views, **how)


def _predict(model: Any, test: Any) -> dict[str, Any]:
    out = {
        "outputs": digest.of_array(_outputs(model, test.views)),
        "labels": digest.of_array(model.predict(test.views)),
    }
    return {**out, "scores": digest.of_json(model.scores(test.views, test.labels))}


def _predict_without(model: Any, test: Any) -> dict[str, Any]:
    """Without some rows of the last party, and without the last party."""
    last = list(test.views)[-1]
    fewer = {**test.views, last: test.only(test.views[last].ids[:-3]).views[last]}
    others = {name: view for name, view in test.views.items() if name != last}
    found = {}
    for name, views in (("rows", fewer), ("party", others)):
        found[name] = digest.of_array(_outputs(model, views, absent="zero"))
        found[f"{name} that lacked"] = digest.of_json(getattr(model, "absent_", {}))
    return found
