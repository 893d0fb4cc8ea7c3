"""Image parties: every method on images, on images beside tables, and what is said about images that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.nets.graphs import StepGraph
from colonnade.nets.image import CNN0, CNN1
from colonnade.nets.resnet import ResNet18
from colonnade.parties.party import Party
from tests.methods.small import small

TABLES_ONLY_TOGETHER = ("combined", "linear", "lightgbm")  # put everything into one place


def make_images(rows: int = 120, side: int = 8) -> tuple[dict[str, Any], np.ndarray]:
    """Three classes, each a pattern under noise: grey images of bytes at "left" and "right", a table at "shop"."""
    draw = np.random.default_rng(0)
    y = draw.integers(0, 3, rows)
    patterns = draw.normal(size=(3, 2, side, side))
    pixels = patterns[y] + 0.7 * draw.normal(size=(rows, 2, side, side))
    grey = np.clip(128 + 40 * pixels, 0, 255).astype(np.uint8)
    shop = (draw.normal(size=(rows, 3)) + y[:, None]).astype(np.float32)
    return {"left": grey[:, :1], "right": grey[:, 1:], "shop": shop}, y


def quick(name: str, **options: Any) -> cn.Method:
    settings = {"epochs": 8} if "epochs" in cn.METHODS[name]().get_params() else {}
    if "pretrain_epochs" in cn.METHODS[name]().get_params():
        settings["pretrain_epochs"] = 2
    return small(name, **{**settings, **options})


@pytest.mark.parametrize("name", cn.METHODS)
def test_every_method_learns_from_images_and_predicts_the_same_after_saving(name: str, tmp_path: Path) -> None:
    views, y = make_images()
    parts = cn.split(cn.VerticalData({"left": views["left"], "right": views["right"]}, y))
    model = quick(name).fit(parts.train, parts.valid)
    assert model.score(parts.test.views, parts.test.labels) > 0.6
    again = cn.load(model.save(tmp_path / "model"))
    np.testing.assert_allclose(again.predict_proba(parts.test.views), model.predict_proba(parts.test.views), atol=1e-6)


@pytest.mark.parametrize("name", [n for n in cn.METHODS if n not in TABLES_ONLY_TOGETHER])
@pytest.mark.parametrize("active", ["left", "shop"])
def test_images_and_tables_in_one_federation(name: str, active: str) -> None:
    views, y = make_images()
    parts = cn.split(cn.VerticalData(views, y, active=active), labels=0.6, aligned=0.8)
    options = {"averaged": ("projector",)} if "averaged" in cn.METHODS[name]().get_params() else {}
    model = quick(name, **options).fit(parts.train, parts.valid)
    assert model.predict_proba(parts.test.views).shape == (len(parts.test.views[active]), 3)


@pytest.mark.parametrize("encoder, kind", [("cnn0", CNN0), ("cnn1", CNN1), ("resnet18", ResNet18)])
def test_the_image_encoder_is_an_option(encoder: str, kind: type) -> None:
    views, y = make_images(rows=40, side=14)
    data = cn.VerticalData({"left": views["left"], "right": views["right"]}, y)
    model = cn.SplitNN(image_encoder=encoder, width=8, epochs=1).fit(data)
    assert isinstance(model.federation_.active.encoder, kind)
    with pytest.raises(cn.ConfigError, match=r"image_encoder must be one of cnn0, .*Got 'vgg'"):
        cn.SplitNN(image_encoder="vgg")


def test_views_of_digits_are_not_mirrored_when_told_so() -> None:
    views, y = make_images(rows=40)
    data = cn.VerticalData({"left": views["left"], "right": views["right"]}, y)
    mirrored, upright = (quick("fed-local-ssl", flip=flip, epochs=1).fit(data) for flip in (True, False))
    rows = data.views
    assert not np.allclose(mirrored.predict_proba(rows), upright.predict_proba(rows))


def test_images_that_do_not_fit_are_explained() -> None:
    views, y = make_images(rows=40)
    data = cn.VerticalData({"left": views["left"], "right": views["right"]}, y)
    model = quick("splitnn").fit(data)
    with pytest.raises(cn.DataError, match=r"party 'right': rows of shape \(1, 6, 6\), but training had \(1, 8, 8\)"):
        model.predict({"left": views["left"], "right": views["right"][:, :, :6, :6]})
    with pytest.raises(cn.DataError, match=r"party 'right': pixels are numbers, but training had bytes"):
        model.predict({"left": views["left"], "right": views["right"] / np.float32(255)})
    with pytest.raises(cn.DataError, match=r"'left' \(8, 8\) uint8, 'shop' columns"):
        quick("combined").fit(cn.VerticalData({"left": views["left"], "shop": views["shop"]}, y))
    unequal = [np.zeros((1, 8, 8)), np.zeros((1, 6, 8))] * 20
    with pytest.raises(cn.DataError, match="party 'left'"):
        cn.VerticalData({"left": unequal, "right": views["right"]}, y)
    three = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten())
    with pytest.raises(cn.ConfigError, match=r"party 'left': its encoder cannot read rows of shape \[\(1, 8, 8\)\]"):
        cn.SplitNN(encoders={"left": three}).fit(data)


def test_a_gpu_that_is_not_there_is_refused() -> None:
    if torch.cuda.is_available():
        pytest.skip("a CUDA device is here")
    with pytest.raises(
        cn.ConfigError, match=r"device must be .* where a CUDA device is here\. Got 'cuda'\. Use device='cpu'\."
    ):
        cn.SplitNN(device="cuda")


def test_a_gpu_without_memory_names_the_batch_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = Party.encode

    def small_memory(party: Party, inputs: tuple[torch.Tensor, ...], *, train: bool) -> torch.Tensor:
        if train and len(inputs[0]) > 20:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")
        return encode(party, inputs, train=train)

    monkeypatch.setattr(Party, "encode", small_memory)
    views, y = make_images(rows=80)
    data = cn.VerticalData({"left": views["left"], "right": views["right"]}, y)
    with pytest.raises(
        cn.ConfigError, match=r"ran out of memory: CUDA out of memory\. Used: batch_size=64; 16 rows fit"
    ):
        cn.SplitNN(epochs=1, batch_size=64).fit(data)


def test_images_of_unequal_size_are_named() -> None:
    images = [np.zeros((1, 8, side), dtype=np.uint8) for side in (8, 9, 8, 8)]
    with pytest.raises(cn.DataError, match=r"party 'a': its images differ in size: \(1, 8, 8\), \(1, 8, 9\). Resize"):
        cn.VerticalData({"a": images, "b": np.arange(4.0)[:, None]}, [0, 1, 0, 1])


def test_on_a_cpu_a_step_runs_as_it_is() -> None:
    graph, seen = StepGraph(), []
    for rows in torch.arange(6).split(4):
        graph.run(lambda r: (seen.append(r.tolist()), r.sum())[1], rows, None)
    assert seen == [[0, 1, 2, 3], [4, 5]] and not graph.recorded


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["splitnn", "fed-local-ssl", "fedonce", "fedhssl"])
def test_cpu_and_gpu_agree_on_the_score(name: str) -> None:
    views, y = make_images(rows=240)
    parts = cn.split(cn.VerticalData({"left": views["left"], "right": views["right"]}, y))
    scores = [
        quick(name, device=device).fit(parts.train, parts.valid).score(parts.test.views, parts.test.labels)
        for device in ("cpu", "cuda")
    ]
    assert abs(scores[0] - scores[1]) < 0.15


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_step_that_looks_at_values_runs_unrecorded() -> None:
    class Looks(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            assert x.abs().max().item() < 1e9
            out: torch.Tensor = self.linear(x)
            return out

    draw = np.random.default_rng(0)
    data = cn.VerticalData({"a": draw.normal(size=(64, 4)), "b": draw.normal(size=(64, 4))}, draw.integers(0, 2, 64))
    with pytest.warns(UserWarning, match="cannot be recorded"):
        model = cn.SplitNN(device="cuda", epochs=4, batch_size=16, encoders={"b": Looks()}).fit(data)
    assert len(model.history_) == 4


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_recorded_exchange_counts_what_the_exchange_itself_does() -> None:
    draw = np.random.default_rng(0)
    views = {name: draw.normal(size=(90, 4)).astype(np.float32) for name in "abcd"}
    data = cn.VerticalData(views, draw.integers(0, 2, 90))
    on = {device: cn.SplitNN(device=device, epochs=5, batch_size=16).fit(data) for device in ("cpu", "cuda")}
    assert on["cpu"].traffic_.to_json() == on["cuda"].traffic_.to_json()
    audits = [model.federation_.wire.audit_json() for model in on.values()]
    assert audits[0] == audits[1]
