"""Least privilege: what a run may ask of a site is the skills that its assignment names, and nothing else.

The active party's method says which skills a run with its options needs. The site looks the method up in its own
installation, takes these skills from those that the method can have with any options, and compares a digest of their
declarations, which tells versions apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from colonnade.errors import ConfigError, WireError, did_you_mean
from colonnade.methods._base.setup import Setup, Skills
from colonnade.methods.registry import METHODS
from colonnade.parties.skills.skill import offer_of
from colonnade.sites.skills.train import SKILLS
from colonnade.wire.message import Value
from colonnade.wire.wire import MAX_TEXT


def told(method: str, setup: Setup) -> dict[str, Value]:
    """What an assignment says of the skills of a run: their names, and the digest of their declarations."""
    lines = [""]
    for skill in setup.skills:
        longer = f"{lines[-1]} {skill.__name__}".strip()
        if len(longer) <= MAX_TEXT:
            lines[-1] = longer
        else:
            lines.append(skill.__name__)
    if len(lines) > len(SKILLS) or len(lines[-1]) > MAX_TEXT:
        raise ConfigError(f"{method} needs too many skills to be named in an assignment: {len(setup.skills)}.")
    return {**dict(zip(SKILLS, lines, strict=False)), "declarations": setup.offer.digest}


def granted(party: str, active: str, values: Mapping[str, Value]) -> Skills:
    """The skills that an assignment names, where this installation declares them as the active party's does."""
    name = str(values.get("method"))
    method = METHODS.get(name)
    if method is None or not method.between_sites:
        known = [other for other, made in METHODS.items() if made.between_sites]
        raise WireError(
            f"party {party!r} has no method {name!r} between sites. {did_you_mean(name, known)} Or install the same "
            f"version as {active!r}."
        )
    theirs = values.get("declarations")
    if theirs is None:
        raise WireError(f"{active} does not say which skills {name} needs: install the same version at all parties.")
    possible = {skill.__name__: skill for skill in method.skills}
    named = " ".join(str(values.get(key, "")) for key in SKILLS).split()
    if unknown := [one for one in named if one not in possible]:
        raise WireError(
            f"{active} runs {name} with the skill {unknown[0]!r}, which it has not at {party}. It has: "
            f"{', '.join(possible) or 'none'}. Install the same version."
        )
    skills = tuple(possible[one] for one in dict.fromkeys(named))
    mine = offer_of(*skills).digest
    if theirs != mine:
        raise WireError(f"{active} runs {name} as {theirs}, {party} has {mine}: install the same version.")
    return skills
