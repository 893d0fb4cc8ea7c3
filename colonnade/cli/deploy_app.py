"""Commands that use a trained model: export, serve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from colonnade.cli.options import Data


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
    from colonnade.cli.export import export_model

    export_model(folder, onnx, categories, atol)


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
    from colonnade.cli.serve import serve_model
    from colonnade.deploy.serve.server import Settings, read_token

    settings = Settings(
        host=host, port=port, token=read_token(token_file), max_ids=max_ids, max_bytes=max_bytes,
        certificate=certificate, key=key,
    )  # fmt: skip
    serve_model(folder, data, settings, cache_rows, cache_seconds)
