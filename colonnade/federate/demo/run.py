"""The demo from its first command to its last."""

from __future__ import annotations

import json
import time
from pathlib import Path

from colonnade.errors import ConfigError
from colonnade.federate.demo.files import PORT, write_files
from colonnade.federate.demo.sites import DemoError, Terminal, ended_at_last, free_port, lines_in
from colonnade.federate.place import check_place
from colonnade.federate.say import LOG

PARTIES = ("bank", "shop")
USUAL = Path("colonnade-out") / "federate-demo"


def run_demo(out: Path | None) -> None:
    """Two sites on this machine: kits, alignment, training, predictions, and the same model in one process."""
    started = time.monotonic()
    folder = _folder(out)
    port = free_port(PORT)
    write_files(folder, port)
    if port != PORT:
        _show(f"Port {PORT} is in use; the bank listens on {port} instead.")
    _show("A bank knows labels and 15 columns, a shop 15 other columns, about mostly the same customers.")
    _show("All files are in the folder of the first command. You can type each command yourself.\n")
    _show(f"$ cd {folder}")
    terminal = Terminal(folder, _show)
    try:
        with ended_at_last(terminal):
            _steps(terminal)
    except KeyboardInterrupt:
        _show(f"\nInterrupted: all processes of the demo have ended. Its files are in {folder}.")
        raise
    _show("")
    for party in PARTIES:
        log = folder / "kits" / party / LOG
        _show(f"{party} printed {len(terminal.sites[party].lines)} lines; FLARE's {lines_in(log)} are in {log}")
    _show(f"{time.monotonic() - started:.0f} s in all; no process is left running.")


def _folder(out: Path | None) -> Path:
    """A new or empty folder: the one that was given, or the next one that is free."""
    if out is None:
        out, number = USUAL, 1
        while out.exists():
            number += 1
            out = USUAL.with_name(f"{USUAL.name}-{number}")
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"--out {out} exists and is not an empty folder. Name a new one.")
    check_place(out, "Name another folder by --out.")
    out.mkdir(parents=True, exist_ok=True)
    return out


def _steps(terminal: Terminal) -> None:
    from colonnade.federate.demo.check import compare, fit_in_one_process

    folder = terminal.folder
    terminal.run("federate", "provision", "federation.toml", "--out", "kits")
    for party in PARTIES:
        terminal.join(party)
    model = fit_in_one_process(folder)  # while the sites start
    terminal.wait_for_sites()
    terminal.run("federate", "align", "kits/bank")
    terminal.run("federate", "train", "kits/bank")
    terminal.run("federate", "predict", "kits/bank", "--out", "predictions.csv")
    terminal.run("report", "bank/out")
    record = json.loads((folder / "bank" / "out" / "record.json").read_text())
    same = compare(folder, record["run"], folder / "predictions.csv", model)
    if not same.holds:
        raise DemoError(f"the sites' model is not the one of one process: {same}.")
    _show(f"\nThe same model as in one process: {same}.")
    _show("\nNow both sites are stopped, as by Ctrl-C in their terminals or by `colonnade federate stop kits/PARTY`.")


def _show(text: str) -> None:
    print(text, flush=True)
