"""Averaging parts of the parties' models, in the open or so that nobody sees one party's part (FedAvg; SecAgg).

A contribution is n·θ with n appended, n the party's rows and θ the flat part: the sum of all contributions holds
Σ n·θ and Σ n, and nothing else is needed for McMahan et al. 2017's average Σ n·θ / Σ n.

Masked, a contribution is a whole number (fixed point, 2⁻²⁰) plus, for every other party, a pseudorandom number that the
two of them share and of which one adds what the other subtracts (Bonawitz et al. 2017, without dropouts). Arithmetic is
modulo 2⁶⁴, so the masks cancel exactly. Keys are agreed by X25519; the streams are ChaCha20's. This protects against an
active party that follows the protocol; it hands the public keys on, and could put its own in their place.

L length of the flat part, K parties.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.errors import ConfigError, MissingDependencyError, WireError

FRACTION = 1 << 20  # one, in fixed point
LARGEST = 1 << 62  # of a contribution in fixed point, divided by the number of parties


def contribution(part: Tensor, rows: int) -> Tensor:
    """n·θ and n: (L,) → (L + 1,) float32."""
    return torch.cat([part.float() * rows, torch.full((1,), float(rows), device=part.device)])


def average(contributions: Sequence[Tensor]) -> Tensor:
    """FedAvg: K times (L + 1,) → (L,)."""
    total = torch.stack([c.double() for c in contributions]).sum(dim=0)
    return (total[:-1] / total[-1]).float()


def average_masked(masked: Sequence[Tensor]) -> Tensor:
    """FedAvg of masked contributions, of which only the sum means anything: K times (L + 1,) int64 → (L,)."""
    with np.errstate(over="ignore"):
        total = np.sum([_unsigned(m) for m in masked], axis=0, dtype=np.uint64)
    plain = torch.from_numpy(total.view(np.int64).astype(np.float64) / FRACTION)
    return (plain[:-1] / plain[-1]).float().to(masked[0].device)


class Masks:
    """One party's side of the masking: a key pair that lives for one training, and one stream per other party.

    Args:
        secret: 32 bytes that are the private key, where the same masks may be needed again after a crash.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        keys = _x25519().X25519PrivateKey
        self._private = keys.generate() if secret is None else keys.from_private_bytes(secret)
        raw = self._private.public_key().public_bytes_raw()
        self.public = torch.frombuffer(bytearray(raw), dtype=torch.uint8)  # (32,)
        self.last = -1  # round of the last masking: a mask that is used twice gives both values away

    def mask(self, contributed: Tensor, publics: Tensor, turn: int) -> Tensor:
        """(L + 1,) float → (L + 1,) int64, masked for turn `turn` towards all whose keys are given, (K, 32)."""
        if turn <= self.last:
            raise WireError(f"turn {turn} of secure aggregation was asked for again; the last one was {self.last}.")
        self.last = turn
        own = self._place(publics)
        scaled = contributed.double().cpu().numpy() * FRACTION
        if not np.abs(scaled).max() <= LARGEST / len(publics):
            raise ConfigError(
                "secure_aggregation=True: a weight times the party's rows is too large for fixed point, or no number. "
                "Lower pretrain_learning_rate: the weights have run away."
            )
        total = np.rint(scaled).astype(np.int64).view(np.uint64)
        with np.errstate(over="ignore"):
            for other, key in enumerate(publics):
                if other != own:
                    stream = self._stream(bytes(key.tolist()), turn, len(total))
                    total = total + stream if own < other else total - stream
        return torch.from_numpy(total.view(np.int64)).to(contributed.device)

    def _place(self, publics: Tensor) -> int:
        """Which of the keys is the own one; the order of the keys says who adds and who subtracts."""
        found = torch.nonzero((publics.cpu() == self.public).all(dim=1)).flatten()
        if len(found) != 1:
            raise WireError("secure aggregation: the own public key must be among those handed round exactly once.")
        return int(found[0])

    def _stream(self, key: bytes, turn: int, length: int) -> npt.NDArray[np.uint64]:
        """The pseudorandom numbers shared with the owner of `key` for this turn."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        agreed = self._private.exchange(_x25519().X25519PublicKey.from_public_bytes(key))
        secret = HKDF(hashes.SHA256(), 32, salt=None, info=b"colonnade secure aggregation").derive(agreed)
        nonce = bytes(4) + turn.to_bytes(12, "little")
        encryptor = Cipher(algorithms.ChaCha20(secret, nonce), mode=None).encryptor()
        return np.frombuffer(encryptor.update(bytes(8 * length)), dtype="<u8").astype(np.uint64, copy=False)


def _unsigned(masked: Tensor) -> npt.NDArray[np.uint64]:
    return masked.cpu().numpy().view(np.uint64)


def _x25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import x25519
    except ImportError:
        raise MissingDependencyError(
            "secure_aggregation=True needs the package cryptography. Install colonnade[secure]."
        ) from None
    return x25519
