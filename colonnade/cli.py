"""The command line. Nothing heavy is imported before a command runs, so that `--help` answers at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from colonnade.federate.cli import federate

_INTERRUPTED = 130  # how typer ends after Ctrl-C

app = typer.Typer(
    name="colonnade",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Vertical federated learning for few labels, little overlap and expensive rounds.",
    epilog="Start with: [bold]colonnade list[/bold], then "
    "[bold]colonnade compare --data digits --methods local,splitnn --labels 50,200[/bold]",
)

Data = Annotated[
    str, typer.Option("--data", "-d", help="A dataset of `colonnade list`, or a TOML file about your own.")
]
Labels = Annotated[
    str | None, typer.Option(help="Labelled training rows: a number (100) or a fraction (0.05). All by default.")
]
Aligned = Annotated[str, typer.Option(help="Fraction of the training rows that all parties share.")]
Parties = Annotated[int | None, typer.Option(help="Divide the dataset's columns among this many parties.")]
Active = Annotated[str | None, typer.Option(help="The party that holds the labels; `server`: one without columns.")]
Rows = Annotated[int | None, typer.Option(min=10, help="Use at most so many rows, drawn at random.")]
Bias = Annotated[
    str | None,
    typer.Option(help="SHARE:DOMINANT: two parties of as many columns; a share of the dominant ones is the host's."),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="An option of the method, key=value; may be repeated.")
]
Tune = Annotated[
    int, typer.Option(min=1, help="Tries for each run: options drawn from a small grid, chosen on validation rows.")
]
Json = Annotated[Path | None, typer.Option("--json", help="Write the record to this file.")]


@app.command("list")
def list_(
    method: Annotated[str | None, typer.Argument(help="A method, to see its options.")] = None, json_: Json = None
) -> None:
    """What there is: methods with their papers, datasets, objectives; or the options of one method.

    Example: colonnade list splitnn
    """
    from colonnade.console import show_list, show_options

    if method is None:
        show_list(json_)
    else:
        show_options(method, json_)


@app.command()
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
    out: Annotated[
        Path | None, typer.Option(help="Folder for the record, the model, the audit log and the report.")
    ] = None,
    json_: Json = None,
) -> None:
    """Train one method once and score it on test rows.

    Example: colonnade run splitnn --data digits --labels 100 --set epochs=50 --out my-run
    """
    from colonnade.console import run_once

    run_once(method, data, labels, aligned, seed, (parties, active, rows, bias), settings or [], out, json_)


@app.command()
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
) -> None:
    """Compare methods over labels, overlap and seeds; print a table and write a page.

    Stopped half-way, the same command goes on where it stopped.

    Example: colonnade compare --data digits --methods local,splitnn --labels 50,200 --seeds 3
    """
    from colonnade.console import compare_methods

    arrangement = parties, active, rows, bias
    compare_methods(
        data, methods, labels, aligned, seeds, jobs, arrangement, settings or [], target, protocol, tune, out, json_
    )


@app.command()
def reproduce(
    papers: Annotated[
        list[str] | None, typer.Argument(help="Papers: 000 to 004, or by name (fedonce), or all. None: a list.")
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

    Example: colonnade reproduce 002 --table 2 --quick
    """
    from colonnade.bench.reproduce_console import reproduce_tables

    reproduce_tables(
        papers or [], table, data, quick, seeds, tune, jobs, settings or [], out, record, write_docs, json_
    )


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A folder that `run --out` or `compare` wrote.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the page; FOLDER/report.html by default.")] = None,
) -> None:
    """Write the HTML page of a run or a comparison: one file, no network needed.

    Example: colonnade report my-run --out page.html
    """
    from colonnade.console import write_page

    write_page(folder, out)


@app.command()
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


@app.command()
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


@app.command()
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
    json_: Json = None,
) -> None:
    """Which method to use on these data: expected score, bytes and time, why, and what would change the advice.

    It tries a few methods briefly on validation rows, and looks up what all methods gave in settings like yours.

    Example: colonnade advise digits --labels 100 --bytes 5MB
    """
    from colonnade.advisor.console import advise_on

    arrangement = parties, active, rows, None
    advise_on(data, labels, aligned, arrangement, max_bytes, seconds, epsilon, delta, seed, seeds, json_)


@app.command()
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


app.add_typer(federate, name="federate")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="A folder that `run --out` or model.save wrote.")],
    onnx: Annotated[Path, typer.Option("--onnx", help="Folder for the ONNX files; new, empty, or an earlier export.")],
    categories: Annotated[
        str, typer.Option(help="How encoders read categories: text, or codes (int64) for runtimes without text.")
    ] = "text",
    atol: Annotated[
        float, typer.Option(help="Largest difference between file and network; else nothing is written.")
    ] = 1e-4,
) -> None:
    """Write each party's encoder, with its preprocessing, and the head as ONNX files, checked with onnxruntime.

    Example: colonnade export my-run --onnx my-run/onnx
    """
    from colonnade.export.command import export_model

    export_model(folder, onnx, categories, atol)


@app.command()
def serve(
    folder: Annotated[Path, typer.Argument(help="A folder that `run --out` or model.save wrote.")],
    data: Data,
    host: Annotated[str, typer.Option(help="Address; any but this machine's own needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: any free one.")] = 8000,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token that callers must send; else COLONNADE_TOKEN has it.")
    ] = None,
    max_ids: Annotated[int, typer.Option(help="Ids of one request, at most.")] = 1000,
    max_bytes: Annotated[int, typer.Option(help="Bytes of one request, at most.")] = 1 << 20,
    cache_rows: Annotated[int, typer.Option(help="Representations that are kept, at most; 0: none.")] = 100_000,
    cache_seconds: Annotated[float, typer.Option(help="How long a representation is kept.")] = 300.0,
    certificate: Annotated[Path | None, typer.Option(help="PEM file, for HTTPS; with --key.")] = None,
    key: Annotated[Path | None, typer.Option(help="PEM file of the certificate's key.")] = None,
) -> None:
    """Answer predictions over HTTP, until stopped: ids in, probabilities out.

    Example: colonnade serve my-run --data digits, then
    curl -d '{"ids": [3, 14]}' -H 'content-type: application/json' http://127.0.0.1:8000/predict
    """
    from colonnade.serve.command import serve_model
    from colonnade.serve.server import Settings, read_token

    settings = Settings(
        host=host, port=port, token=read_token(token_file), max_ids=max_ids, max_bytes=max_bytes,
        certificate=certificate, key=key,
    )  # fmt: skip
    serve_model(folder, data, settings, cache_rows, cache_seconds)


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
            print("Stopped. A comparison goes on from here with the same command.", file=sys.stderr)
        raise


if __name__ == "__main__":
    main()
