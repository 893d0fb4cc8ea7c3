"""`colonnade federate …`: from startup kits to training between sites. Heavy imports wait until a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

federate = typer.Typer(
    no_args_is_help=True,
    help="Train between real sites, over mutual TLS (NVIDIA FLARE).",
    epilog="Start with: [bold]colonnade federate provision federation.toml --out kits[/bold]",
)

Kit = Annotated[Path, typer.Argument(help="A party's folder that `provision` wrote.")]
Site = Annotated[Path, typer.Option("--site", help="The site's own TOML file: its table, the agreed ids, its policy.")]


@federate.command()
def provision(
    file: Annotated[Path, typer.Argument(help="federation.toml: who takes part, and where the active party listens.")],
    out: Annotated[Path, typer.Option(help="Folder for the kits; new or empty.")],
) -> None:
    """Write a startup kit per party: its certificate, and settings that allow no more than Colonnade needs.

    Example: colonnade federate provision federation.toml --out kits
    """
    from colonnade.federate.provision import provision as make

    for party, folder in make(file, out).items():
        typer.echo(f"{party}: {folder}")
    typer.echo(f"Give each party its kit over a channel you trust. Keep {out / 'authority'}: it can admit others.")


@federate.command()
def join(kit: Kit, site: Site) -> None:
    """Start this party's site and keep it running; Ctrl-C stops it. The active party's site is the server.

    Example: colonnade federate join kits/shop --site shop/site.toml
    """
    from colonnade.federate.processes import join as run
    from colonnade.federate.processes import open_kit

    raise typer.Exit(run(open_kit(kit), site))


@federate.command()
def train(
    kit: Kit,
    site: Site,
    method: Annotated[str | None, typer.Option(help="A method; [method] of the site by default.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="An option of the method, key=value; may be repeated.")
    ] = None,
    json_: Annotated[Path | None, typer.Option("--json", help="Write the record to this file.")] = None,
) -> None:
    """Train a method with all sites, at the active party, while its site and the others run.

    Example: colonnade federate train kits/bank --site bank/site.toml --set epochs=20
    """
    from colonnade.federate.console import train_and_show

    train_and_show(kit, site, method, settings or [], json_)


@federate.command()
def status(kit: Kit) -> None:
    """What runs: this site's processes and, at the active party, the connected sites and the jobs.

    Example: colonnade federate status kits/bank
    """
    from colonnade.federate.console import show_status

    show_status(kit)


@federate.command()
def stop(kit: Kit) -> None:
    """Stop this party's site. Each party stops its own.

    Example: colonnade federate stop kits/shop
    """
    from colonnade.federate.processes import open_kit
    from colonnade.federate.processes import stop as end

    found = open_kit(kit)
    typer.echo(f"{found.party}: {end(found)} processes ended")
