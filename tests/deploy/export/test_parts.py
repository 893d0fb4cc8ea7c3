"""Single files: encoders of every kind and heads, each against the party's own network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import colonnade as cn
from colonnade.data.labels import Labels
from colonnade.data.view import View, as_view
from colonnade.deploy.export import export_encoder, export_head
from colonnade.nets import resnet
from colonnade.nets.two_towers import TwoTowers
from colonnade.parties.active import ActiveParty
from colonnade.parties.party import Party
from tests.deploy.export.test_export import run

NETWORK: dict[str, Any] = {"hidden": [8], "width": 4, "embedding": 3, "image": "cnn0", "seed": 0}


def party_of(view: View, **options: Any) -> Party:
    """A prepared party that was never trained."""
    own = options.pop("encoder", None)
    party = Party("cam/1", view, np.zeros(0, np.int64), encoder=own)
    party.fit_preprocessor()
    party.build_encoder(**{**NETWORK, **options})
    return party


class OwnEncoder(nn.Module):
    """Of a user's: layers that differ between training and evaluation, and categories."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 6)
        self.rest = nn.Sequential(nn.BatchNorm1d(6), nn.GELU(), nn.Dropout(0.5), nn.Linear(6, 4))

    def forward(self, x: Tensor, codes: Tensor) -> Tensor:
        out: Tensor = self.rest(self.table(codes).sum(1) + x.sum(1, keepdim=True))
        return out


def test_two_towers_of_an_own_module_over_categories_alone_as_codes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"city": list("aabbccd") * 3, "job": list("xxyyzzz") * 3})
    party = party_of(as_view(frame, "cam/1", (), []), tower="both", encoder=OwnEncoder())
    made = export_encoder(party, "fedhssl", tmp_path, categories="codes")
    assert made.path.name == "encoder-cam_1.onnx"
    codes = np.array([[0, 1], [3, 2], [99, -1]])
    assert isinstance(party.encoder, TwoTowers)
    with torch.no_grad():
        wanted = party.encoder.eval()(torch.zeros(3, 0), torch.tensor([[0, 1], [3, 2], [0, 0]]))
    np.testing.assert_allclose(run(made.path, categories=codes), wanted, atol=1e-6)


def test_image_encoders_read_raw_pixels(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 255, (20, 3, 8, 8)).astype(np.uint8)
    party = party_of(View(np.arange(20), x, (), np.zeros((20, 0), np.int32)), image="cnn0")
    made = export_encoder(party, "splitnn", tmp_path)
    np.testing.assert_allclose(run(made.path, pixels=x), party.encode_table("train", torch.arange(20)), atol=1e-4)


def test_residual_blocks_with_batch_norm_can_be_exported(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(4, 1, 8, 8)).astype(np.float32)
    body = nn.Sequential(resnet.stem(1, 8, 8), resnet.stage(resnet.Basic, 64, 64, 1, 1))  # of ResNet-18, its start
    own = nn.Sequential(body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 4))
    party = party_of(View(np.arange(4), x, (), np.zeros((4, 0), np.int32)), encoder=own)
    assert export_encoder(party, "fedhssl", tmp_path).difference < 1e-4


def active_of(task: Any, how: str, widths: dict[str, int]) -> ActiveParty:
    """A party with labels alone and a head."""
    ids = np.arange(6)
    active = ActiveParty("server", None, ids, Labels(ids, np.array([0, 1, 2, 0, 1, 2])), task)
    active.build_head(widths, how=how, hidden=[], seed=0)
    return active


def test_a_head_that_takes_the_mean_of_parties_with_odd_names(tmp_path: Path) -> None:
    active = active_of("multiclass", "mean", {"shop 1": 4, "shop/1": 4})
    made = export_head(active, "splitnn", tmp_path)
    assert list(made.facts["inputs"]) == ["representation_shop_1", "representation_shop_1-2"]
    h = np.random.default_rng(0).normal(size=(2, 5, 4)).astype(np.float32)
    given = {"shop 1": torch.from_numpy(h[0]), "shop/1": torch.from_numpy(h[1])}
    wanted = active.targets.decode(active.logits(active.joint(None, given, 5)).detach())
    feeds = {"representation_shop_1": h[0], "representation_shop_1-2": h[1]}
    np.testing.assert_allclose(run(made.path, **feeds), wanted, atol=1e-6)


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 4)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return out if out.sum() > 0 else -out


def test_an_own_module_that_branches_on_values_is_named(tmp_path: Path) -> None:
    view = as_view(np.random.default_rng(0).normal(size=(9, 2)), "p0", (), [])
    party = party_of(view, encoder=Branching())
    with pytest.raises(cn.ConfigError, match=r"party 'cam/1': its encoder Branching cannot be exported to ONNX: .+"):
        export_encoder(party, "splitnn", tmp_path)
