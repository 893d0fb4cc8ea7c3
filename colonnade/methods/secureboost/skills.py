"""The passive half of SecureBoost: what an owner of columns may be asked.

m rows that a tree learns from, M rows to divide, J nodes, T slots, C outputs.
"""

from __future__ import annotations

from typing import Any

import torch

from colonnade.errors import WireError
from colonnade.methods.secureboost.trees.bins import MAX_BINS
from colonnade.methods.secureboost.trees.owner import Owner, arrays, as_bits
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.bounds import COUNT, TEXT, between
from colonnade.parties.skills.skill import Reply, Skill, operation
from colonnade.wire.kind import Kind
from colonnade.wire.message import Message

BINNING = Kind(
    "binning", "down", "into how many bins trees divide a column; the public key, where derivatives will be encrypted",
    tensors={"key": ("int", 1)},
)  # fmt: skip
LAYOUT = Kind(
    "layout", "up", "of each column: its slots, whether it holds categories, its fullest slot",
    tensors={"layout": ("int", 2)},
)  # fmt: skip
DERIVATIVES = Kind(
    "derivatives", "down",
    "g and h of each row in the clear, as whole numbers; the rows, where they are others than before",
    tensors={"rows": ("int", 1), "derivatives": ("int", 2)},
)  # fmt: skip
CIPHERTEXTS = Kind(
    "ciphertexts", "down", "the same under Paillier encryption, as bytes",
    tensors={"rows": ("int", 1), "ciphertexts": ("int", 2)},
)  # fmt: skip
NODES = Kind("nodes", "down", "which node of a tree each of these rows is in", tensors={"nodes": ("int", 1)})
HISTOGRAM = Kind("histogram", "up", "sums of g and h by node and slot", tensors={"histogram": ("int", 3)})
SUMS = Kind("sums", "up", "the same under encryption, as bytes", tensors={"sums": ("int", 2)})
DIVISION = Kind(
    "division", "down", "nodes to divide: their rows, the column, and which of its slots go left",
    tensors={"rows": ("int", 1), "sizes": ("int", 1), "column": ("int", 1), "left": ("int", 2)},
)  # fmt: skip
VISIT = Kind(
    "visit", "down", "rows of a table that came to splits of the receiver's, by record",
    tensors={"records": ("int", 1), "at": ("int", 1)},
)  # fmt: skip
SIDES = Kind("sides", "up", "which of the rows go left, one bit each", tensors={"sides": ("int", 1)})

BINS = between(2, MAX_BINS)
SUMMED = {"count": COUNT, "output": COUNT}


class Columns(Skill):
    """Columns cut into slots, and rows divided by them."""

    found: Owner | None = None

    @operation(asks=BINNING, answers=LAYOUT, takes={"bins": BINS, "rows": COUNT, "outputs": COUNT}, readies=True)
    def bin(self, message: Message) -> Reply:
        """Bin the columns, and say how many slots each has."""
        values: dict[str, Any] = dict(message.values)
        self.found = Owner.fit(self.party, values["bins"])
        if "key" in message.tensors:
            self.found.receive_key(message.tensors["key"].numpy(), values["rows"], values["outputs"])
        return Reply({"layout": self.found.layout.tensor()})

    @operation(asks=DIVISION, answers=SIDES)
    def divide(self, message: Message) -> Reply:
        """Alg. 2: which rows go left; what divides them stays here."""
        return Reply({"sides": as_bits(self.owner.divide(**arrays(message)))})

    @operation(asks=VISIT, answers=SIDES, takes={"table": TEXT})
    def visit(self, message: Message) -> Reply:
        """Which rows of a table go left at splits of this party's."""
        return Reply({"sides": as_bits(self.owner.visit(**arrays(message), table=str(message.values["table"])))})

    @property
    def owner(self) -> Owner:
        """The owner of the columns, once they are binned."""
        if self.found is None:
            raise WireError(
                f"party {self.party.name!r} was asked to take part in trees before its columns were binned."
            )
        return self.found


def owner_of(party: PassiveParty) -> Owner:
    """The owner of a party's columns."""
    return party.skill(Columns).owner


class ClearSums(Skill):
    """Sums of derivatives that come in the clear."""

    @operation(asks=DERIVATIVES)
    def take_derivatives(self, message: Message) -> None:
        """g and h of the next round of trees, in the clear."""
        owner_of(self.party).take(**arrays(message))

    @operation(asks=NODES, answers=HISTOGRAM, takes=SUMMED)
    def add_up(self, message: Message) -> Reply:
        """Alg. 1: sums by node and slot, (J, T, 2)."""
        values: dict[str, Any] = dict(message.values)
        sums = owner_of(self.party).add_up(message.tensors["nodes"].numpy(), values["count"], values["output"])
        return Reply({"histogram": torch.from_numpy(sums)})


class EncryptedSums(Skill):
    """Sums of derivatives that nobody here can read."""

    @operation(asks=CIPHERTEXTS)
    def take_encrypted(self, message: Message) -> None:
        """g and h of the next round of trees, under encryption."""
        owner_of(self.party).take_encrypted(**arrays(message))

    @operation(asks=NODES, answers=SUMS, takes=SUMMED)
    def add_up_encrypted(self, message: Message) -> Reply:
        """Alg. 1 on ciphertexts."""
        values: dict[str, Any] = dict(message.values)
        owner = owner_of(self.party)
        sums = owner.add_up_encrypted(message.tensors["nodes"].numpy(), values["count"], values["output"])
        return Reply({"sums": torch.from_numpy(sums)})
