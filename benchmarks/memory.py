"""Peak memory of training, as a multiple of the data (goal: at most twice). Measured in a fresh process."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import resource, numpy as np, torch, colonnade as cn
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
rng = np.random.default_rng(0)
views = {f"p{k}": rng.random((400_000, 256), dtype=np.float32) for k in range(2)}
y = rng.integers(0, 10, 400_000)
small = cn.VerticalData({k: v[:1000] for k, v in views.items()}, y[:1000])
cn.SplitNN(epochs=1, batch_size=512).fit(small)  # code and libraries are not data
size, before = sum(v.nbytes for v in views.values()), peak()
data = cn.VerticalData(views, cn.Labels(np.arange(51_200), y[:51_200]))
cn.SplitNN(epochs=1, batch_size=512).fit(data)
used = peak() - before + size
print(f"data {size / 1e6:.0f} MB, peak {used / 1e6:.0f} MB: {used / size:.2f} times the data (goal: at most 2)")
"""


def main() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


if __name__ == "__main__":
    main()
