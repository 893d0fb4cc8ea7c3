import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import make_table

from colonnade.data.table import Table
from colonnade.errors import ConfigError, DataError
from colonnade.nets.tabular import HIDDEN_BY_AUGMENTATION
from colonnade.objectives.augment import corrupt, draw_two, replace, split_two


def unique_table(n, features, categories):
    """No value occurs twice, so a changed entry can be seen and its origin found; x and codes are 1000·column + row."""
    entries = torch.arange(n).unsqueeze(1) + 1000 * torch.arange(features + categories)
    codes = entries[:, features:] + 1 if categories else None
    return Table(entries[:, :features].double(), codes, (10**6,) * categories)


shapes = {
    "n": st.integers(1, 12),
    "features": st.integers(0, 6),
    "categories": st.integers(0, 4),
    "batch": st.integers(0, 30),
    "rate": st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]),
    "seed": st.integers(0, 10**6),
}


@pytest.mark.parametrize("augment", [replace, corrupt])
@settings(max_examples=60, deadline=None)
@given(**shapes)
def test_each_changed_entry_comes_from_its_own_column_and_no_more_than_the_rate_change(
    augment, n, features, categories, batch, rate, seed
):
    columns = features + categories
    table = unique_table(n, features, categories)
    count = math.floor(rate * columns + 1e-9)
    if rate and not count:
        return
    g = torch.Generator().manual_seed(seed)
    rows = torch.randint(n, (batch,), generator=g)
    view = augment(table, rows, g, rate=rate)
    clean = table.rows(rows)
    assert [v.shape for v in view] == [c.shape for c in clean] and [v.dtype for v in view] == [c.dtype for c in clean]
    changed = torch.cat([v != c for v, c in zip(view, clean, strict=True)], dim=1)
    assert (changed.sum(1) <= count).all()
    for v, source in zip(view, table.all(), strict=True):
        for j in range(v.shape[1]):
            allowed = set(source[:, j].tolist()) | ({HIDDEN_BY_AUGMENTATION} if augment is replace else set())
            assert set(v[:, j].tolist()) <= allowed


def test_replace_covers_categories_and_keeps_the_count_exact(generator):
    table = unique_table(5, 0, 10)
    _, codes = replace(table, torch.arange(5).repeat(50), generator, rate=0.3)
    assert ((codes == HIDDEN_BY_AUGMENTATION).sum(1) == 3).all()


def test_corrupt_never_covers_and_reaches_categories(generator):
    table = unique_table(50, 3, 3)
    _, codes = corrupt(table, torch.arange(50), generator)
    assert (codes != HIDDEN_BY_AUGMENTATION).all()
    assert (codes != table.codes).any()


@pytest.mark.parametrize(("augment", "rate"), [(replace, 0.3), (corrupt, 0.6)])
def test_default_rates_and_equal_share_of_every_column(augment, rate, generator):
    """With 10⁴ distinct values a replaced entry almost never equals the old one: 1e4 rows, sd of a share ≤ .005."""
    table = unique_table(10_000, 10, 0)
    (x,) = augment(table, torch.arange(10_000), generator)
    changed = (x != table.x).double()
    assert changed.sum(1).max() == rate * 10
    assert torch.allclose(changed.mean(0), torch.full((10,), rate, dtype=torch.float64), atol=0.025)


def test_replacing_values_follow_the_empirical_marginal(generator):
    """A column with 80 % zeros, all entries replaced: the share of zeros stays at .8 (sd .004)."""
    x = (torch.arange(1000) % 5 == 0).float().unsqueeze(1)
    (drawn,) = replace(Table(x), torch.arange(1000).repeat(10), generator, rate=1.0)
    assert abs(drawn.mean().item() - 0.2) < 0.02


def test_entries_of_one_row_come_from_different_rows(generator):
    """Columns are drawn independently: two equal columns no longer agree once both are replaced."""
    x = torch.arange(1000.0).unsqueeze(1).repeat(1, 2)
    (drawn,) = replace(Table(x), torch.arange(1000), generator, rate=1.0)
    assert (drawn[:, 0] == drawn[:, 1]).double().mean() < 0.02


def test_the_generator_decides_and_the_table_stays(table):
    before = [t.clone() for t in table.all()]
    rows = torch.arange(20)
    draw = lambda seed: draw_two(replace, table, rows, torch.Generator().manual_seed(seed))  # noqa: E731
    state = torch.get_rng_state()
    assert all(torch.equal(a, b) for a, b in zip(draw(3), draw(3), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(draw(3), draw(4), strict=True))
    first, second = split_two(draw(3))
    assert len(first) == len(second) == 2 and not torch.equal(first[0], second[0])
    assert all(torch.equal(a, b) for a, b in zip(before, table.all(), strict=True))
    assert torch.equal(state, torch.get_rng_state())


def test_scarf_corrupts_pixels_as_columns(generator):
    images = torch.arange(2 * 3 * 4 * 4.0).view(2, 3, 4, 4)
    (view,) = corrupt(Table(images), torch.arange(2), generator, rate=0.5)
    assert view.shape == images.shape
    differs = view != images
    assert differs.any() and differs.flatten(1).sum(1).max() <= 24
    other = images.flip(0)
    assert torch.equal(view[differs], other[differs])  # of two rows, what is not the own pixel is the other's


def test_columns_of_images_are_not_replaced(generator):
    with pytest.raises(DataError, match=r"images of shape \(3, 4, 4\).*augmentations of their own"):
        replace(Table(torch.zeros(2, 3, 4, 4)), torch.arange(2), generator)


@pytest.mark.parametrize("augment", [replace, corrupt])
def test_errors_name_the_way_out(augment, generator):
    with pytest.raises(ConfigError, match=r"rate must be a number in \[0, 1\]. Got 1.5"):
        augment(make_table(), torch.arange(2), generator, rate=1.5)


@pytest.mark.parametrize("augment", [replace, corrupt])
def test_a_narrow_table_has_at_least_one_column_distorted(augment, generator):
    table = make_table(features=3, sizes=())
    (x,) = augment(table, torch.arange(len(table)), generator, rate=0.2)
    assert ((x != table.x).sum(dim=1) <= 1).all() and (x != table.x).any()
