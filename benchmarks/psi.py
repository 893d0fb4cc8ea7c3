"""Private set intersection through Colonnade against the library's own calls: seconds, CPU seconds and peak memory.

ECDH (openmined-psi) with 100,000 ids a side; RR22 (spu, where COLONNADE_SPU_PYTHON or this interpreter has it) with
1,000,000. Half of the ids are common. Every program runs in a fresh process, ours and the library's in turn. Where
other work shares the machine, CPU seconds compare better than seconds. The library's ECDH uses one core, ours all.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from colonnade.sites.intersection import cipher, fast

GOAL = 1.2

COMMON = """
import json, resource, sys, time
def ids(n): return [f"customer-{i:09d}" for i in range(n)], [f"customer-{i:09d}" for i in range(n // 2, n + n // 2)]
def used(who): return resource.getrusage(who)
def peak():  # of this process since it began, and of the largest that it started
    own = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(own.split()[1]) / 1024 + used(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
def report(n, program):
    mine, theirs = ids(n)
    own, children = used(resource.RUSAGE_SELF), used(resource.RUSAGE_CHILDREN)
    cpu = -sum((own.ru_utime, own.ru_stime, children.ru_utime, children.ru_stime))
    started = time.perf_counter()
    found = program(mine, theirs)
    seconds = time.perf_counter() - started
    assert found == n - n // 2, found
    own, children = used(resource.RUSAGE_SELF), used(resource.RUSAGE_CHILDREN)
    cpu += sum((own.ru_utime, own.ru_stime, children.ru_utime, children.ru_stime))
    print(json.dumps({"seconds": seconds, "cpu": cpu, "mb": peak()}))
"""

OURS = """
from colonnade.sites.intersection import align
def program(mine, theirs):
    alignment, agreed = align({"bank": mine, "shop": theirs}, protocol=sys.argv[2])
    return len(agreed["shop"])
report(int(sys.argv[1]), program)
"""

OPENMINED = """
import private_set_intersection.python as psi
def program(mine, theirs):
    client, server = psi.client.CreateWithNewKey(True), psi.server.CreateWithNewKey(True)
    setup = server.CreateSetupMessage(1e-9, len(mine), theirs, psi.DataStructure.RAW)
    response = server.ProcessRequest(client.CreateRequest(mine))
    return len(client.GetIntersection(setup, response))
report(int(sys.argv[1]), program)
"""

SPU = """
import tempfile, threading
def program(mine, theirs):
    import spu.psi as psi
    from spu.libspu import link
    description = link.Desc()
    description.recv_timeout_ms = 600_000
    for name in ("bank", "shop"):
        description.add_party(name, name)
    def side(rank, values, folder):
        with open(f"{folder}/given{rank}.csv", "w") as file:
            file.write("id\\n" + "\\n".join(values) + "\\n")
        csv = psi.SourceType.SOURCE_TYPE_FILE_CSV
        psi.psi_execute(psi.PsiExecuteConfig(
            protocol_conf=psi.PsiProtocolConfig(
                protocol=psi.PsiProtocol.PROTOCOL_RR22, receiver_rank=0, broadcast_result=True),
            input_params=psi.InputParams(
                type=csv, path=f"{folder}/given{rank}.csv", selected_keys=["id"], keys_unique=True),
            output_params=psi.OutputParams(type=csv, path=f"{folder}/found{rank}.csv", disable_alignment=True),
        ), link.create_mem(description, rank))
    with tempfile.TemporaryDirectory() as folder:
        sides = [threading.Thread(target=side, args=(r, v, folder)) for r, v in enumerate((mine, theirs))]
        [s.start() for s in sides], [s.join() for s in sides]
        found = [open(f"{folder}/found{rank}.csv").read().split()[1:] for rank in range(2)]
    rows = [{value: row for row, value in enumerate(values)} for values in (mine, theirs)]
    positions = [[rows[k][value] for value in found[k]] for k in range(2)]
    return len(positions[1])
report(int(sys.argv[1]), program)
"""


def measure(python: str, program: str, n: int, *more: str) -> dict[str, Any]:
    command = [python, "-c", COMMON + program, str(n), *more]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    for trace in re.findall(r"(/\S+/psi_[\w-]+\.trace)", done.stdout + done.stderr):  # spu leaves them
        Path(trace).unlink(missing_ok=True)
    record: dict[str, Any] = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('{"sec')))
    return record


def compare(name: str, n: int, protocol: str, python: str, reference: str, repeats: int) -> None:
    ours, library = [], []
    for _ in range(repeats):
        ours.append(measure(sys.executable, OURS, n, protocol))
        library.append(measure(python, reference, n))
    a, b = ({key: statistics.median(r[key] for r in runs) for key in runs[0]} for runs in (ours, library))
    print(f"{name}, {n:,} x {n:,} ids, {repeats} run(s) each in turn:")
    for who, r in (("ours", a), ("library", b)):
        print(f"  {who:8} {r['seconds']:6.1f} s  {r['cpu']:6.1f} s CPU  {r['mb']:6.0f} MB")
    wall, cpu = a["seconds"] / b["seconds"], a["cpu"] / b["cpu"]
    print(f"  ratio    {wall:6.2f}    {cpu:6.2f}       (goal: at most {GOAL})")


def main() -> None:
    if cipher.available():
        compare("ECDH, openmined-psi", 10_000, "ecdh", sys.executable, OPENMINED, 3)
        compare("ECDH, openmined-psi", 100_000, "ecdh", sys.executable, OPENMINED, 1)
    else:
        print("ECDH: openmined-psi is not installed")
    python = fast.interpreter()
    if python is None:
        print(f"RR22: spu is not installed (set {fast.VARIABLE})")
        return
    compare("RR22, spu", 100_000, "rr22", python, SPU, 3)
    compare("RR22, spu", 1_000_000, "rr22", python, SPU, 1)


if __name__ == "__main__":
    main()
