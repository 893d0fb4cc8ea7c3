"""ResNet-18 and ResNet-50 (He et al. 2016) as encoders of image parties.

B batch, C channels of the image, H × W its sides in pixels, P planes of a block, D width of the representation.

The parts have names because partial model aggregation (He et al. 2022) averages `top` alone. Its Table 1 says "top
three blocks"; a block is read as one of the four stages of Table 1 of He et al. 2016 (conv2_x … conv5_x), so `bottom`
is the stem with the first stage and `top` the other three, the pooling and the output layer. All that depends on the
image, its channels and its size, is in `bottom`: parties of equal D have equal tops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor, nn

LARGEST_SMALL_SIDE = 32  # up to here the stem keeps the resolution
STAGE_PLANES = (64, 128, 256, 512)


def conv_norm(fan_in: int, fan_out: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """Convolution without bias, then batch norm: (B, fan_in, H, W) → (B, fan_out, ⌈H/stride⌉, ⌈W/stride⌉)."""
    conv = nn.Conv2d(fan_in, fan_out, kernel, stride=stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(conv, nn.BatchNorm2d(fan_out))


def shortcut(fan_in: int, fan_out: int, stride: int) -> nn.Module:
    """The identity, or a 1×1 convolution where the shape changes (option B of He et al. 2016, §4.1)."""
    return nn.Identity() if stride == 1 and fan_in == fan_out else conv_norm(fan_in, fan_out, 1, stride)


class Basic(nn.Module):
    """Two 3×3 convolutions around which the input passes: (B, fan_in, H, W) → (B, P, H/stride, W/stride)."""

    expansion: ClassVar[int] = 1

    def __init__(self, fan_in: int, planes: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv_norm(fan_in, planes, 3, stride), nn.ReLU(inplace=True), conv_norm(planes, planes, 3)
        )
        self.shortcut = shortcut(fan_in, planes, stride)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """(B, fan_in, H, W) → (B, P, H/stride, W/stride)."""
        out: Tensor = self.relu(self.body(x) + self.shortcut(x))
        return out


class Bottleneck(nn.Module):
    """1×1, 3×3 and 1×1 convolutions, the last four times as wide: (B, fan_in, H, W) → (B, 4P, H/stride, W/stride).

    Deviation: the stride is that of the 3×3 convolution, as in most later work, not of the first 1×1.
    """

    expansion: ClassVar[int] = 4

    def __init__(self, fan_in: int, planes: int, stride: int) -> None:
        super().__init__()
        fan_out = planes * self.expansion
        self.body = nn.Sequential(
            conv_norm(fan_in, planes, 1),
            nn.ReLU(inplace=True),
            conv_norm(planes, planes, 3, stride),
            nn.ReLU(inplace=True),
            conv_norm(planes, fan_out, 1),
        )
        self.shortcut = shortcut(fan_in, fan_out, stride)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """(B, fan_in, H, W) → (B, 4P, H/stride, W/stride)."""
        out: Tensor = self.relu(self.body(x) + self.shortcut(x))
        return out


Block: TypeAlias = type[Basic] | type[Bottleneck]


def stem(channels: int, height: int, width_px: int) -> nn.Sequential:
    """The first layer: (B, C, H, W) → (B, 64, H, W), or (B, 64, ⌈H/4⌉, ⌈W/4⌉) when a side is above 32 pixels."""
    if max(height, width_px) <= LARGEST_SMALL_SIDE:
        return nn.Sequential(conv_norm(channels, STAGE_PLANES[0], 3), nn.ReLU(inplace=True))
    pool = nn.MaxPool2d(3, stride=2, padding=1)
    return nn.Sequential(conv_norm(channels, STAGE_PLANES[0], 7, 2), nn.ReLU(inplace=True), pool)


def stage(block: Block, fan_in: int, planes: int, depth: int, stride: int) -> nn.Sequential:
    """`depth` blocks, the first with the stride: (B, fan_in, H, W) → (B, P·expansion, H/stride, W/stride)."""
    first = block(fan_in, planes, stride)
    return nn.Sequential(first, *(block(planes * block.expansion, planes, 1) for _ in range(depth - 1)))


class ResNet(nn.Module):
    """Stem, four stages of residual blocks, the mean over the pixels, one linear layer: (B, C, H, W) → (B, D).

    Args:
        channels: C.
        height: H. Both sides serve only to choose the stem: 3×3 with stride 1 for sides up to 32 (as He et al. 2016,
            §4.2, for small images), else 7×7 with stride 2 and max pooling (their Table 1).
        width_px: W.
        width: D.

    Deviation: the stem for small images is followed by the four stages for large ones, as is common, not by §4.2's
    three narrow ones; the last layer gives D outputs and no class scores.
    """

    block: ClassVar[Block]
    depths: ClassVar[Sequence[int]]

    def __init__(self, channels: int, height: int, width_px: int, *, width: int) -> None:
        super().__init__()
        fan_in, stages = STAGE_PLANES[0], []
        for i, (planes, depth) in enumerate(zip(STAGE_PLANES, self.depths, strict=True)):
            stages.append(stage(self.block, fan_in, planes, depth, 2 if i else 1))
            fan_in = planes * self.block.expansion
        self.bottom = nn.Sequential(stem(channels, height, width_px), stages[0])
        self.top = nn.Sequential(*stages[1:], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(fan_in, width))
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, D)."""
        out: Tensor = self.top(self.bottom(x))
        return out

    def channels_last(self) -> None:
        """Lay the weights out as tensor cores read them; what passes through follows. For a GPU."""
        for p in self.parameters():
            if p.ndim == 4:
                p.data = p.data.to(memory_format=torch.channels_last)


class ResNet18(ResNet):
    """Two basic blocks a stage; the encoder of FedHSSL's image parties (He et al. 2022, Table 1)."""

    block = Basic
    depths = (2, 2, 2, 2)


class ResNet50(ResNet):
    """Three, four, six and three bottleneck blocks."""

    block = Bottleneck
    depths = (3, 4, 6, 3)
