"""One active and one passive party, by openmined-psi: results, limits, and messages that must be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colonnade.errors import ColonnadeError, ConfigError, WireError
from colonnade.sites.intersection import Holder, IdSet, Seeker
from colonnade.sites.intersection.cipher import available
from colonnade.sites.intersection.frames import MAGIC, Frame, Kind, decode, encode

pytestmark = pytest.mark.skipif(
    not available(), reason="openmined-psi is not installed: pip install 'colonnade[align]'"
)

KINDS = st.sampled_from(
    [
        st.integers(-50, 50),
        st.text(min_size=1, max_size=5),
        st.uuids(),
        st.dates(),
        st.datetimes(),
        st.binary(min_size=1),
    ]
)


@st.composite
def two_sets(draw: Any) -> tuple[list[Any], list[Any]]:
    """Two lists of unique ids of one type that have some in common, in any order."""
    kind = draw(KINDS)
    pool = draw(st.lists(kind, unique=True, min_size=2, max_size=24))
    cut, other = sorted((draw(st.integers(1, len(pool))), draw(st.integers(0, len(pool) - 1))))
    return draw(st.permutations(pool[: max(1, other)])), draw(st.permutations(pool[min(cut, len(pool) - 1) :]))


def pair(mine: Any, theirs: Any, chunk: int = 7, **options: Any) -> tuple[Seeker, Holder]:
    holder = Holder(IdSet(theirs, "shop", normalise="exact"), threads=1, **options)
    return Seeker(IdSet(mine, "bank", normalise="exact"), holder.reply, chunk=chunk, threads=1), holder


@settings(max_examples=40, deadline=None)
@given(two_sets())
def test_the_result_is_the_intersection(sets: tuple[list[Any], list[Any]]) -> None:
    mine, theirs = sets
    seeker, holder = pair(mine, theirs)
    rows = seeker.meet()
    assert {mine[row] for row in rows} == set(mine) & set(theirs)
    assert seeker.other == len(theirs)
    assert holder.asked == len(mine)
    seeker.tell(rows[::-1])
    assert [theirs[row] for row in holder.agreed] == [mine[row] for row in rows[::-1]]


@settings(max_examples=15, deadline=None)
@given(two_sets())
def test_the_size_alone(sets: tuple[list[Any], list[Any]]) -> None:
    mine, theirs = sets
    seeker, holder = pair(mine, theirs, reveal="size", least=1)
    assert seeker.count() == len(set(mine) & set(theirs))
    with pytest.raises(WireError, match="has not been told"):
        _ = holder.agreed


def test_threads_change_nothing() -> None:
    mine, theirs = list(range(300)), list(range(250, 500))
    holder = Holder(IdSet(theirs, "shop"), threads=3)
    assert Seeker(IdSet(mine, "bank"), holder.reply, chunk=64, threads=2).meet().tolist() == list(range(250, 300))


def recorded(
    mine: Any, theirs: Any, chunk: int = 4, **options: Any
) -> tuple[Seeker, Holder, list[tuple[bytes, bytes]]]:
    seeker, holder = pair(mine, theirs, chunk, **options)
    log: list[tuple[bytes, bytes]] = []

    def channel(message: bytes) -> bytes:
        log.append((message, holder.reply(message)))
        return log[-1][1]

    seeker.channel = channel
    return seeker, holder, log


def test_messages_are_of_bounded_size_and_progress_is_reported() -> None:
    seen: list[tuple[str, int, int]] = []
    seeker, holder, log = recorded(list(range(50)), list(range(40, 80)), chunk=8)
    seeker.progress = holder.progress = lambda *step: seen.append(step)
    seeker.tell(seeker.meet())
    assert len(log) == 5 + 7 + 2
    assert max(len(part) for message in log for part in message) == 40 + 8 * 33
    assert {phase for phase, _, _ in seen} == {"encrypt", "setup", "answer", "request"}
    assert [done for phase, done, _ in seen if phase == "request"] == [8, 16, 24, 32, 40, 48, 50]


def test_no_id_and_no_hash_of_one_is_in_any_message() -> None:
    from hashlib import md5, sha256

    ids = [f"customer{i}" for i in range(10)]
    seeker, holder, log = recorded(ids, ids)
    seeker.tell(seeker.meet())
    sent = b"".join(part for message in log for part in message)
    keys = holder.ids.keys.tobytes()
    for row, text in enumerate(ids):
        plain = text.encode()
        for secret in (plain, keys[15 * row : 15 * row + 15], sha256(plain).digest()[:8], md5(plain).digest()[:8]):
            assert secret not in sent


def test_two_alignments_share_nothing() -> None:
    first, second = (recorded([1, 2, 3], [2, 3, 4]) for _ in range(2))
    for seeker, _, _ in (first, second):
        seeker.meet()
    points = [{decode(answer).payload for _, answer in log} for _, _, log in (first, second)]
    assert not points[0] & points[1]


def test_with_the_size_alone_answers_are_sorted_and_come_at_the_end() -> None:
    seeker, _, log = recorded(list(range(10)), list(range(5, 15)), reveal="size", least=1)
    assert seeker.count() == 5
    kinds = [decode(answer).kind for _, answer in log]
    assert kinds == [Kind.SETUP] * 3 + [Kind.WAIT] * 3 + [Kind.RESPONSE] * 3
    points = np.concatenate([decode(answer).points() for _, answer in log[-3:]])
    assert (points[1:] > points[:-1]).all()


def test_with_the_size_alone_an_id_asked_twice_is_refused() -> None:
    seeker, _ = pair([1, 2, 3], [1, 2, 3], chunk=2, reveal="size", least=1)
    seeker.ids.keys = seeker.ids.keys[[0, 1, 0]]
    with pytest.raises(WireError, match="asked about an id twice"):
        seeker.count()


def test_replayed_reordered_and_foreign_messages_are_refused_and_change_nothing() -> None:
    _, _, old = run_through()
    seeker, holder, log = recorded(list(range(10)), list(range(5, 15)))
    honest = seeker.channel

    def channel(message: bytes) -> bytes:
        for other in [m for m, _ in log] + [m for m, _ in old if m != message]:
            if decode(other).session == bytes(16) and not log:
                continue  # everybody may begin
            with pytest.raises(WireError):
                holder.reply(other)
        return honest(message)

    seeker.channel = channel
    seeker.tell(seeker.meet())
    assert sorted(holder.agreed.tolist()) == [0, 1, 2, 3, 4]
    with pytest.raises(WireError, match="expected DONE"):
        holder.reply(log[-1][0])


def run_through() -> tuple[Seeker, Holder, list[tuple[bytes, bytes]]]:
    seeker, holder, log = recorded(list(range(10)), list(range(5, 15)))
    seeker.tell(seeker.meet())
    return seeker, holder, log


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 6), st.integers(0, 200), st.binary(max_size=4), st.booleans())
def test_damaged_questions_are_refused_without_a_crash(step: int, at: int, patch: bytes, cut: bool) -> None:
    seeker, _, log = recorded([1, 2, 3, 4, 5], [4, 5, 6, 7])
    honest = seeker.channel

    def channel(message: bytes) -> bytes:
        if len(log) == step:
            message = damaged(message, at, patch, cut)
        return honest(message)

    seeker.channel = channel
    survives(lambda: seeker.tell(seeker.meet()))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 6), st.integers(0, 200), st.binary(max_size=4), st.booleans())
def test_damaged_answers_are_refused_without_a_crash(step: int, at: int, patch: bytes, cut: bool) -> None:
    seeker, _, log = recorded([1, 2, 3, 4, 5], [4, 5, 6, 7])
    honest = seeker.channel

    def channel(message: bytes) -> bytes:
        answer = honest(message)
        return damaged(answer, at, patch, cut) if len(log) - 1 == step else answer

    seeker.channel = channel
    survives(lambda: seeker.tell(seeker.meet()))


def damaged(message: bytes, at: int, patch: bytes, cut: bool) -> bytes:
    at = min(at, len(message))
    return message[:at] if cut else message[:at] + patch + message[at + len(patch) :]


def survives(program: Callable[[], None]) -> None:
    """Ends, or raises one of our errors. A changed point that is on the curve is another id, and is found nowhere."""
    try:
        program()
    except ColonnadeError as error:
        assert isinstance(error, WireError)


@given(st.binary(max_size=200), st.booleans())
def test_noise_is_refused(noise: bytes, ours: bool) -> None:
    with pytest.raises(WireError):
        decode(MAGIC + b"\1" + noise if ours and len(noise) < 30 else noise)


def test_a_huge_announcement_allocates_nothing() -> None:
    frame = Frame(Kind.REQUEST, "text", "both", bytes(16), 0, 1 << 60, 1 << 16)
    with pytest.raises(WireError, match="holds 0 bytes in place of"):
        decode(encode(frame))


def test_a_point_off_the_curve() -> None:
    seeker, _, log = recorded([1, 2], [2, 3])
    honest = seeker.channel

    def channel(message: bytes) -> bytes:
        if decode(message).kind == Kind.REQUEST:
            message = message[:-32] + b"\xff" * 32
        return honest(message)

    seeker.channel = channel
    with pytest.raises(WireError, match="not on the curve"):
        seeker.meet()
    assert len(log) == 1


@pytest.mark.parametrize(
    ("options", "mine", "words"),
    [
        ({"most": 3}, range(5), r"asked about 5 ids and answers between 1 and 3.*most="),
        ({"reveal": "size"}, range(5), r"asked about 5 ids and answers between 100"),
        ({"reveal": "size", "least": 5}, range(6), r"has 4 ids, fewer than least=5"),
    ],
)
def test_the_holder_limits_what_is_asked(options: dict[str, Any], mine: range, words: str) -> None:
    seeker, _ = pair(list(mine), [1, 2, 3, 4], **options)
    with pytest.raises(WireError, match=words):
        seeker.count() if "reveal" in options else seeker.meet()


def test_the_seeker_limits_what_it_compares_with() -> None:
    holder = Holder(IdSet(range(9), "shop"), threads=1)
    with pytest.raises(WireError, match=r"comes with 9 ids, and party 'bank' compares at most 8"):
        Seeker(IdSet([1], "bank"), holder.reply, most=8, threads=1).meet()


def test_the_own_ids_are_encrypted_once() -> None:
    seen: list[str] = []
    seeker, holder = pair([1, 2], [2, 3])
    holder.progress = lambda phase, done, total: seen.append(phase)
    holder.prepare()
    seeker.meet()
    holder.prepare()
    assert seen.count("encrypt") == 1


def test_the_parties_must_agree_on_rule_and_mode() -> None:
    holder = Holder(IdSet(["a"], "shop", normalise="casefold"))
    with pytest.raises(WireError, match="'shop' has normalise='casefold', the active party 'text'"):
        Seeker(IdSet(["a"], "bank"), holder.reply).meet()
    holder = Holder(IdSet(["a"], "shop"), reveal="size", least=1)
    with pytest.raises(WireError, match="'shop' has reveal='size', the active party 'both'"):
        Seeker(IdSet(["a"], "bank"), holder.reply).meet()


def test_notices_of_rows_that_do_not_exist() -> None:
    seeker, holder = pair([1, 2, 3], [2, 3])
    rows = seeker.meet()
    with pytest.raises(ConfigError, match="common rows alone"):
        seeker.tell(np.array([0]))
    with pytest.raises(WireError, match="or of one twice"):
        seeker.tell(rows[[0, 0]])
    seeker._slots = np.full(3, 9)
    with pytest.raises(WireError, match="does not have"):
        seeker.tell(rows)
    with pytest.raises(ConfigError, match="good for one alignment"):
        seeker.meet()
    assert holder._agreed is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda ids: Holder(ids, reveal="all"), "reveal='all'"),  # type: ignore[arg-type]
        (lambda ids: Holder(ids, threads=0), "threads must be at least 1"),
        (lambda ids: Seeker(ids, bytes, chunk=0), "chunk must be between"),
    ],
)
def test_options_out_of_range(make: Callable[[IdSet], Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make(IdSet([1], "p"))
