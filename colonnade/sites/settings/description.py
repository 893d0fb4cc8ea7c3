"""The two TOML files between sites: the federation's, which all parties hold, and a site's own, which stays there.

[federation]                     # federation.toml
name = "churn"
active = "bank"                  # listens; runs the method
passive = ["shop", "telco"]
host = "localhost"               # where the active party is reached; it listens there and nowhere else
port = 8002
listen = "0.0.0.0"               # optional: only when it must listen elsewhere than on host

[site]                           # site.toml
party = "shop"
out = "out"                      # where this party's part of a model goes
normalise = "text"               # optional: when ids are equal in an alignment; see align/rules.py
aligned = "aligned.txt"          # optional: ids that were agreed on by other means, one per line, the same everywhere;
                                 # left out, or of type .parquet: the file that `federate align` writes
[table]                          # as under [parties.NAME] of a description: data, id, label, columns, categorical
data = "shop.csv"
id = "customer"
[policy]                         # what the owner allows; see policy.py
[method]                         # at the active party: name, and its options
[split]                          # at the active party: seed, labels
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from colonnade.data.description import check_keys, read_method, read_toml
from colonnade.errors import ConfigError, did_you_mean, raise_all
from colonnade.sites.intersection.rules import RULES, Rule
from colonnade.sites.policy.policy import Policy, read_policy

FEDERATION = ("name", "active", "passive", "host", "port", "listen", "timeout")
SITE = ("party", "aligned", "out", "normalise")
SECTIONS = ("site", "table", "policy", "method", "split")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")  # what a certificate and FLARE can hold
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
_TIMEOUT = 3600.0  # seconds that an answer is waited for


@dataclass(frozen=True, kw_only=True)
class FederationFile:
    """Who takes part, and where the active party is reached."""

    name: str
    active: str
    passive: tuple[str, ...]
    host: str = "localhost"
    port: int = 8002
    listen: str | None = None
    timeout: float = _TIMEOUT


@dataclass(frozen=True, kw_only=True)
class SiteFile:
    """One party's own settings."""

    path: Path
    party: str
    aligned: Path
    out: Path
    table: Mapping[str, Any]
    policy: Policy
    normalise: Rule = "text"
    method: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    labels: float | None = None


def read_federation(path: Path) -> FederationFile:
    """Read federation.toml; a `ConfigError` lists all that is wrong with it."""
    content, problems = read_toml(path), list[str]()
    check_keys(content, ("federation",), "the file", problems)
    given = _section(content, "federation", problems)
    check_keys(given, FEDERATION, "[federation]", problems)
    passive = given.get("passive")
    names = [given.get("name"), given.get("active"), *(passive if isinstance(passive, list) else [None])]
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            problems.append(f"[federation]: {name!r} is no name. Use name, active and passive = […], of letters, "
                            f"digits, - and _.")  # fmt: skip
    if len(set(names[1:])) < len(names[1:]) or "server" in names[1:]:
        problems.append(f"[federation]: parties {names[1:]} must differ from one another and from 'server'.")
    _check_address(given, problems)
    raise_all(problems, ConfigError, str(path))
    return FederationFile(**{**given, "passive": tuple(given["passive"])})


def _check_address(given: Mapping[str, Any], problems: list[str]) -> None:
    port, timeout = given.get("port", 8002), given.get("timeout", _TIMEOUT)
    for key in ("host", "listen"):
        value = given.get(key, "localhost")
        if not isinstance(value, str) or not _HOST.fullmatch(value):
            problems.append(f'[federation]: {key} = {value!r} is no host name. Write e.g. {key} = "localhost".')
    if given.get("host") == "0.0.0.0":
        problems.append('[federation]: nobody reaches host = "0.0.0.0". Name the host, and set listen = "0.0.0.0".')
    if type(port) is not int or not 1 <= port <= 65535:
        problems.append(f"[federation]: port must be a whole number from 1 to 65535. Got {port!r}.")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
        problems.append(f"[federation]: timeout must be a number of seconds above 0. Got {timeout!r}.")


def read_site(path: Path) -> SiteFile:
    """Read site.toml without its table; a `ConfigError` lists all that is wrong with it."""
    content, problems = read_toml(path), list[str]()
    check_keys(content, SECTIONS, "the file", problems)
    site, table, policy, method, split = (_section(content, name, problems) for name in SECTIONS)
    check_keys(site, SITE, "[site]", problems)
    for key, usual in (("party", None), ("out", "out"), ("aligned", ""), ("normalise", "text")):
        if not isinstance(site.get(key, usual), str):
            problems.append(f'[site]: {key} is missing or no text. Write {key} = "…".')
    rule = site.get("normalise", "text")
    if isinstance(rule, str) and rule not in RULES:
        problems.append(f"[site]: normalise = {rule!r} is no rule. {did_you_mean(rule, RULES)}")
    if not table:
        problems.append("there is no [table]. Write [table] and below it data and id.")
    check_keys(split, ("seed", "labels"), "[split]", problems)
    limits = read_policy(policy, "[policy]", problems)
    if method and not isinstance(method.get("name"), str):
        problems.append('[method] does not say which method. Add name = "METHOD" to it.')
    raise_all(problems, ConfigError, str(path))
    name, options = read_method(path)
    folder = path.resolve().parent
    out = folder / site.get("out", "out")
    aligned = folder / site["aligned"] if "aligned" in site else out / "alignment.parquet"
    return SiteFile(
        path=path, party=site["party"], aligned=aligned, out=out, normalise=site.get("normalise", "text"), table=table,
        policy=limits, method=name, options=options, seed=split.get("seed", 0), labels=split.get("labels"),
    )  # fmt: skip


def _section(content: Mapping[str, Any], name: str, problems: list[str]) -> dict[str, Any]:
    section = content.get(name, {})
    if isinstance(section, dict):
        return dict(section)
    problems.append(f"{name} = {section!r} is no section. Write [{name}] on a line of its own.")
    return {}
