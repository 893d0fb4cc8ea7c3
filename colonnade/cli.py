"""The command line. Nothing heavy is imported before a command runs, so that `--help` answers at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

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
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="An option of the method, key=value; may be repeated.")
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

    run_once(method, data, labels, aligned, seed, parties, settings or [], out, json_)


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
    settings: Settings = None,
    protocol: Annotated[
        str, typer.Option(help="inductive, or transductive: the unlabelled training rows are the test rows (SSVFL).")
    ] = "inductive",
    target: Annotated[
        float | None, typer.Option(help="Also report the bytes sent until the validation score first reached this.")
    ] = None,
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

    compare_methods(data, methods, labels, aligned, seeds, jobs, parties, settings or [], target, protocol, out, json_)


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
        if end.code == _INTERRUPTED:
            print("Stopped. A comparison goes on from here with the same command.", file=sys.stderr)
        raise


if __name__ == "__main__":
    main()
