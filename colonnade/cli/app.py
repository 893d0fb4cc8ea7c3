"""The command line. Nothing heavy is imported before a command runs, so that `--help` answers at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from colonnade.cli.data_sets import data as data_commands
from colonnade.cli.deploying import export, serve
from colonnade.cli.options import Active, Aligned, Bias, Data, Json, Labels, Parties, Rows, Settings, Tune, Verbose
from colonnade.federate.cli import federate

_INTERRUPTED = 130  # how typer ends after Ctrl-C

TRY, DECIDE, PAPERS, PRIVACY, USE = (
    "Try methods on data",
    "Decide before training",
    "Check the papers",
    "Measure privacy",
    "Use a model, and train between sites",
)
START = (  # each runs on data that scikit-learn brings
    "colonnade list",
    "colonnade run splitnn --data digits --labels 50",
    "colonnade compare --data digits --methods local,splitnn,ss-vfl-i --labels 50",
)

app = typer.Typer(
    name="colonnade",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Vertical federated learning for few labels, little overlap and expensive rounds.\n\n"
    "Several organisations hold different columns about partly the same people. They train one model together; "
    "one of them, the active party, holds the labels.",
    epilog="\n\n".join(("Start with", *(f"[bold]{line}[/bold]" for line in START))),
)


def _show_version(asked: bool) -> None:
    if asked:
        from colonnade.cli.version import version_text

        typer.echo(version_text())
        raise typer.Exit


@app.callback()
def colonnade(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Versions of Colonnade, torch, Python."),
    ] = False,
) -> None:
    """What is asked before any command."""


@app.command("list", rich_help_panel=TRY)
def list_(
    method: Annotated[str | None, typer.Argument(help="A method, to see its options.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Papers, objectives, and data sets that are not here too.")
    ] = False,
    json_: Json = None,
) -> None:
    """What can run here: methods by family, and data sets; or the options of one method.

    Example: colonnade list splitnn
    """
    from colonnade.cli.listing import show_all, show_here, show_options

    if method is not None:
        show_options(method, json_)
    elif everything:
        show_all(json_)
    else:
        show_here(json_)


@app.command(rich_help_panel=TRY)
def run(
    method: Annotated[str, typer.Argument(help="A method of `colonnade list`.")],
    data: Data,
    labels: Labels = None,
    aligned: Aligned = "1.0",
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    parties: Parties = None,
    active: Active = None,
    rows: Rows = None,
    bias: Bias = None,
    settings: Settings = None,
    alone: Annotated[
        bool, typer.Option("--alone/--no-alone", help="Also train the active party alone, to hold the score against.")
    ] = True,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the record, the model, the audit log and the report.")
    ] = None,
    json_: Json = None,
    verbose: Verbose = False,
) -> None:
    """Train one method once and score it on test rows.

    Example: colonnade run splitnn --data digits --labels 100 --set epochs=50 --out my-run
    """
    from colonnade.console import run_once

    arrangement = parties, active, rows, bias
    run_once(method, data, labels, aligned, seed, arrangement, settings or [], alone, out, json_, verbose)


@app.command(rich_help_panel=TRY)
def compare(
    data: Data,
    methods: Annotated[
        str, typer.Option("--methods", "-m", help="Methods, comma-separated; options after a colon: splitnn:join=mean.")
    ],
    labels: Annotated[
        str | None, typer.Option(help="Numbers or fractions of labelled rows, comma-separated. All by default.")
    ] = None,
    aligned: Annotated[str, typer.Option(help="Aligned fractions, comma-separated.")] = "1.0",
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0, 1, … for each setting.")] = 3,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=0, help="Runs at a time; 0: one per core.")] = 0,
    parties: Parties = None,
    active: Active = None,
    rows: Rows = None,
    bias: Bias = None,
    settings: Settings = None,
    protocol: Annotated[
        str, typer.Option(help="inductive, or transductive: the unlabelled training rows are the test rows (SSVFL).")
    ] = "inductive",
    target: Annotated[
        float | None, typer.Option(help="Also report the bytes sent until the validation score first reached this.")
    ] = None,
    tune: Tune = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results; finished runs found there are not run again.")
    ] = None,
    json_: Json = None,
    verbose: Verbose = False,
) -> None:
    """Compare methods over labels, overlap and seeds; print a table and write a page.

    Stopped half-way, the same command goes on where it stopped.

    Example: colonnade compare --data digits --methods local,splitnn --labels 50,200 --seeds 3
    """
    from colonnade.console import compare_methods

    arrangement = parties, active, rows, bias
    compare_methods(
        data, methods, labels, aligned, seeds, jobs, arrangement, settings or [], target, protocol, tune, out, json_,
        verbose,
    )  # fmt: skip


@app.command(rich_help_panel=PAPERS)
def reproduce(
    papers: Annotated[
        list[str] | None, typer.Argument(help="Papers: 000 to 004, or by name (fedonce); digits; or all. None: a list.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="One table or figure: 2, table-2, fig-5.")] = None,
    data: Annotated[str | None, typer.Option(help="Only these data sets, comma-separated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few rows, epochs and values: proves that it runs.")] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds 0, 1, …; the recipe's own number by default.")] = None,
    tune: Tune = 1,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=0, help="Runs at a time; 0: one per core.")] = 0,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results; finished runs found there are not run again.")
    ] = None,
    record: Annotated[bool, typer.Option("--record", help="Keep the results in results/reproduce.")] = False,
    write_docs: Annotated[bool, typer.Option("--write-docs", help="Make docs/results.md from results/.")] = False,
    json_: Json = None,
) -> None:
    """The papers' tables, claimed and measured: run a recipe, say which claims hold, and write a page.

    Runs are kept by paper and commit; stopped half-way, the same command goes on where it stopped.

    Example: colonnade reproduce digits --quick
    """
    from colonnade.bench.reproduce_console import reproduce_tables

    reproduce_tables(
        papers or [], table, data, quick, seeds, tune, jobs, settings or [], out, record, write_docs, json_
    )


@app.command(rich_help_panel=TRY)
def report(
    folder: Annotated[Path, typer.Argument(help="A folder that `run --out` or `compare` wrote.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the page; FOLDER/report.html by default.")] = None,
) -> None:
    """Write the HTML page of a run or a comparison: one file, no network needed.

    Example: colonnade report my-run --out page.html
    """
    from colonnade.console import write_page

    write_page(folder, out)


@app.command(rich_help_panel=PRIVACY)
def attack(
    folder: Annotated[Path, typer.Argument(help="A folder that `run --out` wrote.")],
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attack",
            help="label-inference, gradients, membership, shadow-models or reconstruction; may be repeated. "
            "All that fit by default.",
        ),
    ] = None,
    adversary: Annotated[
        str | None, typer.Option(help="A party, or `anyone` who gets the model. All who can be one by default.")
    ] = None,
    auxiliary: Annotated[
        int | None, typer.Option(min=1, help="New rows of which the adversary knows the label, or the columns.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0, 1, … for each attack.")] = 1,
    json_: Json = None,
) -> None:
    """What an adversary gets out of a finished run, with what the audit log says it received.

    Example: colonnade attack my-run --attack label-inference --auxiliary 80 --seeds 3
    """
    from colonnade.attacks.console import attack_run

    attack_run(folder, attacks, adversary, auxiliary, seeds, json_)


@app.command(rich_help_panel=PRIVACY)
def tradeoff(
    data: Data,
    methods: Annotated[
        str, typer.Option("--methods", "-m", help="Methods, comma-separated; options after a colon: splitnn:join=mean.")
    ],
    protect: Annotated[
        list[str] | None,
        typer.Option(
            help="A protection, e.g. iso:gradient:1; several at once are joined by +; may be repeated. "
            "METHOD.iso:target:1 is for one method alone. Each is held against none."
        ),
    ] = None,
    attacks: Annotated[
        list[str] | None,
        typer.Option("--attack", help="As in `colonnade attack`; may be repeated. label-inference by default."),
    ] = None,
    adversary: Annotated[
        str | None, typer.Option(help="A party, or `anyone` who gets the model. All who can be one by default.")
    ] = None,
    auxiliary: Annotated[
        int | None, typer.Option(min=1, help="New rows of which the adversary knows the label, or the columns.")
    ] = None,
    labels: Labels = None,
    aligned: Aligned = "1.0",
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0, 1, … for each method and protection.")] = 3,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=0, help="Runs at a time; 0: one per core.")] = 0,
    parties: Parties = None,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results; finished runs found there are not run again.")
    ] = None,
    json_: Json = None,
) -> None:
    """What protections cost and what they stop: train and attack each method with each of them.

    Stopped half-way, the same command goes on where it stopped.

    Example: colonnade tradeoff --data breast_cancer --methods splitnn --protect iso:gradient:1 --attack gradients
    """
    from colonnade.bench.tradeoff_console import trade_off

    trade_off(
        data, methods, protect or [], attacks or ["label-inference"], adversary, auxiliary, labels, aligned, seeds,
        jobs, parties, settings or [], out, json_,
    )  # fmt: skip


@app.command(rich_help_panel=DECIDE)
def advise(
    data: Annotated[str, typer.Argument(help="A dataset of `colonnade list`, or a TOML file about your own.")],
    labels: Labels = None,
    aligned: Aligned = "1.0",
    parties: Parties = None,
    active: Active = None,
    rows: Rows = None,
    max_bytes: Annotated[
        str | None, typer.Option("--bytes", help="Bytes that a training may send, at most: 5MB, 200kB.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds that it may take here, at most.")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Privacy budget ε: only methods that it covers, each trained in full.")
    ] = None,
    delta: Annotated[float, typer.Option(help="δ of that budget.")] = 1e-5,
    seed: Annotated[int, typer.Option(help="Of the split, as in `run`; its test rows are not read.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Times that probes are repeated, on other validation rows.")] = 1,
    every: Annotated[
        bool, typer.Option("--all", help="Show every candidate, not the best three; say why others are left out.")
    ] = False,
    json_: Json = None,
) -> None:
    """Which method to use on these data: expected score, bytes and time, why, and what would change the advice.

    It tries a few methods briefly on validation rows, and looks up what all methods gave in settings like yours.

    Example: colonnade advise digits --labels 100 --bytes 5MB
    """
    from colonnade.advisor.console import advise_on

    arrangement = parties, active, rows, None
    advise_on(data, labels, aligned, arrangement, max_bytes, seconds, epsilon, delta, seed, seeds, every, json_)


@app.command(rich_help_panel=DECIDE)
def appraise(
    data: Annotated[str, typer.Argument(help="A dataset of `colonnade list`, or a TOML file about your own.")],
    party: Annotated[str | None, typer.Option(help="The partner. Every one by default, one by one.")] = None,
    labels: Labels = None,
    aligned: Aligned = "1.0",
    parties: Parties = None,
    active: Active = None,
    rows: Rows = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Privacy budget ε for each row of the partner: noise on what it sends.")
    ] = None,
    delta: Annotated[float, typer.Option(help="δ of that budget.")] = 1e-5,
    seed: Annotated[int, typer.Option(help="Of the split, as in `run`; its test rows are not read.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Times that rows are dealt out to folds anew.")] = 3,
    check: Annotated[bool, typer.Option("--check", help="Also train in full, and compare on test rows.")] = False,
    json_: Json = None,
) -> None:
    """What a partner's columns would add to those of the active party alone, from one round with it.

    Example: colonnade appraise digits --party se --labels 100
    """
    from colonnade.advisor.console import appraise_party

    arrangement = parties, active, rows, None
    appraise_party(data, party, labels, aligned, arrangement, epsilon, delta, seed, seeds, check, json_)


app.add_typer(data_commands, name="data", rich_help_panel=TRY)
app.command(rich_help_panel=USE)(export)
app.command(rich_help_panel=USE)(serve)
app.add_typer(federate, name="federate", rich_help_panel=USE)


def main(arguments: list[str] | None = None) -> Any:
    """Run a command; an error of ours is one message without a traceback."""
    from colonnade.errors import ColonnadeError

    try:
        return app(args=arguments)
    except (ColonnadeError, OSError) as error:  # OSError: a folder that may not be written, a full disk
        from rich.console import Console

        Console(stderr=True, highlight=False).print("[bold red]Error:[/bold red]", end=" ")
        print(error, file=sys.stderr)
        sys.exit(2)
    except SystemExit as end:
        if end.code == _INTERRUPTED and (arguments or sys.argv[1:])[:1] != ["federate"]:  # which says it itself
            print("Stopped. A comparison or a download goes on from here with the same command.", file=sys.stderr)
        raise
