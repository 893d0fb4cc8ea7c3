"""Derivatives under encryption (Paillier 1999): the active party has the key, the others add up what they cannot read.

Keys, encryption and decryption are those of TNO's library; the primes come from `cryptography`, whose generator is made
for keys. The product of ciphertexts mod n² holds the sum of what is in them, and the 2^s-th power of one holds the same
shifted by s bits. Nothing here takes constant time.

m rows, k ciphertexts.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.errors import MissingDependencyError
from colonnade.methods.secureboost.trees.columns import NOWHERE, Bytes, Layout
from colonnade.methods.secureboost.trees.packing import Packing, told_slots

try:
    import gmpy2
    from cryptography.hazmat.primitives.asymmetric import rsa
    from gmpy2 import mpz
    from tno.mpc.encryption_schemes.paillier import Paillier, PaillierCiphertext, PaillierPublicKey, PaillierSecretKey
    from tno.mpc.encryption_schemes.templates.random_sources import ContextlessSource
except ImportError:
    raise MissingDependencyError(
        "secureboost encrypts with tno.mpc.encryption-schemes.paillier, gmpy2 and cryptography: "
        "pip install 'colonnade[secureboost]'. encrypt=False needs none of them, and sends gradients in the clear."
    ) from None


class Keys:
    """The active party's key pair."""

    def __init__(self, bits: int) -> None:
        numbers = rsa.generate_private_key(public_exponent=65537, key_size=bits).private_numbers()
        p, q = mpz(numbers.p), mpz(numbers.q)
        n, totient = p * q, (p - 1) * (q - 1)
        secret = PaillierSecretKey(totient, gmpy2.invert(totient, n), n)
        self.scheme = Paillier(PaillierPublicKey(n, n + 1), secret)
        self.scheme.remove_from_global_list()  # the library would keep the secret key for as long as the process runs
        self.scheme.register_randomness_source(ContextlessSource(iter(Factors(p, q).draw, None)))
        self.bits = bits

    @property
    def modulus(self) -> Bytes:
        """n, the public key."""
        return as_bytes([self.scheme.public_key.n], self.bits // 8).ravel()

    def encrypt(self, values: npt.NDArray[Any]) -> Bytes:
        """(m, c) whole numbers → (m, c · size) bytes."""
        found = [self.scheme.encrypt(value).get_value() for value in values.ravel().tolist()]
        return as_bytes(found, self.bits // 4).reshape(len(values), -1)

    def decrypt(self, ciphertexts: Bytes) -> list[int]:
        """(k, size) bytes → k whole numbers."""
        scheme: Any = self.scheme
        return [int(scheme.decrypt(PaillierCiphertext(c, scheme)).value) for c in as_numbers(ciphertexts)]


class Factors:
    """Random factors r^n mod n² of ciphertexts, in a fraction of the time: r = x^a, with x fixed and a random for each.

    As safe as r itself drawn at random: were x^n no n-th residue but any number, which nobody is assumed to be able to
    tell (the assumption of Paillier's own proof), a random power of it would hide every plaintext perfectly. Powers of
    a fixed number are products of a few that are kept, one for each byte of the exponent. Only who knows p and q can
    reduce exponents, and works mod p² and q² apart, joined by the Chinese remainder theorem.
    """

    def __init__(self, p: Any, q: Any) -> None:
        self.primes, self.squares = (p, q), (p**2, q**2)
        self.totient, self.inverse = (p - 1) * (q - 1), gmpy2.invert(p**2, q**2)
        x = 2 + secrets.randbelow(int(p * q) - 2)
        self.tables = [_powers(gmpy2.powmod(x, p * q, prime**2), prime) for prime in self.primes]

    def draw(self) -> Any:
        """x^(a·n) mod n² for a random a."""
        a = mpz(secrets.randbelow(int(self.totient)))
        found = []
        for prime, square, table in zip(self.primes, self.squares, self.tables, strict=True):
            total = mpz(1)
            for powers, byte in zip(table, (a % (prime - 1)).to_bytes(len(table), "little"), strict=True):
                total = total * powers[byte] % square
            found.append(total)
        low, high = found
        return low + self.squares[0] * ((high - low) * self.inverse % self.squares[1])


def _powers(base: Any, prime: Any) -> list[list[Any]]:
    """base^(v · 256^i) mod p², for each value v of each byte i of an exponent below p."""
    table, square = [], prime**2
    for _ in range(-(-prime.bit_length() // 8)):
        powers = [mpz(1)]
        for _ in range(255):
            powers.append(powers[-1] * base % square)
        table.append(powers)
        base = powers[-1] * base % square
    return table


def add_up(
    ciphertexts: Sequence[Any], bins: Bytes, nodes: Bytes, count: int, layout: Layout, modulus: Any, packing: Packing
) -> Bytes:
    """Alg. 1 on ciphertexts: the sums of each node and told slot, packed; (k, size) bytes.

    Args:
        ciphertexts: (m,) of the rows.
        bins: (m, F) slots.
        nodes: (m,) the node that each row is in, or `NOWHERE`.
        count: of nodes.
        layout: of the columns.
        modulus: n.
        packing: how they share ciphertexts.
    """
    square = modulus**2
    sums = [[mpz(1)] * layout.width for _ in range(count)]  # 1 holds 0
    for column, start, fullest in zip(bins.T, layout.starts, layout.fullest, strict=True):
        wanted = np.flatnonzero((nodes != NOWHERE) & (column != fullest))
        places = column[wanted] + start
        for row, node, place in zip(wanted.tolist(), nodes[wanted].tolist(), places.tolist(), strict=True):
            total = sums[node]
            total[place] = total[place] * ciphertexts[row] % square
    told = told_slots(layout).tolist()
    flat = [total[place] for total in sums for place in told]
    parts = [flat[k : k + packing.packs] for k in range(0, len(flat), packing.packs)]
    return as_bytes([join(part, packing.shift, square) for part in parts], packing.size)


def join(parts: Sequence[Any], shift: int, square: Any) -> Any:
    """One ciphertext of several; the first in the lowest bits."""
    total = mpz(1)
    for part in reversed(parts):
        total = gmpy2.powmod(total, 1 << shift, square) * part % square
    return total


def as_bytes(numbers: Sequence[Any], size: int) -> Bytes:
    """Whole numbers as bytes, lowest first, (k, size)."""
    text = bytearray(b"").join(number.to_bytes(size, "little") for number in numbers)  # torch wants it writable
    return np.frombuffer(text, np.uint8).reshape(-1, size)


def as_numbers(rows: Bytes) -> list[Any]:
    """The inverse of `as_bytes`."""
    return [mpz.from_bytes(row.tobytes(), "little") for row in rows]
