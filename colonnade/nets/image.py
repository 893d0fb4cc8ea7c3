"""Encoders of image parties, by name: FedOnce's two small networks and ResNets.

B batch, C channels, H × W sides in pixels, D width of the representation.

Each has `bottom` and `top` parts, as the encoder of tables has, and calls top(bottom(x)). The layers of CNN0 and CNN1
are drawn in Fig. 4 of Wu et al. 2022; their sizes are those of the authors' code.
"""

from __future__ import annotations

from torch import Tensor, nn

from colonnade.errors import ConfigError, did_you_mean, raise_all
from colonnade.nets.dropout import Dropout
from colonnade.nets.resnet import ResNet18, ResNet50

MIN_SIDE = 6  # CNN0 leaves one pixel of 6
LARGEST_MAP = 14  # side of CNN0's last map for an image of 32 pixels


class CNN0(nn.Module):
    """CNN0→FC(128) of FedOnce-L0 (Wu et al. 2022, Table 2): (B, C, H, W) → (B, D).

    Two 3×3 convolutions to 32 and 64 channels, each with ReLU, 2×2 max pooling, a layer of 128, then `top`: 128 → D.

    Args:
        channels: C.
        height: H, at least 6.
        width_px: W, at least 6.
        width: D.
        dropout: 25 % after the pooling and 50 % after the layer of 128, as in the authors' code.

    Deviation: above 32 pixels, for which Wu et al. did not use it, the last map is averaged down to 14 × 14 before the
    layer of 128.
    """

    def __init__(self, channels: int, height: int, width_px: int, *, width: int, dropout: bool = True) -> None:
        super().__init__()
        _check("CNN0", channels, height, width_px, width)
        sides = [(side - 4) // 2 for side in (height, width_px)]  # two convolutions, then the pooling
        kept = (min(sides[0], LARGEST_MAP), min(sides[1], LARGEST_MAP))
        shrink = nn.Identity() if kept == tuple(sides) else nn.AdaptiveAvgPool2d(kept)
        self.bottom = nn.Sequential(
            *(nn.Conv2d(channels, 32, 3), nn.ReLU(inplace=True)),  # (B, 32, H - 2, W - 2)
            *(nn.Conv2d(32, 64, 3), nn.ReLU(inplace=True)),  # (B, 64, H - 4, W - 4)
            *(nn.MaxPool2d(2), shrink, Dropout(0.25) if dropout else nn.Identity(), nn.Flatten()),
            *(nn.Linear(64 * kept[0] * kept[1], 128), nn.ReLU(inplace=True)),  # (B, 128)
            Dropout(0.5) if dropout else nn.Identity(),
        )
        self.top = nn.Linear(128, width)
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, D)."""
        out: Tensor = self.top(self.bottom(x))
        return out


class CNN1(nn.Module):
    """CNN1 of FedOnce-L1 (Wu et al. 2022, Table 3), small enough for private training: (B, C, H, W) → (B, D).

    An 8×8 convolution to 16 channels and a 4×4 one to 32, both with stride 2, ReLU and 2×2 max pooling with stride 1;
    then `top`, one linear layer.

    Args:
        channels: C.
        height: H, at least 6.
        width_px: W, at least 6.
        width: D.

    Deviation: images under 14 pixels, which these layers cannot read, are padded with zeros before the second
    convolution to what 14 pixels would leave. Above 32 pixels the last map is averaged down to 5 × 5, its side at 32.
    """

    def __init__(self, channels: int, height: int, width_px: int, *, width: int) -> None:
        super().__init__()
        _check("CNN1", channels, height, width_px, width)
        first = [(side - 2) // 2 for side in (height, width_px)]  # after the first pooling; 6 for 14 pixels
        padding = (max(0, (7 - first[0]) // 2), max(0, (7 - first[1]) // 2))
        sides = [(side + 2 * pad - 4) // 2 for side, pad in zip(first, padding, strict=True)]
        kept = (min(sides[0], 5), min(sides[1], 5))
        self.bottom = nn.Sequential(
            *(nn.Conv2d(channels, 16, 8, stride=2, padding=3), nn.ReLU(inplace=True), nn.MaxPool2d(2, stride=1)),
            *(nn.Conv2d(16, 32, 4, stride=2, padding=padding), nn.ReLU(inplace=True), nn.MaxPool2d(2, stride=1)),
            *(nn.Identity() if kept == tuple(sides) else nn.AdaptiveAvgPool2d(kept), nn.Flatten()),
        )
        self.top = nn.Linear(32 * kept[0] * kept[1], width)
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, D)."""
        out: Tensor = self.top(self.bottom(x))
        return out


_ENCODERS: dict[str, type[CNN0] | type[CNN1] | type[ResNet18] | type[ResNet50]] = {
    "cnn0": CNN0,
    "cnn1": CNN1,
    "resnet18": ResNet18,
    "resnet50": ResNet50,
}
IMAGE_ENCODERS = tuple(_ENCODERS)


def image_encoder(name: str, channels: int, height: int, width_px: int, *, width: int) -> nn.Module:
    """A fresh encoder of images, (B, channels, height, width_px) → (B, width), with parts `bottom` and `top`.

    Args:
        name: one of `IMAGE_ENCODERS`.
        channels: of the images, 1 for grey ones.
        height: of the images, in pixels.
        width_px: of the images, in pixels.
        width: of the representation.
    """
    if name not in _ENCODERS:
        raise ConfigError(f"There is no image encoder {name!r}. {did_you_mean(name, IMAGE_ENCODERS)}")
    _check(name, channels, height, width_px, width)
    return _ENCODERS[name](channels, height, width_px, width=width)


def _check(name: str, channels: int, height: int, width_px: int, width: int) -> None:
    """Refuse what no layer can have; all problems at once."""
    sizes = {"channels": channels, "width": width}
    problems = [f"{option} must be at least 1. Got {value!r}." for option, value in sizes.items() if value < 1]
    if min(height, width_px) < MIN_SIDE:
        problems.append(
            f"images must have sides of at least {MIN_SIDE} pixels. Got {height} x {width_px}. "
            "Flatten so small an image into the columns of a table."
        )
    raise_all(problems, ConfigError, f"image encoder {name!r}")
