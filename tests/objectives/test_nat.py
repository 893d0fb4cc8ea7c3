import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_reference import assert_same_loss_and_gradient, encode
from small_tables import make_table
from torch import nn

from colonnade.errors import ConfigError, DataError
from colonnade.objectives import NAT, assign
from colonnade.objectives.nat import solve_all


def build(n=40, fixed=False, encoder=None, seed=3):
    g = torch.Generator().manual_seed(seed)
    return NAT(encoder or nn.Linear(6, 4), width=4, rows=n, generator=g, fixed=fixed)


def squared_distance(outputs, targets):
    return sum((o - c) ** 2 for a, b in zip(outputs, targets, strict=True) for o, c in zip(a, b, strict=True))


def test_value_and_gradient_against_loops(two_views):
    objective = build(encoder=nn.Linear(3, 4)).double()
    x = two_views[0]
    c = objective.targets[[3, 1, 4, 0, 5]]
    assert_same_loss_and_gradient(
        objective, (x, c), lambda p: squared_distance(encode(x.numpy(), p), c.numpy()) / (2 * len(x))
    )


def test_the_loss_is_half_the_width_times_the_mean_squared_error():
    objective, table = build(), make_table(sizes=())
    x, c = objective.draw(table, torch.arange(40), torch.Generator())
    assert torch.allclose(objective(x, c), nn.functional.mse_loss(objective.encoder(x), c) * 4 / 2)


def test_targets_are_unit_vectors_from_the_generator():
    targets = build(n=4000).targets
    assert torch.allclose(targets.norm(dim=1), torch.ones(4000), atol=1e-5)
    assert targets.mean(0).abs().max() < 0.05
    assert torch.equal(targets, build(n=4000).targets) and not torch.equal(targets, build(n=4000, seed=4).targets)


def test_draw_gives_rows_and_their_targets(table):
    objective = build()
    rows = torch.tensor([5, 0, 7])
    x, codes, c = objective.draw(table, rows, torch.Generator())
    assert torch.equal(x, table.x[rows]) and torch.equal(codes, table.codes[rows])
    assert torch.equal(c, objective.targets[rows])


@settings(max_examples=40, deadline=None)
@given(batch=st.integers(0, 6), width=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_assignment_is_optimal(batch, width, seed):
    """Against all B! permutations; outputs and targets have norms of their own."""
    g = torch.Generator().manual_seed(seed)
    outputs, targets = torch.randn(2, batch, width, generator=g, dtype=torch.float64)
    pi = assign(outputs, targets)
    assert sorted(pi.tolist()) == list(range(batch)) and pi.dtype == torch.int64
    costs = [
        squared_distance(outputs.tolist(), targets[list(p)].tolist()) for p in itertools.permutations(range(batch))
    ]
    assert squared_distance(outputs.tolist(), targets[pi].tolist()) == pytest.approx(min(costs), abs=1e-9)


def test_assignments_of_several_parties_equal_one_by_one():
    outputs, targets = torch.randn(2, 5, 20, 3)
    many = torch.from_numpy(solve_all(outputs.numpy(), targets.numpy()))
    assert torch.equal(many, torch.stack([assign(o, c) for o, c in zip(outputs, targets, strict=True)]))


def test_assignments_of_an_epoch_are_those_of_its_batches_one_by_one():
    """Solved ahead, some batches at a time, and taken up when their first batch comes; the last batch is shorter."""
    table = make_table(sizes=())
    batches = list(torch.randperm(len(table), generator=torch.Generator().manual_seed(1)).split(5))
    ahead, slow = build(), build()
    slow.encoder.load_state_dict(ahead.encoder.state_dict())
    before = ahead.targets.clone()
    starts = ahead.begin_epoch(0, table, batches)
    assert len(starts) == -(-len(batches) // 4) > 1
    for start in starts:
        start()
    for number, rows in enumerate(batches):
        ahead.before_batch(number)
        slow.reassign(rows, slow.encoder(table.x[rows]))
        assert torch.equal(ahead.draw(table, rows, torch.Generator())[-1], slow.targets[rows])
    assert torch.equal(ahead.targets, slow.targets) and not torch.equal(ahead.targets, before)


def test_reassign_permutes_within_the_batch_and_lowers_the_loss(table):
    objective = build(encoder=nn.Linear(6, 4))
    plain = make_table(sizes=())
    rows = torch.tensor([8, 3, 20, 11, 39, 0])
    outputs = objective.encoder(plain.x[rows])
    before = objective.targets.clone()
    loss = objective(*objective.draw(plain, rows, torch.Generator()))
    objective.reassign(rows, outputs)
    others = torch.tensor([i for i in range(40) if i not in rows.tolist()])
    assert torch.equal(objective.targets[others], before[others])
    assert not torch.equal(objective.targets[rows], before[rows])
    as_sets = [sorted(map(tuple, t[rows].tolist())) for t in (objective.targets, before)]
    assert as_sets[0] == as_sets[1]
    best = min(
        squared_distance(outputs.tolist(), before[rows][list(p)].tolist()) for p in itertools.permutations(range(6))
    )
    after = objective(*objective.draw(plain, rows, torch.Generator()))
    assert after.item() == pytest.approx(best / 12, rel=1e-5) and after < loss
    assert not objective.targets.requires_grad


def test_errors_name_the_way_out(table):
    rows = torch.tensor([0, 1])
    with pytest.raises(ConfigError, match="fixed=True promises targets that stay"):
        build(fixed=True).reassign(rows, torch.zeros(2, 4))
    with pytest.raises(DataError, match="A row occurs twice"):
        build().reassign(torch.tensor([1, 1]), torch.zeros(2, 4))
    with pytest.raises(ConfigError, match=r"not finite.*lower the learning rate"):
        build().reassign(rows, torch.full((2, 4), torch.nan))
    with pytest.raises(DataError, match="table has 40 rows and NAT was built for 39"):
        build(n=39).draw(table, rows, torch.Generator())
    with pytest.raises(ConfigError, match=r"NAT: width must be an integer of at least 1. Got 0"):
        NAT(nn.Identity(), width=0, rows=3, generator=torch.Generator())


def test_each_row_gets_the_target_its_output_lies_on():
    """Outputs that are the targets of the next row: a cycle, which differs from its inverse."""
    objective = build()
    rows = torch.tensor([8, 3, 20, 11, 39, 0])
    outputs = objective.targets[rows.roll(-1)]
    objective.reassign(rows, outputs)
    assert torch.equal(objective.targets[rows], outputs)
