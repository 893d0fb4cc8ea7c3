import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from colonnade.data.table import Table
from colonnade.errors import ConfigError, DataError
from colonnade.objectives.augment import draw_two, split_two
from colonnade.objectives.image_augment import (
    ImageAugmentation,
    blurring,
    distort,
    gaussian,
    recolour,
    resample,
    resizing,
    window,
)

#: nothing happens; each test turns on what it looks at
Still = partial(ImageAugmentation, scale=(1.0, 1.0), ratio=(1.0, 1.0), flip=False, jitter=0.0, grey=0.0, blur=0.0)


def image_table(n=8, channels=3, height=20, width=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    return Table(torch.randn(n, channels, height, width, generator=g))


def view(augment, table, rows=None, seed=1):
    rows = torch.arange(len(table)) if rows is None else rows
    (x,) = augment(table, rows, torch.Generator().manual_seed(seed))
    return x


def crop(x, top, left, height, width):
    return resample(x, resizing(top, height, x.shape[2]), resizing(left, width, x.shape[3]))


def convolve(x, taps):
    return resample(x, blurring(taps, x.shape[2]), blurring(taps, x.shape[3]))


def uniform(n, low, high, seed=3):
    return low + (high - low) * torch.rand(n, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize(("height", "width"), [(14, 14), (28, 14), (8, 8), (32, 40)])
def test_a_view_has_the_shape_of_the_rows_and_differs_from_them(channels, height, width):
    table = image_table(5, channels, height, width)
    rows = torch.tensor([3, 0, 3])
    x = view(distort, table, rows)
    assert x.shape == (3, channels, height, width) and x.dtype == torch.float32 and x.isfinite().all()
    assert all(not torch.allclose(a, b, atol=1e-2) for a, b in zip(x, table.x[rows], strict=True))
    assert view(distort, table, rows[:0]).shape == (0, channels, height, width)


def test_the_generator_decides_and_the_table_stays():
    table, rows = image_table(), torch.arange(8)
    before, state = table.x.clone(), torch.get_rng_state()
    draw = lambda seed: draw_two(distort, table, rows, torch.Generator().manual_seed(seed))  # noqa: E731
    assert all(torch.equal(a, b) for a, b in zip(draw(3), draw(3), strict=True))
    assert not torch.allclose(draw(3)[0], draw(4)[0], atol=1e-2)
    (first,), (second,) = split_two(draw(3))
    assert not torch.allclose(first, second, atol=1e-2)
    assert torch.equal(before, table.x) and torch.equal(state, torch.get_rng_state())


def test_equal_rows_of_a_batch_get_views_of_their_own():
    x = view(distort, image_table(1), torch.zeros(6, dtype=torch.long))
    assert all(not torch.allclose(x[i], x[j], atol=1e-2) for i in range(6) for j in range(i))


def test_an_image_does_not_touch_its_neighbours():
    """One image of the batch replaced: the others' views stay as they were."""
    table = image_table(6)
    other = table.x.clone()
    other[2] = 100.0
    a, b = view(distort, table), view(distort, Table(other))
    same = [torch.allclose(a[i], b[i], atol=1e-5) for i in range(6)]
    assert same == [True, True, False, True, True, True]


def test_the_whole_window_without_distortion_is_the_image():
    table = image_table(5, 3, 28, 14)
    assert torch.allclose(view(Still(), table), table.x, atol=1e-5)
    assert not torch.allclose(view(Still(scale=(0.5, 0.5)), table), table.x, atol=1e-2)


def test_crop_is_what_an_affine_grid_gives_image_by_image():
    table = image_table(7, 2, 11, 17)
    h, w = uniform(7, 0.4, 1.0, 1), uniform(7, 0.4, 1.0, 2)
    top, left = uniform(7, 0.0, 1.0, 3) * (1 - h), uniform(7, 0.0, 1.0, 4) * (1 - w)
    expected = []
    for i in range(7):
        middle = [2 * (left[i] + w[i] / 2) - 1, 2 * (top[i] + h[i] / 2) - 1]
        theta = torch.tensor([[w[i], 0, middle[0]], [0, h[i], middle[1]]]).unsqueeze(0)
        grid = F.affine_grid(theta, [1, 2, 11, 17], align_corners=False)
        expected.append(F.grid_sample(table.x[i : i + 1], grid, padding_mode="border", align_corners=False)[0])
    assert torch.allclose(crop(table.x, top, left, h, w), torch.stack(expected), atol=1e-4)


def test_crop_of_a_quarter_by_hand():
    """The right half of a row 0 1 2 3, doubled: pixel centres at 1.75, 2.25, 2.75 and 3.25, beyond the edge 3."""
    x = torch.arange(4.0).expand(1, 1, 4, 4)
    half, zero, one = torch.tensor([0.5]), torch.tensor([0.0]), torch.tensor([1.0])
    expected = torch.tensor([1.75, 2.25, 2.75, 3.0]).expand(1, 1, 4, 4)
    assert torch.allclose(crop(x, zero, half, one, half), expected, atol=1e-5)
    assert torch.allclose(crop(x, zero, one, one, -half), expected.flip(3), atol=1e-5)


def test_crop_colour_and_blur_are_those_of_one_after_the_other():
    """The same draws with one distortion at a time, each on what the one before gave."""
    table = image_table(40, 3, 20, 24)
    sharp = view(ImageAugmentation(blur=0.0), table)
    with_blur = view(ImageAugmentation(), table)
    cropped = view(ImageAugmentation(blur=0.0, jitter=0.0, grey=0.0), table)
    draws = torch.rand(31, 40, generator=torch.Generator().manual_seed(1))
    sigma, blurred = 0.1 + 1.9 * draws[10], draws[9] < 0.5
    assert torch.allclose(convolve(sharp, gaussian(sigma, blurred, 1)), with_blur, atol=1e-4)
    assert not torch.allclose(sharp, cropped, atol=1e-2) and 5 < int(blurred.sum()) < 35


def test_windows_fit_and_have_the_areas_and_ratios_asked_for():
    """20,000 windows. Unless it had to be redrawn, an area is uniform on [.2, 1]: below .6 all ratios fit, so the
    shares of [.2, .4] and [.4, .6] are equal (sd .004)."""
    g = torch.Generator().manual_seed(0)
    h, w = window(torch.rand(10, 20_000, generator=g), torch.rand(10, 20_000, generator=g), (0.2, 1.0), (3 / 4, 4 / 3))
    area, ratio = h * w, w / h
    assert max(h.max(), w.max()) <= 1 and 0.2 - 1e-5 < area.min() < 0.21 and area.max() > 0.97
    assert 0.75 - 1e-4 < ratio.min() < 0.76 and 1.32 < ratio.max() < 4 / 3 + 1e-4
    assert abs((area < 0.4).double().mean() - ((area >= 0.4) & (area < 0.6)).double().mean()) < 0.02
    assert abs(ratio.log().mean()) < 0.01
    assert ((h == 1) | (w == 1)).double().mean() < 1e-3  # one that does not fit is drawn again, not clipped


@pytest.mark.parametrize(("ratio", "h", "w"), [(2.0, 0.5**0.5, 1.0), (0.5, 1.0, 0.5**0.5)])
def test_a_window_that_can_never_fit_is_clipped(ratio, h, w):
    drawn = torch.rand(2, 10, 50, generator=torch.Generator().manual_seed(0))
    found = window(drawn[0], drawn[1], (1.0, 1.0), (ratio, ratio))
    assert torch.allclose(found[0], torch.tensor(h)) and torch.allclose(found[1], torch.tensor(w))


def test_windows_lie_anywhere_in_the_image():
    """Images whose pixels are their column (row): the mean of a quarter of the image lies anywhere from 5 to 15."""
    column = torch.arange(20.0).expand(20, 20)
    x = view(Still(scale=(0.25, 0.25)), Table(torch.stack([column, column.T]).expand(2000, 2, 20, 20).contiguous()))
    means = x.mean((2, 3))  # (2000, 2) left to right and top to bottom
    assert (means.min(0).values < 4.7).all() and (means.max(0).values > 14.3).all()
    assert (means.mean(0) - 9.5).abs().max() < 0.4
    assert abs(torch.corrcoef(means.T)[0, 1]) < 0.1


def test_half_of_the_images_are_flipped_if_any():
    """2,000 images: the share has a standard deviation of .011."""
    table = image_table(1, 1, 8, 6)
    x = view(Still(flip=True), table, torch.zeros(2000, dtype=torch.long))
    mirrored = (x - table.x.flip(3)).abs().amax((1, 2, 3)) < 1e-5
    kept = (x - table.x).abs().amax((1, 2, 3)) < 1e-5
    assert (mirrored ^ kept).all() and abs(mirrored.double().mean() - 0.5) < 0.05
    assert torch.allclose(view(Still(), table, torch.zeros(50, dtype=torch.long)), table.x, atol=1e-5)


def slow_blur(image, sigma, half):
    """(C, H, W) by one two-dimensional kernel, channel by channel."""
    line = torch.tensor([math.exp(-(d**2) / (2 * sigma**2)) for d in range(-half, half + 1)], dtype=torch.float64)
    kernel = torch.outer(line, line) / line.sum() ** 2
    padded = F.pad(image.double().unsqueeze(0), (half,) * 4, mode="reflect")[0]
    return torch.stack([F.conv2d(plane[None, None], kernel[None, None])[0, 0] for plane in padded])


@pytest.mark.parametrize(("height", "width", "half"), [(16, 20, 1), (40, 47, 2), (64, 60, 3)])
@pytest.mark.parametrize("sigma", [0.1, 0.15, 0.7, 2.0])
def test_blur_is_the_slow_one(height, width, half, sigma):
    table = image_table(3, 2, height, width)
    x = view(Still(blur=1.0, sigma=(sigma, sigma)), table)
    expected = torch.stack([slow_blur(image, sigma, half) for image in table.x])
    assert torch.allclose(x.double(), expected, atol=2e-5)


def test_every_image_is_convolved_with_its_own_taps():
    x, sigmas = image_table(4, 3, 18, 16).x, (0.3, 0.6, 1.1, 1.9)
    sharp = torch.tensor([False, False, True, False])
    out = convolve(x, gaussian(torch.tensor(sigmas), ~sharp, 2))
    expected = [x[i].double() if sharp[i] else slow_blur(x[i], sigmas[i], 2) for i in range(4)]
    assert torch.allclose(out.double(), torch.stack(expected), atol=2e-5)


def test_each_image_has_a_blur_of_its_own_and_half_of_them_none():
    """A point of light: its peak tells the blur of each image. 1,000 images, sd of the share .016."""
    point = torch.zeros(1, 1, 40, 40)
    point[..., 20, 20] = 1.0
    table, rows = Table(point), torch.zeros(1000, dtype=torch.long)
    x = view(Still(blur=0.5), table, rows)
    peaks = x[:, 0, 20, 20]
    assert torch.allclose(x.sum((1, 2, 3)), torch.ones(1000), atol=1e-4)
    slow = lambda sigma: slow_blur(point[0], sigma, 2)[0, 20, 20].item()  # noqa: E731
    assert slow(2.0) - 1e-3 < peaks.min() < slow(1.9)
    assert abs((peaks < slow(0.3)).double().mean() - 0.5 * 1.7 / 1.9) < 0.07  # σ is uniform on [.1, 2]
    assert len(peaks[peaks < slow(0.3)].unique()) > 400


def test_small_images_are_not_blurred():
    table = image_table(4, 1, 15, 40)
    assert torch.allclose(view(Still(blur=1.0), table), table.x, atol=1e-5)


YIQ = torch.tensor([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]]).double()


def slow_colour(image, brightness, contrast, saturation, angle, level, order):
    """(3, H, W), one change after the other, the hue by way of YIQ."""
    v = image.double() + level
    luma = lambda v: 0.299 * v[0] + 0.587 * v[1] + 0.114 * v[2]  # noqa: E731
    for change in order:
        if change == "brightness":
            v = brightness * v
        elif change == "contrast":
            v = contrast * v + (1 - contrast) * luma(v).mean()
        elif change == "saturation":
            v = saturation * v + (1 - saturation) * luma(v)
        else:
            y, i, q = YIQ @ v.flatten(1)
            i, q = i * math.cos(angle) - q * math.sin(angle), i * math.sin(angle) + q * math.cos(angle)
            v = torch.linalg.solve(YIQ, torch.stack([y, i, q])).view_as(v)
    return v - level


@pytest.mark.parametrize("shift", range(4))
def test_colour_jitter_is_the_slow_one_in_any_order(shift):
    changes = ["brightness", "contrast", "saturation", "hue"]
    x = image_table(6, 3, 9, 7).x
    factors = [uniform(6, 0.6, 1.4, 1), uniform(6, 0.6, 1.4, 2), uniform(6, 0.6, 1.4, 3), uniform(6, -0.6, 0.6, 4)]
    order = changes[shift:] + changes[:shift]
    slow = [slow_colour(x[i], *(f[i].item() for f in factors), 2.0, order) for i in range(6)]
    assert torch.allclose(recolour(x, x.mean((2, 3)), *factors, 2.0).double(), torch.stack(slow), atol=2e-5)


def test_hue_keeps_luma_and_grey_and_comes_round():
    x = image_table(2, 3, 6, 6).x
    one = torch.ones(2)
    luma = lambda v: torch.einsum("bchw,c->bhw", v, torch.tensor([0.299, 0.587, 0.114]))  # noqa: E731
    turn = lambda v, part: recolour(v, v.mean((2, 3)), one, one, one, 2 * math.pi * part * one, 2.0)  # noqa: E731
    assert torch.allclose(luma(turn(x, 0.3)), luma(x), atol=1e-5)
    grey = x[:, :1].expand(-1, 3, -1, -1)
    assert torch.allclose(turn(grey, 0.3), grey, atol=1e-5)
    assert torch.allclose(turn(turn(x, 0.4), 0.6), x, atol=1e-4) and not torch.allclose(turn(x, 0.1), x, atol=0.1)


@pytest.mark.parametrize("channels", [1, 2])
def test_other_channels_get_brightness_and_contrast_only(channels):
    x = image_table(4, channels, 6, 5).x
    b, c, s, angle = (uniform(4, 0.6, 1.4, seed) for seed in (1, 2, 3, 4))
    out = recolour(x, x.mean((2, 3)), b, c, s, angle, 1.5)
    for i in range(4):
        v = (x[i].double() + 1.5) * b[i].item()
        expected = c[i].item() * v + (1 - c[i].item()) * v.mean() - 1.5
        assert torch.allclose(out[i].double(), expected, atol=1e-5)
    table = Table(x)
    assert torch.allclose(view(Still(grey=1.0, jitter=1.0, brightness=0.0, contrast=0.0), table), x, atol=1e-5)


def test_jitter_reaches_its_share_of_images_within_its_limits():
    """Brightness alone on images of constant 0: b·level - level. 2,000 images, sd of the share .009."""
    table, rows = Table(torch.zeros(1, 3, 4, 4)), torch.zeros(2000, dtype=torch.long)
    x = view(Still(jitter=0.8, contrast=0.0, saturation=0.0, hue=0.0, brightness=0.4, level=3.0), table, rows)
    change = x.mean((1, 2, 3))
    assert torch.allclose(x, change.view(-1, 1, 1, 1).expand_as(x), atol=1e-5)
    assert -1.2 - 1e-4 < change.min() < -1.15 and 1.15 < change.max() < 1.2 + 1e-4
    assert abs((change.abs() > 1e-4).double().mean() - 0.8) < 0.04


def test_every_part_of_the_jitter_is_drawn_by_itself():
    """Each setting alone changes the image, and none of them changes what another draws."""
    table = image_table(4)
    off = {"brightness": 0.0, "contrast": 0.0, "saturation": 0.0, "hue": 0.0}
    views = [view(Still(jitter=1.0, **{**off, name: 0.3}), table) for name in off]
    assert all(not torch.allclose(v, table.x, atol=1e-2) for v in views)
    assert all(not torch.allclose(views[i], views[j], atol=1e-2) for i in range(4) for j in range(i))
    both = view(Still(jitter=1.0, **{**off, "saturation": 0.3, "hue": 0.3}), table)
    b = view(Still(jitter=1.0, **{**off, "hue": 0.3}), Table(views[2]))
    assert torch.allclose(both, b, atol=1e-4)


def test_greyscale_gives_equal_channels_of_the_right_luma():
    table = image_table(1000, 3, 6, 6)
    x = view(Still(grey=0.2), table)
    grey = (x - x.mean(1, keepdim=True)).abs().amax((1, 2, 3)) < 1e-5
    assert abs(grey.double().mean() - 0.2) < 0.06  # sd .013
    luma = 0.299 * table.x[:, 0] + 0.587 * table.x[:, 1] + 0.114 * table.x[:, 2]
    assert torch.allclose(x[grey][:, 1], luma[grey], atol=1e-5)
    assert torch.allclose(x[~grey], table.x[~grey], atol=1e-5)
    all_grey = view(ImageAugmentation(grey=1.0), table)
    assert (all_grey - all_grey[:, :1]).abs().max() < 1e-4  # whatever else happens to them


def test_autocast_changes_nothing():
    table = image_table(4, 3, 32, 32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = view(distort, table)
    assert inside.dtype == torch.float32 and torch.equal(inside, view(distort, table))


def test_errors_name_the_way_out(generator):
    rows = torch.arange(2)
    with pytest.raises(DataError, match=r"uint8 rows of shape \(3, 8, 8\).*float32 images"):
        distort(Table(torch.zeros(2, 3, 8, 8, dtype=torch.uint8)), rows, generator)
    with pytest.raises(DataError, match=r"float32 rows of shape \(5,\).*`replace` and `corrupt`"):
        distort(Table(torch.zeros(2, 5)), rows, generator)
    with pytest.raises(
        ConfigError, match=r"(?s)3 problems.*blur must be.*Got 2.*scale must be.*at most 1. Got \(0, 1\).*level"
    ):
        ImageAugmentation(blur=2, scale=(0, 1), level=0.0)
    with pytest.raises(ConfigError, match=r"sigma must be two numbers above 0, the smaller first. Got \(2, 1\)"):
        ImageAugmentation(sigma=(2, 1))
