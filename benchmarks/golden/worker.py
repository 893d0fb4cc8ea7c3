"""One process in one tree: `python -m golden.worker`, with the tree first on PYTHONPATH. It writes what it found."""

from __future__ import annotations

import argparse
import json
import random
import re
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from . import adapter, commands, fits, sites
from .cases import Case, Command, Fit, Sites, cases


def folder_of(folder: Path, case: Case) -> Path:
    """Where a case leaves its files."""
    return folder / re.sub(r"\W+", "-", case.name)


def run(case: Case, folder: Path) -> dict[str, Any]:
    """What a case gives, by field; an error is a field of its own."""
    _begin()
    here = folder_of(folder, case)
    try:
        match case:
            case Fit():
                return fits.train(case, here)
            case Sites():
                return sites.train(case, here)
            case Command():
                return commands.run(case, here)
    except Exception:
        return {"error": traceback.format_exc()}


def load(case: Case, folder: Path) -> dict[str, Any]:
    """What the files of a case give when they are read."""
    _begin()
    here = folder_of(folder, case)
    try:
        match case:
            case Fit():
                return fits.load(case, here)
            case Sites():
                return sites.load(case, here)
            case Command():
                return {}
    except Exception:
        return {"error": traceback.format_exc()}


def _begin() -> None:
    """The global generators at one place, so that no case depends on the one before."""
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)


def main() -> None:
    """Run one share of the cases, or load what the trees saved."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=int, nargs=2, default=(0, 1), metavar=("I", "N"))
    parser.add_argument("--only", default="")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="run the cases, and leave their files here")
    parser.add_argument("--load", nargs=2, action="append", default=[], metavar=("NAME", "FOLDER"))
    asked = parser.parse_args()
    adapter.check_tree(asked.tree)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    i, n = asked.share
    found: dict[str, Any] = {}
    for case in [case for case in cases() if asked.only in case.name][i::n]:
        if asked.save:
            found[case.name] = run(case, asked.save)
        for name, folder in asked.load:
            if not isinstance(case, Command):
                found[f"{case.name}, saved {name}"] = load(case, Path(folder))
    asked.out.write_text(json.dumps({"cpu": time.process_time(), "cases": found}))


if __name__ == "__main__":
    main()
