"""Before a run: every party fits its preprocessing and builds its networks, once; again when a model is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colonnade.methods._base.setup import Setup
from colonnade.parties.active import ActiveParty, Scaler
from colonnade.parties.federation import Federation
from colonnade.wire.message import Value


def prepare(fed: Federation, setup: Setup, options: Mapping[str, Any]) -> None:
    """Fit the preprocessing and build encoders and head at every party."""
    active = fed.active
    active.precision = options.get("precision", "float32")
    active.frozen = setup.freezes_own
    plan = plan_of(active, setup, options)
    if active.preprocessor is None:
        active.fit_preprocessor()
    if active.preprocessor is not None:
        build_own_encoder(active, setup, plan)
    received: dict[str, int] = {}
    if setup.skills:
        with fed.phase("setup"):
            answers = fed.ask_values("prepare", **plan, precision=active.precision)
        received = {name: int(answer["width"]) for name, answer in answers.items()}  # type: ignore[arg-type]
    if setup.scales_received:
        own = {active.name: active.width} if active.frozen and active.encoder is not None else {}
        active.scaler = Scaler({**own, **received}).to(active.device)
    build_head(active, received, setup, options)


def plan_of(active: ActiveParty, setup: Setup, options: Mapping[str, Any]) -> dict[str, Value]:
    """The settings from which every party builds its encoder."""
    names = {"hidden": "hidden", "width": "width", "embedding": "embedding", "image": "image_encoder", "seed": "seed"}
    plan = {name: options[option] for name, option in names.items() if option in options}
    more = {} if setup.plan is None else setup.plan(active)
    made: dict[str, Any] = {name: plan.get(name, more.get(name)) for name in names} | more
    return {**made, "hidden": list(made["hidden"])}


def build_own_encoder(active: ActiveParty, setup: Setup, plan: Mapping[str, Value]) -> None:
    """The active party's own encoder: built like the others', unless the method makes another."""
    if setup.own_encoder is not None and active.own_encoder is None:
        active.own_encoder = setup.own_encoder(active)
    more = {} if setup.own_plan is None else setup.own_plan(active)
    active.build_encoder(**{**plan, **more})  # type: ignore[arg-type]


def build_head(active: ActiveParty, received: Mapping[str, int], setup: Setup, options: Mapping[str, Any]) -> None:
    """The head over representations of these widths."""
    if setup.head is not None:
        setup.head(active, received)
    else:
        how, hidden = options.get("join", "concat"), list(options["head_hidden"])
        active.build_head(received, how=how, hidden=hidden, seed=options["seed"])
    if setup.heads is not None:
        setup.heads(active, received)
