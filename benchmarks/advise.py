"""The advisor: its record, and how good its advice is.

    python -m benchmarks.advise keep FILE_OR_FOLDER...    # comparisons → results/advise-runs.json
    python -m benchmarks.advise appraise                  # predicted and realised gains → results/appraise-runs.json
    python -m benchmarks.advise record [FILE...]          # → colonnade/advisor/record.json, with the missing probes
    python -m benchmarks.advise evaluate [FILE...]        # leave one data set out → results/advise.md and .json

`record` and `evaluate` read `results/cross-party.json` and `results/advise-runs.json` unless others are named; so they
read folders of what `compare --json` wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks import advise_check, advise_text, appraise_check
from benchmarks.advise_runs import entries, read_runs, scores
from colonnade.data.splits import Split
from colonnade.lab.advisor import record
from colonnade.lab.advisor.mixed import fit
from colonnade.lab.advisor.probes import Probe, run_probes
from colonnade.lab.advisor.record import Entry
from colonnade.lab.run.files import write_json

KEPT = Path("results/advise-runs.json")
GAINS = Path("results/appraise-runs.json")
RECORD = Path("colonnade/advisor") / record.FILE
SOURCES = (Path("results/cross-party.json"), KEPT)
FRUGAL = 1e6  # bytes; a second table is about methods that send no more


def keep(paths: list[Path]) -> None:
    """Add the runs of comparisons to those that are kept."""
    runs, left_out = read_runs([KEPT, *paths] if KEPT.exists() else paths)
    lines = ",\n".join(json.dumps(run.flat()) for run in runs)
    KEPT.write_text(f"[\n{lines}\n]\n")
    print(f"{KEPT}: {len(runs)} runs; left out: {dict(left_out)}")


def make_record(paths: list[Path]) -> None:
    """Write the record of the package; probes of its old one are kept."""
    runs, left_out = read_runs(paths)
    old = record.from_json(json.loads(RECORD.read_text())) if RECORD.exists() else None
    known = {} if old is None else {entry.name: entry.probes for entry in old.entries}
    found, missing = entries(runs, known)
    places = {place.name: place for place in scores(runs)}
    full: list[Entry] = []
    for entry in found:
        probes = entry.probes or _probed(places[entry.name].cell().split()[0], entry)
        full.append(Entry(entry.name, entry.data, entry.setting, entry.methods, probes))
    gap = appraise_check.gap(_gains()) if GAINS.exists() else {"factor": 1.0, "constant": 0.0, "spread": 0.0}
    saved = record.to_json(full, fit([one for entry in full for one in entry.seen()]), gap)
    write_json(RECORD, saved)
    print(f"{RECORD}: {len(full)} settings; runs left out: {dict(left_out)}; data not at hand: {missing}")


def _probed(parts: Split, entry: Entry) -> dict[str, Probe]:
    probes, failed = run_probes(parts, entry.setting)
    print(entry.name, {name: round(probe.score, 3) for name, probe in probes.items()}, failed or "", flush=True)
    return probes


def _gains() -> list[appraise_check.Pair]:
    return [appraise_check.Pair(**one) for one in json.loads(GAINS.read_text())]


def evaluate(paths: list[Path]) -> None:
    """How good advice and appraisals are on data that they have not learnt from."""
    probes = {entry.name: entry.probes for entry in record.from_json(json.loads(RECORD.read_text())).entries}
    runs, _ = read_runs(paths)
    found, missing = entries(runs, probes)
    unprobed = [entry.name for entry in found if not entry.probes]
    if unprobed:
        sys.exit(f"No probes are known of {', '.join(unprobed)}. Run `python -m benchmarks.advise record` first.")
    checked = advise_check.leave_one_out(found, scores(runs))
    frugal = advise_check.leave_one_out(found, scores(runs), FRUGAL)
    if checked is None:
        sys.exit("There are fewer than three data sets. Name more comparisons.")
    pairs = _gains() if GAINS.exists() else []
    gains = appraise_check.leave_one_out(pairs) if len({pair.source for pair in pairs}) > 2 else None
    result = {
        "advise": checked.to_json(),
        "frugal": None if frugal is None else frugal.to_json(),
        "appraise": None if gains is None else gains.to_json(),
        "missing": missing,
    }
    write_json(Path("results/advise.json"), result)
    Path("results/advise.md").write_text(advise_text.page(checked, frugal, FRUGAL, gains, found))
    print(Path("results/advise.md").read_text())


def appraise() -> None:
    """Predicted and realised gains of partners; pairs that are on file are not run again."""
    known = _gains() if GAINS.exists() else []
    for pair in appraise_check.pairs(known):
        known.append(pair)
        lines = ",\n".join(json.dumps(one.to_json()) for one in known)
        GAINS.write_text(f"[\n{lines}\n]\n")
        print(pair.text, flush=True)


def main(arguments: list[str]) -> None:
    command, *rest = arguments or [""]
    paths = [Path(one) for one in rest] or [path for path in SOURCES if path.exists()]
    if command == "keep":
        keep([Path(one) for one in rest])
    elif command == "record":
        make_record(paths)
    elif command == "evaluate":
        evaluate(paths)
    elif command == "appraise":
        appraise()
    else:
        sys.exit(str(__doc__))


if __name__ == "__main__":
    main(sys.argv[1:])
