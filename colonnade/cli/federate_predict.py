"""`colonnade federate align`, `predict` and `serve`: what they do and what they show."""

from __future__ import annotations

import contextlib
from pathlib import Path

from rich.console import Console

from colonnade.cli.serve import greeting
from colonnade.deploy.serve.cache import Cache
from colonnade.deploy.serve.predictor import GatheringPredictor
from colonnade.deploy.serve.server import Settings, serve
from colonnade.engines.remote import Link
from colonnade.errors import ConfigError, WireError, raise_all
from colonnade.sites.alignment.aligning import align_sites, count_sites, refuse_list
from colonnade.sites.files.parts import write_json
from colonnade.sites.prediction.loading import find_run, read_part
from colonnade.sites.provisioning.processes import Kit, check_site, open_kit
from colonnade.sites.provisioning.reach import reached
from colonnade.sites.provisioning.site_file import site_path
from colonnade.sites.running.batch import check_out, ids_of_file, predict_batch, summary, unlabelled, write_frame
from colonnade.sites.running.gathering import SitesSource, predictor_between_sites
from colonnade.sites.settings.description import SiteFile
from colonnade.sites.settings.table import SiteTable, read_site_table


def _open(folder: Path, path: Path | None) -> tuple[Kit, SiteFile, SiteTable]:
    kit = open_kit(folder)
    if not kit.active:
        raise ConfigError(f"{folder} is the kit of a passive party. Use that of {kit.federation.active!r}.")
    site = check_site(kit, site_path(kit, path))
    return kit, site, read_site_table(site, kit.federation.passive)


def align_and_show(folder: Path, path: Path | None, only_size: bool, out: Path | None) -> None:
    """Align with all sites, or only count, with progress; print what was found."""
    kit, site, table = _open(folder, path)
    if not only_size:
        refuse_list(site)
    with reached(kit, site, wait=kit.federation.timeout, every=True) as reach:
        link = Link(reach.calls, reach.run, largest=site.policy.bytes)
        work = count_sites if only_size else align_sites
        with contextlib.closing(link), _Shown() as shown:
            record = work(site, kit.federation, table, link, shown.progress)
    for party, common in record["common"].items():
        print(
            f"{party}: {record['ids'][party]:,} ids, {common:,} in common with the {record['ids'][site.party]:,} here"
        )
    if not only_size:
        print(f"{record['aligned']:,} rows are held by all parties; kept in {site.aligned}, and at each site")
    print(f"sent {record['traffic']['bytes']:,} bytes in {record['seconds']:.1f} s")
    if out is not None:
        write_json(out, record)


def predict_and_show(
    folder: Path, path: Path | None, run: str | None, ids: Path | None, out: Path, wait: float, json: Path | None
) -> None:
    """Predict the rows of a file, or all aligned ones without a label; write them, print who was missing."""
    check_out(out)
    kit, site, table = _open(folder, path)
    column = str(site.table["id"])
    given, rows = unlabelled(table) if ids is None else ids_of_file(ids, column, site.party, table)
    predictor, source, trained = _predictor(site, table, run, Cache(0, 1.0))
    with reached(kit, site, wait=wait, every=False) as reach, _Shown() as shown:
        missing = source.connect(reach.calls, reach.run)
        raise_all(list(missing.refused.values()), WireError, "predict")
        batch = predict_batch(predictor, given, rows, table, shown.progress)
    write_frame(out, batch.frame(predictor, column))
    for name, why in missing.absent.items():
        print(f"{name} is absent: {why}")
    for line in summary(batch):
        print(line)
    print(f"run {trained} ({predictor.method}); predictions are in {out}")
    if json is not None:
        write_json(json, {
            "run": trained, "ids": len(batch.ids), "predicted": int(batch.known.sum()), "absent": batch.absent,
            "unreachable": list(batch.unreachable), **source.statistics(),
        })  # fmt: skip


def serve_and_show(
    folder: Path, path: Path | None, run: str | None, settings: Settings, cache: Cache, wait: float
) -> None:
    """Answer predictions over HTTP until stopped."""
    from colonnade.sites.running.serving import Keeper

    console = Console(highlight=False)
    kit, site, table = _open(folder, path)
    predictor, source, trained = _predictor(site, table, run, cache, lasting=True)
    keeper = Keeper(kit, site, source, wait)

    def ready(url: str) -> None:
        for line in [*greeting(predictor, settings, url), f"run {trained} of {site.party}"]:
            console.print(line, soft_wrap=True, markup=False)

    try:
        with console.status("Reaching the sites"):
            missing = keeper.start()
        raise_all(list(missing.refused.values()), WireError, "serve")
        for name, why in missing.absent.items():
            console.print(f"{name} is absent: {why}", soft_wrap=True, markup=False)
        serve(predictor, settings, ready)
    finally:
        keeper.stop()


def _predictor(
    site: SiteFile, table: SiteTable, run: str | None, cache: Cache, *, lasting: bool = False
) -> tuple[GatheringPredictor, SitesSource, str]:
    trained = find_run(site.out, site.party, run)
    part = read_part(site.out, trained, site.party)
    predictor, source = predictor_between_sites(part, table, cache, lasting=lasting)
    return predictor, source, trained


class _Shown:
    """Progress as a line that changes."""

    def __init__(self) -> None:
        self._status = Console(stderr=True, highlight=False).status("Reaching the sites")

    def __enter__(self) -> _Shown:
        self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._status.stop()

    def progress(self, phase: str, done: int, total: int) -> None:
        """Show how far a phase is."""
        self._status.update(f"{phase}: {done:,} of {total:,}")
