"""Image parties: every method on images, on images beside tables, and what is said about images that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.graphs import StepGraph
from colonnade.nets.image import CNN0, CNN1
from colonnade.nets.resnet import ResNet18
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
    with pytest.raises(cn.ConfigError, match=r"device='cuda', but no CUDA device is here. Use device='cpu'."):
        cn.SplitNN(device="cuda")


def test_on_a_cpu_a_step_runs_as_it_is() -> None:
    graph, seen = StepGraph(), []
    for rows in torch.arange(6).split(4):
        graph.run(lambda r: (seen.append(r.tolist()), r.sum())[1], rows, None)
    assert seen == [[0, 1, 2, 3], [4, 5]] and graph.graph is None


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
