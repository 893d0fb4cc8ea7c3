"""Views of images for self-supervised learning: crop, flip, colour jitter, greyscale, blur (Chen & He 2021; MoCo v2).

B rows of a batch, C channels, H × W sides in pixels, K taps of the blur.

A batch is distorted as one, each image by numbers of its own, all from one draw of the generator. Nothing is read back
from the device.

**Space.** Crop, resize, flip and blur are linear and act along each axis by itself: y = R x Qᵀ, where the matrices R
(H, H) and Q (W, W) of an image are the blur's times the resizing's. An image left sharp has the identity for a blur.

**Colour.** A table's images are standardised, so black is no longer 0. `level` stands for the mean of the raw images in
units of their standard deviation: v = x + level is the raw image up to scale, and the jitter acts on v. Brightness
multiplies v; contrast stretches v about the mean luma of the image; saturation stretches it about its luma; hue turns
it about the grey axis at constant luma (in the chroma plane of YIQ). All four are linear and commute, so their order,
random in the papers, does not matter, and a grey image is one of saturation 0. Only brightness depends on `level`.
They commute with the blur too, whose weights add up to 1, and so may follow it; contrast's mean is that before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Generator, Tensor

from colonnade.data.table import Table
from colonnade.errors import DataError
from colonnade.objectives.settings import above_zero, check, fraction

TRIES = 10  # windows drawn for each image; the first that fits is taken
SMALLEST_BLURRED_SIDE = 16
NEGLIGIBLE = 1e-8  # weight of a neighbour in the blur
LUMA = (0.299, 0.587, 0.114)  # of red, green, blue; the Y of YIQ
CHROMA = ((0.5959, -0.2746, -0.3213), (0.2115, -0.5227, 0.3112))  # I and Q
USES = ("top", "left", "flip", "jitter", "brightness", "contrast", "saturation", "hue", "grey", "blur", "sigma")


@dataclass(frozen=True, kw_only=True)
class ImageAugmentation:
    """An `Augmentation` for tables of images, (N, C, H, W) → `(x,)`, (B, C, H, W). The table is left as it is.

    The defaults are those of SimSiam and MoCo v2. Greyscale, saturation and hue apply to images of three channels only.
    Each setting reads random numbers of its own: to change one leaves what the others do.

    Deviation: `ratio` is relative to that of the image, so that the half of a picture is not squeezed. If none of ten
    windows fits into the image, the first is clipped. A window may begin between two pixels. Values are not clipped to
    the range of the raw images, which is not known here; hue turns in YIQ instead of HSV. The blur has about a tenth
    of the shorter side as its kernel (SimCLR's; MoCo v2 has no limit) and is left out below 16 pixels.
    """

    scale: tuple[float, float] = (0.2, 1.0)  # area of the window, as a share of the image
    ratio: tuple[float, float] = (3 / 4, 4 / 3)  # width over height of the window, 1 for the image's own
    flip: bool = True  # mirror half of the images left to right; not for digits
    jitter: float = 0.8  # share of images whose colours are changed
    brightness: float = 0.4  # factor from [1 - b, 1 + b]; the next two likewise
    contrast: float = 0.4
    saturation: float = 0.4
    hue: float = 0.1  # turned by up to this share of the circle, either way
    grey: float = 0.2  # share of images made grey
    blur: float = 0.5  # share of images blurred
    sigma: tuple[float, float] = (0.1, 2.0)  # standard deviation of the blur, in pixels
    level: float = 2.0  # mean over standard deviation of the raw images; about 2 for photographs

    def __post_init__(self) -> None:
        """Check the settings, all at once."""
        shares = ("jitter", "brightness", "contrast", "saturation", "hue", "grey", "blur")
        check(
            "ImageAugmentation",
            *(fraction(name, getattr(self, name), "0 leaves it out.") for name in shares),
            _range("scale", self.scale, 1.0, "It is the window's share of the image's area."),
            _range("ratio", self.ratio, math.inf, "It is the window's width over its height; (1, 1) keeps the shape."),
            _range("sigma", self.sigma, math.inf, "It is in pixels; blur=0 leaves the blur out."),
            above_zero("level", self.level, "It is the mean of the raw images over their standard deviation."),
        )

    def __call__(self, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
        """One view of the rows (B,): `(x,)`, (B, C, H, W), drawn from the generator, which is on the table's device."""
        x = _images(table).index_select(0, rows)  # (B, C, H, W)
        drawn = torch.rand(len(USES) + 2 * TRIES, len(x), generator=generator, device=x.device)
        u = dict(zip(USES, drawn, strict=False))  # (B,) each
        windows = drawn[len(USES) :].view(2, TRIES, -1)  # the same for the windows' areas and ratios
        with torch.autocast(x.device.type, enabled=False):
            down, across = self._crop(x, u, windows)  # (B, H, H), (B, W, W)
            means = resample(x, down.mean(1, keepdim=True), across.mean(1, keepdim=True))[..., 0, 0]  # (B, C)
            taps = self._taps(x, u)
            if taps is not None:
                down, across = blurring(taps, x.shape[2]) @ down, blurring(taps, x.shape[3]) @ across
            return (self._recolour(resample(x, down, across), means, u),)

    def _crop(self, x: Tensor, u: dict[str, Tensor], windows: Tensor) -> tuple[Tensor, Tensor]:
        """Crop, resize and flip, as matrices: (B, H, H), (B, W, W)."""
        h, w = window(windows[0], windows[1], self.scale, self.ratio)  # (B,) shares of the sides
        top, left = u["top"] * (1 - h), u["left"] * (1 - w)
        if self.flip:  # read the window from its right edge leftwards
            mirrored = u["flip"] < 0.5
            left, w = torch.where(mirrored, left + w, left), torch.where(mirrored, -w, w)
        return resizing(top, h, x.shape[2]), resizing(left, w, x.shape[3])

    def _recolour(self, x: Tensor, means: Tensor, u: dict[str, Tensor]) -> Tensor:
        """Jitter and greyscale: (B, C, H, W) → the same shape."""
        reach = (u["jitter"] < self.jitter).to(x.dtype)  # (B,) 0 leaves an image as it is
        factor = {k: 1 + reach * getattr(self, k) * (2 * u[k] - 1) for k in ("brightness", "contrast", "saturation")}
        angle = reach * (2 * math.pi * self.hue) * (2 * u["hue"] - 1)
        saturation = factor["saturation"].masked_fill(u["grey"] < self.grey, 0.0)
        return recolour(x, means, factor["brightness"], factor["contrast"], saturation, angle, self.level)

    def _taps(self, x: Tensor, u: dict[str, Tensor]) -> Tensor | None:
        """The blur's weights, (B, K); None where nothing is blurred."""
        shorter = min(x.shape[2:])
        if self.blur == 0 or shorter < SMALLEST_BLURRED_SIDE:
            return None
        return gaussian(_between(self.sigma, u["sigma"]), u["blur"] < self.blur, max(1, shorter // 20))


def window(areas: Tensor, ratios: Tensor, scale: Sequence[float], ratio: Sequence[float]) -> tuple[Tensor, Tensor]:
    """Height and width of each image's window as shares of its sides, (B,) each, from uniform numbers (TRIES, B)."""
    area = _between(scale, areas)
    shape = _between([math.log(r) for r in ratio], ratios).exp()  # uniform in the logarithm
    h, w = (area / shape).sqrt(), (area * shape).sqrt()  # (TRIES, B)
    first = ((h <= 1) & (w <= 1)).int().argmax(0, keepdim=True)  # (1, B)
    return h.gather(0, first)[0].clamp(max=1), w.gather(0, first)[0].clamp(max=1)


def resizing(start: Tensor, extent: Tensor, side: int) -> Tensor:
    """Each image's window along one axis, brought to the image's size, bilinear, as a matrix: (B, side, side).

    Args:
        start: (B,) where the window begins, as a share of the side.
        extent: (B,) of the window, as a share of the side; below 0 for a window read backwards.
        side: in pixels.
    """
    pixel = torch.arange(side, device=start.device, dtype=start.dtype)
    at = start.unsqueeze(1) * side + (pixel + 0.5) * extent.unsqueeze(1) - 0.5  # (B, side) centres, in pixels
    at = at.clamp(0, side - 1)  # beyond the edge, the edge
    return (1 - (at.unsqueeze(2) - pixel).abs()).clamp_(min=0)


def resample(x: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """y = R x Qᵀ for each image with its own matrices: (B, C, H, W), (B, H', H), (B, W', W) → (B, C, H', W')."""
    b, c, h, _ = x.shape
    wide = torch.bmm(x.flatten(1, 2), across.mT).view(b, c, h, across.shape[1])
    return torch.matmul(down.unsqueeze(1), wide)


def gaussian(sigma: Tensor, blurred: Tensor, half: int) -> Tensor:
    """(B, K) weights of K = 2·half + 1 neighbours, of sum 1; the pixel alone where not `blurred`. All else is (B,).

    Weights that float32 cannot add to the largest are 0: products of such small numbers are slow on a CPU.
    """
    step = torch.arange(-half, half + 1, device=sigma.device, dtype=sigma.dtype)
    weights = torch.softmax(-(step**2) / (2 * sigma.unsqueeze(1) ** 2), dim=1)
    weights = weights.masked_fill(weights < NEGLIGIBLE, 0.0)
    return torch.where(blurred.unsqueeze(1), weights, (step == 0).to(sigma.dtype))


def blurring(taps: Tensor, side: int) -> Tensor:
    """Each image's taps (B, K) along one axis, mirrored at the edges, as a matrix: (B, side, side)."""
    count = taps.shape[1]
    return (taps @ _shifts(count // 2, side, taps.device).flatten(1)).view(-1, side, side)


@cache
def _shifts(half: int, side: int, device: torch.device) -> Tensor:
    """(K, side, side): 1 where pixel j is k - half places from pixel i, mirrored at the edges."""
    steps = torch.arange(-half, half + 1)
    at = (torch.arange(side) + steps.unsqueeze(1)).abs()  # (K, side)
    at = torch.where(at >= side, 2 * (side - 1) - at, at)
    return torch.nn.functional.one_hot(at, side).to(device, torch.float32)


def recolour(
    x: Tensor, means: Tensor, brightness: Tensor, contrast: Tensor, saturation: Tensor, angle: Tensor, level: float
) -> Tensor:
    """The four changes at once, x (B, C, H, W), a factor (or angle of hue) for each image: (B,).

    v' = b·(c·M·v + (1 - c)·m) with v = x + level and m the mean luma of v, from the channels' `means` (B, C) of x. M
    has saturation and hue; it is left out unless there are three channels.
    """
    coloured = x.shape[1] == len(LUMA)
    mean = means @ _colours(x.device)[0, 0] if coloured else means.mean(1)  # (B,) luma
    gain = (brightness * contrast).view(-1, 1, 1)
    shift = (brightness * (1 - contrast) * mean + (brightness - 1) * level).view(-1, 1, 1)
    if not coloured:
        return torch.addcmul(shift.unsqueeze(1), gain.unsqueeze(1), x)
    grey, chroma, turned = _colours(x.device)
    along, beside = ((saturation * f(angle)).view(-1, 1, 1) for f in (torch.cos, torch.sin))
    matrix = grey + along * chroma + beside * turned  # (B, 3, 3)
    return torch.baddbmm(shift, gain * matrix, x.flatten(2)).view_as(x)


@cache
def _colours(device: torch.device) -> Tensor:
    """(3, 3, 3): to luma in all channels; what is left of the colour; the same, turned by a quarter circle.

    Kept, because a copy to the device would make each batch wait.
    """
    yiq = torch.tensor([LUMA, *CHROMA], dtype=torch.float64)
    quarter = torch.tensor([[0.0, 0, 0], [0, 0, -1], [0, 1, 0]], dtype=torch.float64)
    grey = yiq[:1].expand(3, 3)
    parts = [grey, torch.eye(3, dtype=torch.float64) - grey, torch.linalg.inv(yiq) @ quarter @ yiq]
    return torch.stack(parts).to(device, torch.float32)


def _images(table: Table) -> Tensor:
    """The table's images; a float32 tensor (N, C, H, W)."""
    if table.x.ndim != 4 or table.x.dtype != torch.float32:
        kind = f"{str(table.x.dtype).removeprefix('torch.')} rows of shape {tuple(table.x.shape[1:])}"
        raise DataError(
            f"The table holds {kind}, and this augmentation distorts float32 images of shape (channels, height, "
            "width). Columns have augmentations of their own, `replace` and `corrupt`: pass one of those as `augment`."
        )
    return table.x


def _between(ends: Sequence[float], u: Tensor) -> Tensor:
    """Uniform numbers from [0, 1) brought between the ends."""
    return ends[0] + (ends[1] - ends[0]) * u


def _range(option: str, ends: tuple[float, float], most: float, way_out: str) -> str | None:
    """`ends` must be two numbers, 0 < least ≤ largest ≤ most."""
    if len(ends) == 2 and 0 < ends[0] <= ends[1] <= most and ends[1] < math.inf:
        return None
    limit = f", at most {most:g}" if most < math.inf else ""
    return f"{option} must be two numbers above 0, the smaller first{limit}. Got {ends!r}. {way_out}"


#: the augmentation of SimSiam and MoCo v2
distort = ImageAugmentation()
