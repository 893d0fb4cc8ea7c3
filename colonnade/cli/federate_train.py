"""What `colonnade federate` shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from colonnade.errors import ConfigError
from colonnade.lab.run.cell import versions
from colonnade.methods._base.options.text import own_settings, parse_settings
from colonnade.methods.registry import method_named
from colonnade.sites.files.parts import write_json
from colonnade.sites.provisioning.jobs import session
from colonnade.sites.provisioning.processes import check_site, open_kit, running
from colonnade.sites.provisioning.reach import heard_by
from colonnade.sites.provisioning.site_file import site_path
from colonnade.sites.running.train import Faults, train
from colonnade.sites.settings.table import read_site_table
from colonnade.sites.training.known import references, with_references


def train_and_show(
    folder: Path,
    site: Path | None,
    method: str | None,
    settings: list[str],
    faults: Faults,
    fresh: bool,
    out: Path | None,
) -> None:
    """Train between sites, with progress, and print the score and the traffic."""
    kit = open_kit(folder)
    file = check_site(kit, site_path(kit, site))
    name = method or file.method
    if name is None:
        raise ConfigError(f'{file.path} names no method. Add [method] with name = "…" to it, or use --method.')
    options = {**(file.options if name == file.method else {}), **own_settings(name, parse_settings(settings))}
    made = method_named(name)(**options)  # a wrong option is found here
    last = ""

    def show(phase: str, done: int, total: int) -> None:
        nonlocal last
        if (line := f"{phase}: {done} of {total}") != last:
            print(line, flush=True)
            last = line

    table = read_site_table(file, kit.federation.passive)
    table.check()
    record = train(
        kit, file, name, made.options_json() | {"seed": made.seed}, show, faults=faults, fresh=fresh,
        told=lambda text: print(text, flush=True),
    )  # fmt: skip
    record = _completed(record, references(kit.federation, file, table, made, record["metric"]), file.out)
    traffic = record["traffic"]
    print(
        f"{record['method']}: {record['metric']} {record['score']:.4f} on {record['config']['rows']['test']} test rows"
    )
    told = {"alone": f"{file.party} alone, the same network", "guess": "a constant guess"}
    for name, value in record["references"].items():
        print(f"{told[name]}: {record['metric']} {value:.4f}")
    print(f"sent {traffic['bytes']:,} bytes in {traffic['messages']:,} messages, {traffic['rounds']:,} rounds")
    if record["absent"]:
        print(f"from request {record['resumed']} on without {', '.join(record['absent'])}: zeros in their place")
    print(f"{record['seconds']:.1f} s of training")
    print(f"run {record['run']}: its record and this party's part are in {file.out}")
    if out is not None:
        write_json(out, record)


def _completed(record: dict[str, Any], found: dict[str, float], out: Path) -> dict[str, Any]:
    """The record with references and versions, kept as the run's and as the one that `colonnade report` shows."""
    whole = {**with_references(record, found), "versions": versions()}
    for name in (record["run"], "record"):
        write_json(out / f"{name}.json", whole)
    return whole


def show_status(folder: Path) -> None:
    """Print the processes of a site and, at the active party, who is connected and what ran."""
    kit = open_kit(folder)
    found = running(kit)
    print(f"{kit.party}: {f'running, {len(found)} processes' if found else 'not running'}")
    if not kit.active or not found:
        return
    with session(kit) as opened:
        here = heard_by(opened)
        for name in kit.federation.passive:
            print(f"{name}: {'connected' if name in here else 'not connected'}")
        for job in opened.list_jobs():
            print(f"{job.get('job_name')}: {job.get('status')}, submitted {job.get('submit_time')}")
