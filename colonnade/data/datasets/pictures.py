"""PNG and JPEG files into one array of bytes, (N, C, H, W). Pillow is imported when the first file is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from colonnade.errors import ConfigError, DataError, MissingDependencyError, raise_all

Pixels = npt.NDArray[np.uint8]
Colours = Literal["L", "RGB"]  # Pillow's words for grey and for three colours
Size = tuple[int, int]  # width, height

_SHOWN = 20  # problems listed in an error; the rest is counted


def read_pictures(
    paths: Sequence[Path], colours: Colours, *, size: Size | None = None, side: int | None = None
) -> Pixels:
    """All files as (N, C, H, W); every file that cannot be used is named.

    Args:
        paths: at least one.
        colours: "L" for one channel, "RGB" for three.
        size: width and height that every file must have; None accepts any, and then `side` is needed.
        side: cut out the central square of every image and scale it to `side` x `side` pixels.
    """
    assert size or side, "images of any size need a common one"
    width, height = (side, side) if side else size or (0, 0)
    out = np.zeros((len(paths), 3 if colours == "RGB" else 1, height, width), dtype=np.uint8)
    problems: list[str] = []
    library = pillow()
    for i, path in enumerate(paths):
        try:
            with library.open(path) as image:
                pixels = _pixels(image, colours, size, side)  # (H, W) or (H, W, 3)
            out[i] = pixels.reshape(height, width, -1).transpose(2, 0, 1)
        except (OSError, SyntaxError, ValueError, library.DecompressionBombError) as error:
            problems.append(f"{path}: {error}")
    report(problems, "images that cannot be used")
    return out


def _pixels(image: Any, colours: Colours, size: Size | None, side: int | None) -> Pixels:
    if size and image.size != size:
        raise ValueError(
            f"{image.size[0]} x {image.size[1]} pixels, but {size[0]} x {size[1]} are expected. "
            f"All images must have the same size."
        )
    if side:  # a JPEG is decoded at a lower resolution where that is enough
        image.draft(colours, (2 * side, 2 * side))
    image = image if image.mode == colours else image.convert(colours)
    return np.asarray(_central_square(image, side) if side else image)


def _central_square(image: Any, side: int) -> Any:
    """The largest central square of a Pillow image, scaled to `side` pixels."""
    edge = min(image.size)
    left, top = (image.width - edge) / 2, (image.height - edge) / 2
    return image.resize((side, side), pillow().Resampling.BILINEAR, box=(left, top, left + edge, top + edge))


def size_of(path: Path) -> Size:
    """Width and height from the head of a file."""
    try:
        with pillow().open(path) as image:
            return int(image.width), int(image.height)
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"images that cannot be used: {path}: {error}") from error


def check_side(side: int, *, even: bool = False) -> None:
    """Refuse a number of pixels that is none, or that has no halves."""
    if isinstance(side, bool) or not isinstance(side, int) or side < 1 or (even and side % 2):
        kind = "an even whole number" if even else "a whole number"
        raise ConfigError(f"side must be {kind} of pixels, at least {2 if even else 1}. Got {side!r}. Use e.g. 64.")


def report(problems: list[str], heading: str) -> None:
    """Raise one `DataError` for all problems, the first of them in words; do nothing when there are none."""
    more = len(problems) - _SHOWN
    raise_all(problems[:_SHOWN] + ([f"and {more} more."] if more > 0 else []), DataError, heading)


def pillow() -> ModuleType:
    """Pillow's module of images."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependencyError(
            "PNG and JPEG files need the package pillow. Install it: pip install 'colonnade[images]'"
        ) from error
    return Image
