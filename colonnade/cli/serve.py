"""`colonnade serve`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from colonnade.data.vertical import VerticalData
from colonnade.deploy.export.stored import stored_model
from colonnade.deploy.serve.predictor import Predictor
from colonnade.deploy.serve.server import Settings, is_loopback, serve
from colonnade.deploy.serve.source import predictor_of
from colonnade.errors import ConfigError
from colonnade.methods._base.method import Method


def serve_model(folder: Path, data: str, settings: Settings, cache_rows: int, cache_seconds: float) -> None:
    """Serve a stored model over the tables that `data` names, until stopped."""
    console = Console(highlight=False)
    with console.status("Reading model and tables"):
        model = stored_model(folder)
        predictor = predictor_of(model, tables(model, data), cache_rows=cache_rows, cache_seconds=cache_seconds)

    def ready(url: str) -> None:
        for line in greeting(predictor, settings, url):
            console.print(line, soft_wrap=True, markup=False)

    serve(predictor, settings, ready)


def tables(model: Method, data: str) -> VerticalData:
    """All rows of a dataset or a TOML description, divided among the model's parties."""
    if data.endswith(".toml"):
        from colonnade.data.description import read_description

        return read_description(Path(data)).data
    from colonnade.data.datasets import dataset

    rows = dataset(data).load()
    if model.trained().has_networks:
        wanted = (model.active_, *model.federation_.passive)
        if any(name not in rows.views for name in wanted[1:]) and len(wanted) >= 2:
            rows = dataset(data).load(len(wanted))
        strangers = [name for name in wanted[1:] if name not in rows.views]
        if strangers:
            raise ConfigError(
                f"--data {data} has no party {', '.join(map(repr, strangers))}. Name the data of the run."
            )
    return rows


def greeting(predictor: Predictor, settings: Settings, url: str) -> list[str]:
    """What a user should know at the start."""
    lines = [f"Serving {predictor.method} at {url}: POST /predict, GET /health, /metrics, /openapi.json"]
    if settings.token is None:
        lines.append("No token: everybody on this machine may ask.")
    if not is_loopback(settings.host) and settings.certificate is None:
        lines.append("Other machines reach this address, and the token travels in plain text: give --certificate.")
    absent = predictor.unreachable()
    if absent:
        lines.append(f"Without a table: {', '.join(absent)}. Zero takes the place of what they would send.")
    return lines
