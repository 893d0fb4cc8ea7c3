"""What is imported when: the core needs torch and numpy alone, and `--help` not even those."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

BARE = """
import sys

ABSENT = {"pandas", "sklearn", "scipy", "safetensors", "joblib", "rich", "typer", "lightgbm", "pyarrow"}

class Without:  # what a machine without these packages has in the place of this finder
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in ABSENT else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
import numpy as np
import colonnade as cn

x = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
data = cn.VerticalData({"bank": x[:, :2], "shop": x[:, 2:]}, (x[:, 0] + x[:, 3] > 0).astype(int))
parts = cn.split(data, seed=1)
model = cn.SplitNN(hidden=(8,), width=4, epochs=5).fit(parts.train, parts.valid)
views = {name: (view.x, view.ids) for name, view in parts.test.views.items()}
assert model.predict(views).shape == (len(parts.test.labels),)
assert 0 <= model.score(views, (parts.test.labels.values, parts.test.labels.ids)) <= 1
assert model.traffic_.bytes > 0
found = ABSENT & {name.partition(".")[0] for name in sys.modules}
assert not found, found
print("done")
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment, check=False
    )


def test_the_core_runs_with_torch_and_numpy_alone() -> None:
    done = python(BARE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "done"


def test_help_waits_for_nothing_heavy() -> None:
    code = """
import sys
from colonnade.cli import main
try:
    main(["compare", "--help"])
except SystemExit as end:
    assert end.code == 0
heavy = {"torch", "numpy", "pandas", "sklearn", "scipy", "joblib"} & set(sys.modules)
assert not heavy, heavy
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert "Compare methods over labels, overlap and seeds" in done.stdout


def test_every_public_name_can_be_had_and_an_unknown_one_cannot() -> None:
    code = """
import sys, colonnade
assert "torch" not in sys.modules
for name in colonnade.__all__:
    assert getattr(colonnade, name) is not None, name
assert set(dir(colonnade)) == set(colonnade.__all__)
try:
    colonnade.SplitN
except AttributeError as error:
    assert "module 'colonnade' has no attribute 'SplitN'" in str(error)
else:
    raise SystemExit("an unknown name was found")
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
