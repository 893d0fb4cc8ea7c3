"""ONNX files say what the networks say, from raw columns on; a file that does not is never left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest

import colonnade as cn
from colonnade.cli import main
from colonnade.deploy.export import ExportError, export_onnx, parts
from tests.conftest import make_data
from tests.methods.small import small


def run(path: Path, **feeds: Any) -> np.ndarray[Any, Any]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, feeds)[0])


def raw(frame: pd.DataFrame, facts: dict[str, Any]) -> dict[str, Any]:
    """A user's table as the file's own description says it is read."""
    feeds = {}
    if "numbers" in facts["inputs"]:
        feeds["numbers"] = frame[facts["inputs"]["numbers"]["columns"]].to_numpy(np.float32)
    if "categories" in facts["inputs"]:
        text = frame[facts["inputs"]["categories"]["columns"]].astype(object)
        feeds["categories"] = text.where(text.notna(), "").to_numpy(object)
    return feeds


def predict(folder: Path, views: dict[str, pd.DataFrame], ids: pd.Index) -> np.ndarray[Any, Any]:
    """The whole model by its files alone: each party its encoder, zeros for the rows it lacks, then the head."""
    index = json.loads((folder / "export.json").read_text())
    feeds = {}
    for party, entry in index["encoders"].items():
        facts = json.loads((folder / entry["file"]).with_suffix(".json").read_text())
        held = ids.isin(views[party].index)
        h = np.zeros((len(ids), entry["output"]["shape"][1]), dtype=np.float32)
        h[held] = run(folder / entry["file"], **raw(views[party].loc[ids[held]], facts))
        feeds[index["head"]["inputs"][party]] = h
    return run(folder / index["head"]["file"], **feeds)


def frames(rows: int, seed: int) -> dict[str, pd.DataFrame]:
    """New rows of the parties of `make_data`: gaps in every column, categories never seen, some rows at p0 alone."""
    rng = np.random.default_rng(seed)
    ids = pd.Index([f"new{i}" for i in range(rows)])
    p0 = pd.DataFrame(rng.normal(size=(rows, 3)) * 4, index=ids, columns=["x0", "x1", "x2"])
    p1 = pd.DataFrame(rng.normal(size=(rows, 4)) * 4, index=ids, columns=["x0", "x1", "x2", "x3"])
    for frame in (p0, p1):
        frame[rng.random(frame.shape) < 0.3] = np.nan
    p1["kind"] = rng.choice(np.array(["a", "b", "c", "never seen", None], dtype=object), rows)
    return {"p0": p0, "p1": p1.iloc[: rows - 5]}


@pytest.fixture(scope="module")
def splitnn(tmp_path_factory: pytest.TempPathFactory) -> tuple[cn.Method, Path]:
    model = small("splitnn", epochs=3).fit(make_data())
    folder = tmp_path_factory.mktemp("export") / "onnx"
    export_onnx(model, folder)
    return model, folder


def test_the_files_predict_what_the_model_predicts_from_raw_columns(splitnn: tuple[cn.Method, Path]) -> None:
    model, folder = splitnn
    views = frames(40, 1)
    wanted = model.predict_proba(views, absent="zero")
    assert model.absent_ == {"p1": 5}  # type: ignore[attr-defined]
    np.testing.assert_allclose(predict(folder, views, views["p0"].index), wanted, atol=1e-5)
    one = {name: view.iloc[:1] for name, view in views.items()}
    np.testing.assert_allclose(predict(folder, one, one["p0"].index), wanted[:1], atol=1e-5)


def test_a_party_takes_its_own_file_alone(splitnn: tuple[cn.Method, Path]) -> None:
    _, folder = splitnn
    assert {p.name for p in folder.iterdir()} == {
        "export.json", "head.onnx", "head.json", "encoder-p0.onnx", "encoder-p0.json", "encoder-p1.onnx",
        "encoder-p1.json",
    }  # fmt: skip
    props = {p.key: p.value for p in onnx.load(folder / "encoder-p1.onnx").metadata_props}
    assert (props["party"], props["method"], props["colonnade"]) == ("p1", "splitnn", cn.__version__)
    inputs = json.loads(props["inputs"])
    assert inputs["numbers"]["columns"] == ["x0", "x1", "x2", "x3"]
    assert inputs["categories"]["known"] == {"kind": ["a", "b", "c"]}
    assert json.loads((folder / "encoder-p1.json").read_text())["inputs"] == inputs


def test_nobody_reads_of_another_partys_columns_nor_of_this_machine(splitnn: tuple[cn.Method, Path]) -> None:
    _, folder = splitnn
    for name in ("export.json", "head.onnx", "head.json", "encoder-p0.onnx", "encoder-p0.json"):
        assert b"kind" not in (folder / name).read_bytes().replace(b'"kind": ', b"").replace(b"kind\x12", b"")
    for path in folder.glob("*.onnx"):
        assert b"site-packages" not in path.read_bytes() and b"/colonnade/" not in path.read_bytes()


def test_a_tampered_graph_is_found_and_nothing_is_left(
    splitnn: tuple[cn.Method, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, folder = splitnn
    graph = onnx.load(folder / "encoder-p0.onnx")
    weight = next(t for t in graph.graph.initializer if len(t.dims) == 2)
    changed = onnx.numpy_helper.to_array(weight).copy()
    changed[0, 0] += 0.01
    weight.CopyFrom(onnx.numpy_helper.from_array(changed, weight.name))
    monkeypatch.setattr(parts, "to_graph", lambda *args: graph)
    with pytest.raises(ExportError, match=r"party 'p0': .* differs from the network by .* Nothing was written"):
        export_onnx(model, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_export_stays_when_the_next_one_fails(
    splitnn: tuple[cn.Method, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, folder = splitnn
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    monkeypatch.setattr(parts, "to_graph", lambda *args: onnx.load(folder / "head.onnx"))
    with pytest.raises(ExportError, match="does not run"):
        export_onnx(model, folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_fedonce_pca_with_host_columns_scaler_and_regression(tmp_path: Path) -> None:
    data = make_data(task="regression")
    model = small("fedonce-pca", epochs=3, head_hidden=(6,)).fit(data)
    folder = tmp_path / "onnx"
    index = export_onnx(model, folder)
    assert index["head"]["output"] == {"name": "prediction", "shape": ["rows"]} and index["classes"] == []
    views = frames(30, 2)
    np.testing.assert_allclose(
        predict(folder, views, views["p0"].index), model.predict(views, absent="zero"), rtol=1e-5
    )


def test_what_cannot_be_exported_is_said(tmp_path: Path, splitnn: tuple[cn.Method, Path]) -> None:
    with pytest.raises(cn.ConfigError, match="linear has no networks that could be exported"):
        export_onnx(cn.Linear().fit(make_data()), tmp_path / "out")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    with pytest.raises(cn.ConfigError, match="holds other files"):
        export_onnx(splitnn[0], tmp_path / "other")
    with pytest.raises(cn.ConfigError, match=r"categories must be one of text, codes\. Got 'words'"):
        export_onnx(splitnn[0], tmp_path / "out", categories="words")
    assert not (tmp_path / "out").exists()


def test_noise_that_the_files_do_not_add_is_noted() -> None:
    from colonnade.deploy.export.folder import notes

    model = small("splitnn", epochs=1, protect="noise:representation:0.5", codec="float16").fit(make_data())
    first, second = notes(model)  # type: ignore[arg-type]
    assert first.startswith("noise:representation:0.5 acts on what parties send")
    assert "travel as float16" in second


def test_the_command_names_a_folder_without_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["export", str(tmp_path), "--onnx", str(tmp_path / "out")])
    assert end.value.code == 2
    assert "holds no trained model. Give the folder of `run … --out`" in capsys.readouterr().err
