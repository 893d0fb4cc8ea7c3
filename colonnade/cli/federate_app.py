"""`colonnade federate …`: from startup kits to training between sites. Heavy imports wait until a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

federate = typer.Typer(
    no_args_is_help=True,
    help="Align, train and predict between real sites, over mutual TLS (NVIDIA FLARE).",
    epilog="Start with: [bold]colonnade federate demo[/bold], then docs/federate.md",
)

Kit = Annotated[Path, typer.Argument(help="A party's folder that `provision` wrote.")]
Site = Annotated[
    Path | None,
    typer.Option("--site", help="The site's own TOML file. By default the only site.toml of the party in this folder."),
]


@federate.command()
def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder for all files; new or empty. colonnade-out/federate-demo by default.")
    ] = None,
) -> None:
    """Show all of it on this machine: two sites that align, train and predict, and the same model in one process.

    Each command is printed before it runs, so that you can type it yourself afterwards.

    Example: colonnade federate demo
    """
    from colonnade.cli.demo.run import run_demo

    run_demo(out)


@federate.command()
def provision(
    file: Annotated[Path, typer.Argument(help="federation.toml: who takes part, and where the active party listens.")],
    out: Annotated[Path, typer.Option(help="Folder for the kits; new or empty.")],
) -> None:
    """Write a startup kit per party: its certificate, and settings that allow no more than Colonnade needs.

    Example: colonnade federate provision federation.toml --out kits
    """
    from colonnade.sites.provisioning.provision import provision as make

    for party, folder in make(file, out).items():
        typer.echo(f"{party}: {folder}")
    typer.echo(f"Give each party its kit over a channel you trust. Keep {out / 'authority'}: it can admit others.")


@federate.command()
def join(kit: Kit, site: Site = None) -> None:
    """Start this party's site and keep it running; Ctrl-C stops it. The active party's site is the server.

    Example: colonnade federate join kits/shop
    """
    from colonnade.sites.provisioning.processes import join as run
    from colonnade.sites.provisioning.processes import open_kit
    from colonnade.sites.provisioning.site_file import site_path

    found = open_kit(kit)
    raise typer.Exit(run(found, site_path(found, site)))


@federate.command()
def train(
    kit: Kit,
    site: Site = None,
    method: Annotated[str | None, typer.Option(help="A method; [method] of the site by default.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="An option of the method, key=value; may be repeated.")
    ] = None,
    lost: Annotated[
        str, typer.Option(help="When a site is lost: wait for it, go on without it (zeros in its place), or stop.")
    ] = "wait",
    patience: Annotated[float, typer.Option(help="Seconds for which a lost site is waited for.")] = 600.0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start anew, even if the same training was cut.")] = False,
    json_: Annotated[Path | None, typer.Option("--json", help="Write the record to this file.")] = None,
) -> None:
    """Train a method with all sites, at the active party, while its site and the others run.

    A training that was cut, by a crash of any site or of this command, goes on when the same is trained again.

    Example: colonnade federate train kits/bank --set epochs=20
    """
    from colonnade.cli.federate_train import train_and_show
    from colonnade.sites.running.train import Faults

    faults = Faults(lost, patience)  # type: ignore[arg-type]  # it looks at it
    train_and_show(kit, site, method, settings or [], faults, fresh, json_)


@federate.command()
def align(
    kit: Kit,
    site: Site = None,
    size: Annotated[
        bool, typer.Option("--size", help="A first look: only how many ids each pair has in common. Nothing is kept.")
    ] = False,
    json_: Annotated[Path | None, typer.Option("--json", help="Write the record to this file.")] = None,
) -> None:
    """Find the rows that all parties hold, by private set intersection. Training uses them from then on.

    Example: colonnade federate align kits/bank
    """
    from colonnade.cli.federate_predict import align_and_show

    align_and_show(kit, site, size, json_)


Run = Annotated[str | None, typer.Option(help="A trained run, or the beginning of its name; the newest by default.")]


@federate.command()
def predict(
    kit: Kit,
    site: Site = None,
    *,
    out: Annotated[Path, typer.Option(help="File to write: .csv, .tsv or .parquet.")],
    ids: Annotated[
        Path | None, typer.Option(help="Table with the ids to predict; by default all aligned rows without a label.")
    ] = None,
    run: Run = None,
    wait: Annotated[float, typer.Option(help="Seconds for which a site's answer is waited for.")] = 60.0,
    json_: Annotated[Path | None, typer.Option("--json", help="Write the record to this file.")] = None,
) -> None:
    """Predict rows with the parts of a trained model that are at the sites.

    Example: colonnade federate predict kits/bank --out predictions.csv
    """
    from colonnade.cli.federate_predict import predict_and_show

    predict_and_show(kit, site, run, ids, out, wait, json_)


@federate.command()
def serve(
    kit: Kit,
    site: Site = None,
    run: Run = None,
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
    wait: Annotated[float, typer.Option(help="Seconds for which a site's answer is waited for.")] = 10.0,
) -> None:
    """Answer predictions over HTTP, until stopped: ids in, probabilities out, representations from the sites.

    Example: colonnade federate serve kits/bank
    """
    from colonnade.cli.federate_predict import serve_and_show
    from colonnade.deploy.serve.cache import Cache
    from colonnade.deploy.serve.server import Settings, read_token

    settings = Settings(
        host=host, port=port, token=read_token(token_file), max_ids=max_ids, max_bytes=max_bytes,
        certificate=certificate, key=key,
    )  # fmt: skip
    serve_and_show(kit, site, run, settings, Cache(cache_rows, cache_seconds), wait)


@federate.command()
def status(kit: Kit) -> None:
    """What runs: this site's processes and, at the active party, the connected sites and the jobs.

    Example: colonnade federate status kits/bank
    """
    from colonnade.cli.federate_train import show_status

    show_status(kit)


@federate.command()
def stop(kit: Kit) -> None:
    """Stop this party's site. Each party stops its own.

    Example: colonnade federate stop kits/shop
    """
    from colonnade.sites.provisioning.processes import open_kit
    from colonnade.sites.provisioning.processes import stop as end

    found = open_kit(kit)
    typer.echo(f"{found.party}: {end(found)} processes ended")
