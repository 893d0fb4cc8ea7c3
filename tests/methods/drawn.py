"""Values of options, drawn from the data that declares them."""

from __future__ import annotations

from typing import Any

from annotated_types import Ge, Gt, Le, Lt
from hypothesis import strategies as st

from colonnade.methods._base.options.data import Must, OneOf, Option

BY_RULE: dict[str, st.SearchStrategy[Any]] = {  # options whose rule is a function
    "device": st.just("cpu"),
    "encoders": st.just({}),
    "late": st.lists(st.sampled_from(["p1", "shop"]), unique=True, max_size=2).map(tuple),
    "protect": st.just(()),
    "speeds": st.dictionaries(st.sampled_from(["p0", "p1"]), st.floats(0.1, 9)),
    "key_bits": st.sampled_from([1024, 2048, 3072, 4096]),
    "objective": st.sampled_from(["simsiam", "byol", "moco"]),
    "averaged": st.lists(st.sampled_from(["top", "projector", "predictor"]), min_size=1, unique=True).map(tuple),
    "consistency": st.lists(st.floats(0, 9), min_size=1, max_size=3).map(tuple) | st.floats(0, 9),
    "gamma": st.lists(st.floats(0, 9), min_size=1, max_size=3).map(tuple) | st.floats(0, 9),
}


def good(option: Option) -> st.SearchStrategy[Any]:
    """Values that an option takes."""
    found = _good(option)
    return found | st.none() if option.may_be_none else found


def _good(option: Option) -> st.SearchStrategy[Any]:
    names = option.rule(OneOf)
    if names is not None:
        return st.sampled_from(names.names)
    if option.rule(Must) is not None or option.sort not in (bool, int, float, tuple[int, ...]):
        return BY_RULE[option.name]
    if option.sort is bool:
        return st.booleans()
    if option.sort == tuple[int, ...]:
        return st.lists(st.integers(1, 300), max_size=3).map(tuple)
    least, above, most, below = (option.rule(sort) for sort in (Ge, Gt, Le, Lt))
    if option.sort is int:
        return st.integers(least.ge if least else None, most.le if most else None)
    return st.floats(
        least.ge if least else above.gt if above else None, most.le if most else below.lt if below else None,
        exclude_min=above is not None, exclude_max=below is not None, allow_nan=False, allow_infinity=False,
    )  # fmt: skip


def bad(option: Option) -> st.SearchStrategy[Any]:
    """Values of each kind that an option refuses."""
    wrong: list[st.SearchStrategy[Any]] = [st.just(object()), st.just(float("nan")), st.just([[]]), st.just(b"x")]
    if not option.may_be_none:
        wrong.append(st.none())
    names, (least, above, most, below) = option.rule(OneOf), (option.rule(sort) for sort in (Ge, Gt, Le, Lt))
    if names is not None:
        wrong += [st.text().filter(lambda text: text not in names.names), st.integers(), st.booleans()]
    elif option.sort is bool:
        wrong += [st.integers(), st.text(), st.floats()]
    elif option.sort in (int, float) and option.rule(Must) is None:
        wrong += [st.booleans(), st.text()]
        wrong += [st.integers(max_value=least.ge - 1)] if least is not None else []
        wrong += [st.floats(max_value=above.gt)] if above is not None else []
        wrong += [st.integers(min_value=int(most.le) + 1)] if most is not None else []
        wrong += [st.floats(min_value=below.lt)] if below is not None else []
        wrong += [st.floats(0.1, 0.9)] if option.sort is int else []
    elif option.sort == tuple[int, ...]:
        wrong += [
            st.integers(),
            st.text(min_size=1),
            st.just((0,)),
            st.just((-3, 4)),
            st.just((1.5,)),
            st.just((True,)),
        ]
    return st.one_of(wrong)
