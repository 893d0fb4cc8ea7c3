"""`make bench` runs every benchmark; `make bench BENCH=overhead` runs one. Each times two programs in one process."""

from __future__ import annotations

import sys

from benchmarks import (
    doors,
    faults,
    fedhssl,
    flare,
    fuzz,
    gpu,
    images,
    local_ssl,
    memory,
    nat,
    overhead,
    pairs,
    psi,
    startup,
    walk,
)

BENCHMARKS = {
    "overhead": overhead.main,
    "walk": walk.main,
    "doors": doors.main,
    "pairs": pairs.main,
    "nat": nat.main,
    "local-ssl": local_ssl.main,
    "fedhssl": fedhssl.main,
    "images": images.main,
    "gpu": gpu.main,
    "startup": startup.main,
    "memory": memory.main,
    "flare": flare.main,
    "faults": faults.main,
    "psi": psi.main,
    "fuzz": fuzz.main,
}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"There is no benchmark {unknown[0]!r}. Known: {', '.join(BENCHMARKS)}.")
    for name in names or list(BENCHMARKS):
        print(f"\n== {name}")
        BENCHMARKS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
