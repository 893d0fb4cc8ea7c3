"""The cases, as data. A case says what is run; a difference is reported by its name.

Names are read from the left: what sort of case, the method, and what is special about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .data import Data
from .tables import ALONE, EPSILON, EXTRA, METHODS, MIXED, NO_REGRESSION, OWN_COLUMNS, PROTECTED, SENT, TOGETHER

Options = Mapping[str, Any]
TINY = ("--set", "epochs=2", "--set", "hidden=[8]", "--set", "width=4")


@dataclass(frozen=True)
class Fit:
    """Train a method in one process, predict, save; another tree loads what was saved.

    Args:
        name: of the case.
        method: a name of `cn.METHODS`.
        options: of the method.
        data: the rows.
        own: parties with an encoder of the user's.
        own_objective: whether the parties learn alone by an objective of the user's.
    """

    name: str
    method: str
    options: Options = field(default_factory=dict)
    data: Data = field(default_factory=Data)
    own: tuple[str, ...] = ()
    own_objective: bool = False


@dataclass(frozen=True)
class Sites:
    """Train a method by frames between three sites, predict between them, and put the parts together.

    Args:
        name: of the case.
        method: a name of `cn.METHODS`.
        options: of the method.
        cut: the site "shop" is lost at this request, and the run goes on after it.
        policy: of the passive sites.
        align: agree on the rows by private set intersection before.
    """

    name: str
    method: str
    options: Options = field(default_factory=dict)
    cut: int | None = None
    policy: str = ""
    align: bool = False


@dataclass(frozen=True)
class Command:
    """Run commands of the command line in an empty folder, one after the other; all JSON that they leave is compared.

    Args:
        name: of the case.
        lines: the arguments of each command.
        phishing: whether COLONNADE_DATA has a data set of that name, which is drawn.
    """

    name: str
    lines: tuple[tuple[str, ...], ...]
    phishing: bool = False


Case = Fit | Sites | Command


def cases() -> list[Case]:
    """All of them."""
    found: list[Case] = [*every_task(), *arrangements(), *options(), *protections(), *privacy(), *own(), *images()]
    found += [*between_sites(), *commands()]
    names = [case.name for case in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two cases have the same name: {', '.join(sorted(twice))}.")
    return found


def fit(kind: str, method: str, data: Data | None = None, **more: Any) -> Fit:
    """A case of a method with its small options; `more` are options, too."""
    return Fit(f"{kind}: {method}", method, {**METHODS[method], **more}, data or Data())


def every_task() -> list[Case]:
    """Every method, each of its tasks, with 2, 3 and 7 parties."""
    return [
        fit(f"{task}, {parties} parties", method, Data(task, parties))
        for method in METHODS
        for task in ("binary", "multiclass", "regression")
        if task != "regression" or method not in NO_REGRESSION
        for parties in (2, 3, 7)
    ]


def arrangements() -> list[Case]:
    """Widths, codecs, late parties, a party with labels only, few labels, little overlap, no validation rows."""
    found: list[Case] = []
    for method in METHODS:
        few = Data(parties=3, rows=150, labels=0.4, aligned=0.5)
        found.append(fit("few labels and little overlap", method, few))
        found.append(fit("no validation rows", method, Data(validation=False)))
    for method in TOGETHER:
        found.append(fit("equal widths", method, Data(parties=4, columns="equal")))
        found.append(fit("unequal widths", method, Data(parties=4, columns="unequal")))
        if method not in OWN_COLUMNS:
            found.append(fit("labels only at the server", method, Data(parties=3, active="server")))
    for method in SENT:
        found += [fit(f"codec {codec}", method, codec=codec) for codec in ("float16", "int8")]
        found.append(fit("a late party", method, Data(parties=3), late=("p2",)))
        found.append(fit("waiting a minute for answers", method, Data(parties=3), response_limit=60.0))
    return found


def options() -> list[Case]:
    """Options that take another way through a method than its defaults."""
    return [
        Fit(f"{method} with {shown(more)}", method, {**METHODS[method], **more}, data) for method, more, data in EXTRA
    ]


def protections() -> list[Case]:
    """Noise on every sort of message, and Marvell's on the gradients of two classes."""
    return [
        Fit(f"{method} protected by {protect}", method, {**METHODS[method], "protect": protect}, Data("binary", 3))
        for method, protect in PROTECTED
    ]


def privacy() -> list[Case]:
    """Training within a budget ε."""
    budget: Options = {"epsilon": 50.0, "delta": 1e-4}
    found: list[Case] = [fit("within a budget", method, Data(parties=3), **budget) for method in EPSILON]
    return [*found, fit("within a budget divided as pld", "local", epsilon=2.0, division="pld")]


def own() -> list[Case]:
    """The user's own encoders and objective."""
    modules = ("splitnn", "local", "vafl", "ss-vfl-i", "fedonce", "fedhssl", "vflhlp", "ssvfl", "hybrid")
    found: list[Case] = [
        Fit(
            f"own encoder: {method}",
            method,
            {**METHODS[method], **MIXED.get(method, {})},
            Data(parties=3, columns="equal"),
            own=("p0", "p1", "p2"),
        )
        for method in modules
    ]
    return [
        *found,
        Fit("own objective: fed-local-ssl", "fed-local-ssl", METHODS["fed-local-ssl"], own_objective=True),
    ]


