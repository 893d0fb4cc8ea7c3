import copy

import pytest
import torch
from torch import nn

from colonnade.errors import ConfigError
from colonnade.nets.dropout import Dropout, draw_from, generators_of
from colonnade.nets.image import CNN0, CNN1, IMAGE_ENCODERS, image_encoder
from colonnade.nets.resnet import Basic, Bottleneck, ResNet18, ResNet50


def images(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def weights(module):
    return sum(p.numel() for p in module.parameters())


def shapes(module):
    return {name: tuple(t.shape) for name, t in module.state_dict().items()}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def bare(monkeypatch):
    """Weights are not initialised: for tests that look at shapes alone."""
    for name in ("kaiming_uniform_", "kaiming_normal_"):
        monkeypatch.setattr(nn.init, name, lambda weight, *_, **__: weight)


@pytest.mark.parametrize(
    ("channels", "height", "width_px"), [(1, 14, 14), (1, 28, 14), (3, 8, 8), (2, 6, 7), (5, 16, 9)]
)
@pytest.mark.parametrize("name", ["cnn0", "cnn1", "resnet18"])
def test_every_small_image_becomes_a_representation(name, channels, height, width_px):
    encoder = image_encoder(name, channels, height, width_px, width=5).eval()
    x = images(2, channels, height, width_px)
    out = encoder(x)
    assert out.shape == (2, 5) and encoder.width == 5 and out.isfinite().all()
    assert torch.equal(out, encoder.top(encoder.bottom(x)))
    assert not torch.equal(out[0], out[1])


@pytest.mark.parametrize(
    ("name", "height", "width_px"), [("cnn0", 96, 33), ("cnn1", 40, 96), ("resnet18", 72, 71), ("resnet50", 8, 9)]
)
def test_large_images_and_the_deep_network(name, height, width_px):
    encoder, x = image_encoder(name, 3, height, width_px, width=4).eval(), images(1, 3, height, width_px)
    assert encoder(x).shape == (1, 4) and torch.equal(encoder(x), encoder.top(encoder.bottom(x)))


def test_the_small_networks_stay_small_on_large_images():
    """The last maps are at most those of 32 pixels: 14 x 14 and 5 x 5."""
    assert weights(CNN0(1, 200, 300, width=4)) == weights(CNN0(1, 32, 32, width=4))
    assert weights(CNN0(1, 32, 32, width=4)) == 320 + 18_496 + (64 * 14 * 14 + 1) * 128 + 129 * 4
    assert weights(CNN1(1, 200, 300, width=4)) == weights(CNN1(1, 32, 32, width=4))


def test_the_names_and_the_classes_belong_together(bare):
    kinds = dict(zip(IMAGE_ENCODERS, (CNN0, CNN1, ResNet18, ResNet50), strict=True))
    assert list(kinds) == ["cnn0", "cnn1", "resnet18", "resnet50"]
    assert all(type(image_encoder(name, 1, 16, 16, width=2)) is kind for name, kind in kinds.items())


@pytest.mark.parametrize(
    ("kind", "side", "expected"),
    [(ResNet18, 32, 11_168_832), (ResNet50, 32, 23_500_352), (ResNet18, 224, 11_176_512), (ResNet50, 224, 23_508_032)],
)
def test_resnet_has_the_published_number_of_weights(bare, kind, side, expected):
    """Without the last layer: 11,173,962 - 5,130 and 23,520,842 - 20,490 for CIFAR-10 with ten classes; 11,689,512 -
    513,000 and 25,557,032 - 2,049,000 for ImageNet with a thousand."""
    encoder = kind(3, side, side, width=10)
    last = encoder.top[-1]
    assert isinstance(last, nn.Linear) and last.out_features == 10
    assert weights(encoder) - weights(last) == expected


def test_the_stem_suits_the_larger_side(bare):
    def stem_of(height, width_px):
        return ResNet18(1, height, width_px, width=2).bottom[0]

    small, large = stem_of(32, 32), stem_of(16, 33)
    x = torch.empty(1, 1, 64, 64)
    assert small(x).shape == (1, 64, 64, 64) and not any(isinstance(m, nn.MaxPool2d) for m in small.modules())
    assert large(x).shape == (1, 64, 16, 16) and any(isinstance(m, nn.MaxPool2d) for m in large.modules())


def test_the_top_of_a_resnet_has_the_last_three_stages(bare):
    encoders = [ResNet18(3, 32, 32, width=10), ResNet50(3, 32, 32, width=10)]
    for encoder, kind, depths in zip(encoders, (Basic, Bottleneck), ((2, 2, 2, 2), (3, 4, 6, 3)), strict=True):
        count = lambda part, kind=kind: sum(isinstance(m, kind) for m in part.modules())  # noqa: E731
        assert (count(encoder.bottom), count(encoder.top)) == (depths[0], sum(depths[1:]))
        between = encoder.bottom(torch.empty(1, 3, 32, 32))
        assert between.shape == (1, 64 * kind.expansion, 32, 32)
        assert encoder.top[:3](between).shape == (1, 512 * kind.expansion, 4, 4)


@pytest.mark.parametrize("name", IMAGE_ENCODERS)
def test_parties_with_other_channels_have_the_same_top(bare, name):
    one, three = (image_encoder(name, channels, 28, 14, width=6) for channels in (1, 3))
    assert shapes(one.top) == shapes(three.top)
    assert shapes(one.bottom) != shapes(three.bottom)


@pytest.mark.parametrize("name", ["cnn0", "resnet18", "resnet50"])
def test_parties_with_other_sizes_have_the_same_top(bare, name):
    tops = [shapes(image_encoder(name, 1, h, w, width=6).top) for h, w in ((14, 14), (28, 14), (96, 96))]
    assert tops[0] == tops[1] == tops[2]


@pytest.mark.parametrize("name", IMAGE_ENCODERS)
def test_the_gradient_reaches_every_weight(name):
    encoder = image_encoder(name, 2, 14, 14, width=3)
    encoder(images(4, 2, 14, 14)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in encoder.parameters())


def test_batch_norms_keep_running_statistics():
    encoder = ResNet18(1, 8, 8, width=2)
    norms = [m for m in encoder.modules() if isinstance(m, nn.BatchNorm2d)]
    assert len(norms) == 20 and all(m.track_running_stats and m.running_mean is not None for m in norms)
    x = images(4, 1, 8, 8) + 3
    encoder(x)
    assert all(m.num_batches_tracked == 1 for m in norms) and norms[0].running_mean.abs().max() > 0
    encoder.eval()
    assert torch.allclose(encoder(x)[:1], encoder(x[:1]), atol=1e-5)  # a row does not depend on its batch


def test_residual_block_by_hand():
    """With batch norms in their initial state in eval mode (divide by √(1 + 1e-5)), relu(conv(relu(conv x)) + x)."""
    block = Basic(4, 4, 1).eval()
    first, second = (m.weight for m in block.modules() if isinstance(m, nn.Conv2d))
    x = images(2, 4, 5, 5)
    scale = (1 + 1e-5) ** -0.5
    h = torch.relu(nn.functional.conv2d(x, first, padding=1) * scale)
    expected = torch.relu(nn.functional.conv2d(h, second, padding=1) * scale + x)
    assert torch.allclose(block(x), expected, atol=1e-6)


def test_cnn0_and_cnn1_have_the_layers_of_fedonce():
    """On 28 pixels: 320 + 18,496 + (64·12·12 + 1)·128 + 129·16; 1,040 + 8,224 + (32·4·4 + 1)·16."""
    assert weights(CNN0(1, 28, 28, width=16)) == 320 + 18_496 + 1_179_776 + 2_064
    assert weights(CNN1(1, 28, 28, width=16)) == 1_040 + 8_224 + 8_208
    assert CNN1(1, 28, 28, width=16).bottom(images(1, 1, 28, 28)).shape == (1, 32 * 4 * 4)


def test_dropout_draws_from_the_partys_own_generator():
    x = images(2, 1, 14, 14)
    plain, dropping = CNN0(1, 14, 14, width=3, dropout=False), CNN0(1, 14, 14, width=3)
    dropping.load_state_dict(plain.state_dict())
    draw_from(dropping, torch.Generator().manual_seed(1))
    state = torch.get_rng_state()
    first, second = dropping(x), dropping(x)
    draw_from(dropping, torch.Generator().manual_seed(1))
    assert torch.equal(dropping(x), first) and not torch.equal(first, second)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(dropping.eval()(x), plain.eval()(x)) and torch.equal(plain.train()(x), plain(x))
    assert sorted(m.share for m in dropping.modules() if isinstance(m, Dropout)) == [0.25, 0.5]


def test_dropout_keeps_the_mean_and_copies_draw_on():
    layer, x = Dropout(0.25), torch.ones(100_000)
    layer.generator = torch.Generator().manual_seed(0)
    out = copy.deepcopy(layer)(x)
    assert out.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert out.mean() == pytest.approx(1.0, abs=0.01) and not torch.equal(layer(x), out)
    assert generators_of(layer, copy.deepcopy(layer)) == [layer.generator]


@pytest.mark.parametrize("name", ["cnn0", "cnn1", "resnet18"])
def test_autocast_gives_nearly_the_same(name):
    encoder, x = image_encoder(name, 1, 14, 14, width=4).eval(), images(2, 1, 14, 14)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = encoder(x)
    exact = encoder(x)
    assert out.dtype == torch.bfloat16 and (out.float() - exact).norm() < 0.05 * exact.norm()


def test_errors_name_the_way_out():
    with pytest.raises(ConfigError, match=r"no image encoder 'resnet19'. Did you mean 'resnet18'\?"):
        image_encoder("resnet19", 1, 14, 14, width=4)
    with pytest.raises(ConfigError, match=r"no image encoder 'vit'. Known: cnn0, cnn1, resnet18, resnet50"):
        image_encoder("vit", 1, 14, 14, width=4)
    with pytest.raises(
        ConfigError, match=r"(?s)'cnn1': 3 problems.*channels.*Got 0.*width.*Got -1.*Got 5 x 14.*Flatten"
    ):
        image_encoder("cnn1", 0, 5, 14, width=-1)
