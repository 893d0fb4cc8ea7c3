"""What a run of a method sets up: who takes part, what may be asked of them, what crosses, which networks are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from colonnade.objectives.training import OwnObjective
from colonnade.parties.active import ActiveParty
from colonnade.parties.party import Party
from colonnade.parties.skills.encoder import Encoding, Keeping
from colonnade.parties.skills.skill import Offer, Skill, offer_of
from colonnade.parties.skills.split import Split
from colonnade.wire.message import Value
from colonnade.wire.protection import Noise

Sends = Mapping[str, tuple[str, ...]]  # kinds of messages that hold real numbers, and the phases in which they cross
Skills = tuple[type[Skill], ...]

SPLIT: Sends = {"representation": ("train", "validate", "predict"), "gradient": ("train",)}
ONCE: Sends = {"representation": ("train", "predict")}
SPLIT_SKILLS: Skills = (Encoding, Split, Keeping)
ONCE_SKILLS: Skills = (Encoding,)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a run with these options needs.

    Attributes:
        skills: what passive parties may be asked; without any, nobody else takes part.
        sends: kinds with real numbers, and the phases in which they cross.
        lacks: kinds that other options would send, and what to change, for errors.
        mixes: kinds whose rows depend on the other rows of a batch under these options, and why.
        aligned_labels: whether labelled rows must be held by all parties.
        own_columns: whether the active party must have columns.
        freezes_own: whether the active party's own encoder stays as pre-training left it.
        scales_received: whether representations, sent once, are standardised on arrival.
        one_by_one: whether passive parties are asked one at a time, so that none answers for others.
        plan: what the plan of all encoders has besides the options; it may depend on the labels.
        own_plan: what the plan of the active party's own encoder has besides.
        own_encoder: makes another own encoder for the active party, where it returns one.
        head: makes another head than the default one.
        heads: adds further networks at the active party, once the head is built.
        blank: makes the encoder that training puts in the place of a party's, before its weights are loaded.
        blank_own: whether that is so for the active party, too.
        noise: protections that the method adds by itself.
        objectives: those of the user's, by name.
    """

    skills: Skills = ()
    sends: Sends = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)
    mixes: Mapping[str, str] = field(default_factory=dict)
    aligned_labels: bool = True
    own_columns: bool = False
    freezes_own: bool = False
    scales_received: bool = False
    one_by_one: bool = False
    plan: Callable[[ActiveParty], dict[str, Value]] | None = None
    own_plan: Callable[[ActiveParty], dict[str, Value]] | None = None
    own_encoder: Callable[[ActiveParty], nn.Module | None] | None = None
    head: Callable[[ActiveParty, Mapping[str, int]], None] | None = None
    heads: Callable[[ActiveParty, Mapping[str, int]], None] | None = None
    blank: Callable[[Party], nn.Module] | None = None
    blank_own: bool = False
    noise: tuple[Noise, ...] = ()
    objectives: Mapping[str, OwnObjective] = field(default_factory=dict)

    @property
    def offer(self) -> Offer:
        """The operations and kinds of the run."""
        return offer_of(*self.skills)

    def mixed(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Kinds whose rows depend on the other rows of their batch, and why."""
        found = {kind.name: kind.mixes for kind in self.offer.kinds.values() if kind.mixes}
        own = options.get("encoders")
        modules = [m for e in (own.values() if isinstance(own, Mapping) else ()) for m in e.modules()]
        norms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
        if str(options.get("image_encoder")).startswith("resnet") or any(isinstance(m, norms) for m in modules):
            found["representation"] = "batch norm mixes the rows of a batch in a party's encoder"
        return {**found, **self.mixes}