def images() -> list[Case]:
    """Pictures at all parties, and pictures beside a table."""
    found: list[Case] = []
    for method in METHODS:
        short = {key: 1 for key in ("epochs", "pretrain_epochs") if key in METHODS[method]}
        found.append(fit("images", method, Data(columns="images", rows=60), **short))
        if method not in ALONE:
            data = Data(columns="images and table", parties=3, rows=60)
            found.append(fit("images and a table", method, data, **short, **MIXED.get(method, {})))
    return found


def between_sites() -> list[Case]:
    """Every method between sites; the same after a cut, after an alignment, and under a site's budget."""
    made: list[Case] = [Sites(f"between sites: {m}", m, METHODS[m]) for m in SENT]
    for method, cut, more in (
        ("splitnn", 9, {}),
        ("fedonce", 4, {}),
        ("fedhssl", 12, {}),
        ("fedhssl", 8, {"secure_aggregation": True}),
        ("mmvfl", 6, {}),
        ("ssvfl", 7, {}),
    ):
        name = f"between sites, cut at request {cut}: {method}"
        made.append(Sites(" ".join([name, shown(more)]).strip(), method, {**METHODS[method], **more}, cut=cut))
    noise = {"protect": "gaussian:representation:1:4"}
    return [
        *made,
        Sites("between sites, aligned before: splitnn", "splitnn", METHODS["splitnn"], align=True),
        Sites("between sites, protected: splitnn", "splitnn", {**METHODS["splitnn"], **noise}),
        Sites("between sites, codec int8: fedhssl", "fedhssl", {**METHODS["fedhssl"], "codec": "int8"}),
        Sites("between sites, within a budget: ss-vfl-i", "ss-vfl-i", {**METHODS["ss-vfl-i"], "epsilon": 50.0}),
        Sites(
            "between sites, within a site's budget: fedonce-l1", "fedonce-l1", {**METHODS["fedonce-l1"], **noise},
            policy="epsilon = 1e6",
        ),
    ]  # fmt: skip


def commands() -> list[Case]:
    """Each command that leaves JSON, on bundled data."""
    run = ("--data", "wine", "--labels", "40", *TINY)
    compare = ("--data", "wine", "--labels", "20,40", "--seeds", "2", "--jobs", "1")
    lists = tuple(("list", method, "--json", f"{i}.json") for i, method in enumerate(METHODS))
    return [
        Command("command: list", (("list", "--json", "all.json"), *lists)),
        *(
            Command(f"command: run {method}", (
                ("run", method, "--data", "wine", "--labels", "40", "--set", "trees=3", *more, "--out", "out"),
            ))
            for method, more in (("secureboost", ("--set", "encrypt=false")), ("lightgbm", ()))
        ),
        Command("command: run, report, attack, export", (
            ("run", "splitnn", *run, "--json", "record.json", "--out", "out"),
            ("report", "out", "--out", "page.html"),
            ("attack", "out", "--auxiliary", "20", "--json", "attacks.json"),
            ("export", "out", "--onnx", "onnx"),
        )),
        Command("command: run within a budget", (
            ("run", "splitnn", *run, "--set", "epsilon=50.0", "--json", "record.json"),
            ("run", "fedonce-l1", "--data", "wine", "--set", "epochs=2", "--json", "l1.json"),
        )),
        Command("command: compare", (
            ("compare", *compare, "--methods", "local,splitnn,splitnn:join=mean,ss-vfl-i", *TINY,
             "--set", "pretrain_epochs=1", "--out", "out", "--json", "runs.json"),
            ("report", "out", "--out", "page.html"),
        )),
        Command("command: compare, tuned", (
            ("compare", "--data", "wine", "--labels", "40", "--seeds", "1", "--jobs", "1", "--methods", "splitnn",
             "--tune", "2", *TINY, "--out", "out", "--json", "runs.json"),
        )),
        Command("command: compare, transductive", (
            ("compare", "--data", "wine", "--labels", "40", "--seeds", "1", "--jobs", "1", "--methods", "splitnn,ssvfl",
             "--protocol", "transductive", *TINY, "--out", "out", "--json", "runs.json"),
        )),
        Command("command: tradeoff", (
            ("tradeoff", "--data", "breast_cancer", "--methods", "splitnn", "--labels", "60", "--seeds", "1",
             "--jobs", "1", "--protect", "iso:gradient:1", "--protect", "marvell:gradient:1", "--attack", "gradients",
             *TINY, "--out", "out", "--json", "tradeoff.json"),
        )),
        Command("command: advise", (
            ("advise", "wine", "--labels", "40", "--bytes", "1MB", "--json", "advice.json"),
        )),
        Command("command: appraise", (
            ("appraise", "wine", "--labels", "40", "--seeds", "1", "--json", "appraisal.json"),
        )),
        Command("command: reproduce", (
            ("reproduce", "004", "--table", "appendix-c", "--data", "phishing", "--quick", "--seeds", "1",
             "--jobs", "1", "--out", "out", "--json", "results.json"),
        ), phishing=True),
    ]  # fmt: skip


def shown(more: Options) -> str:
    """Options as `--set` takes them."""
    return " ".join(f"{key}={value}" for key, value in more.items())
