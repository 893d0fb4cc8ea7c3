"""How several numbers share one ciphertext; both ends know it.

Numbers are fields of `width` bits, wide enough for any sum. A *pack* is g and h of one or several outputs; a row has a
ciphertext for each pack. What comes back holds as many packs as fit, so that there is less to send and to decrypt.

m rows, C outputs, k ciphertexts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.methods.secureboost.trees.columns import Layout, Whole
from colonnade.methods.secureboost.trees.derivatives import bits_for

ENCRYPT_TO_SHIFT = 0.7  # time of an encryption over that of shifting, sending and decrypting one output of a sum


@dataclass(frozen=True)
class Packing:
    """Fields of ciphertexts."""

    key_bits: int
    rows: int  # that are added up, at most
    outputs: int  # C
    parts: int  # ciphertexts of a row

    @classmethod
    def cheapest(cls, key_bits: int, rows: int, outputs: int, sums: int) -> Packing:
        """The packing that costs least for these sums of a tree, at most, by node and slot.

        More outputs in a ciphertext make fewer to encrypt, and longer packs to shift, to send and to decrypt.
        """
        alone = cls(key_bits, rows, outputs, outputs)
        together = math.sqrt(ENCRYPT_TO_SHIFT * rows / max(1, sums))
        return cls(key_bits, rows, outputs, math.ceil(outputs / min(max(1, round(together)), alone.packs)))

    @property
    def width(self) -> int:
        """Bits of a field: any sum of derivatives of all rows, with its sign, in whole bytes."""
        return -(-(bits_for(self.rows) + self.rows.bit_length() + 1) // 8) * 8

    @property
    def group(self) -> int:
        """Outputs in one pack."""
        return math.ceil(self.outputs / self.parts)

    @property
    def shift(self) -> int:
        """Bits of a pack."""
        return 2 * self.width * self.group

    @property
    def packs(self) -> int:
        """Packs in one ciphertext that comes back."""
        return self._room // self.shift

    @property
    def size(self) -> int:
        """Bytes of a ciphertext."""
        return self.key_bits // 4

    @property
    def _room(self) -> int:
        return self.key_bits - 2  # n has key_bits bits, and half of the numbers below it are negative ones

    def pack(self, values: Whole) -> npt.NDArray[Any]:
        """Derivatives (m, 2C) → (m, parts) large whole numbers."""
        large, step = values.astype(object), 2 * self.group
        powers = np.array([1 << (self.width * k) for k in range(step)], dtype=object)
        starts = range(0, 2 * self.outputs, step)
        return np.stack([(large[:, p : p + step] * powers[: 2 * self.outputs - p]).sum(axis=1) for p in starts], axis=1)

    def unpack(self, numbers: Iterable[int], output: int, count: int) -> Whole:
        """g and h of one output in the first `count` packs, (count, 2)."""
        fields, middle = 2 * self.group * self.packs, 1 << (self.width - 1)
        bias = sum(middle << (self.width * k) for k in range(fields))  # makes every field positive
        text = b"".join((number + bias).to_bytes(fields * self.width // 8, "little") for number in numbers)
        octets = np.frombuffer(text, np.uint8).reshape(-1, self.group, 2, self.width // 8)
        worth = np.array([1 << (8 * k) for k in range(self.width // 8)], dtype=np.int64)
        found: Whole = octets[:count, output % self.group].astype(np.int64) @ worth - middle
        return found

    def read(self, numbers: Iterable[int], output: int, totals: Whole, layout: Layout) -> Whole:
        """Sums by node and slot, (J, T, 2), from what one party told of one output.

        Each column's fullest slot is not told: it is what the others leave of the node's totals, (J, 2).
        """
        told = told_slots(layout)
        sums = np.zeros((len(totals), layout.width, 2), dtype=np.int64)
        sums[:, told] = self.unpack(numbers, output, len(totals) * len(told)).reshape(len(totals), len(told), 2)
        others = np.add.reduceat(sums, layout.starts, axis=1)  # (J, F, 2)
        sums[:, layout.fullest + layout.starts] = totals[:, None] - others
        return sums


def told_slots(layout: Layout) -> Whole:
    """The slots whose sums are told: all but each column's fullest."""
    return np.setdiff1d(np.arange(layout.width), layout.fullest + layout.starts)
