"""Split training equals joint training: the same updates as one autograd graph."""

from __future__ import annotations

import copy

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

import colonnade as cn
from colonnade.parties.federation import Federation
from colonnade.parties.joined import join as join_parts
from tests.methods.together import engine_of, parties_of, put_together

UPDATES = 20


def make(widths: list[int], rows: int, outputs: int, seed: int) -> cn.VerticalData:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rows) if outputs == 1 else rng.permutation(np.arange(rows) % outputs)
    views = {f"p{k}": rng.normal(size=(rows, f)).astype(np.float32) for k, f in enumerate(widths)}
    return cn.VerticalData(views, y, task="regression" if outputs == 1 else None)


def assemble(data: cn.VerticalData, stack: bool, **options: object) -> Federation:
    return put_together(cn.SplitNN(**options), data, stack=stack)


def encoders(fed: Federation) -> list[nn.Module]:
    return [p.encoder for p in parties_of(fed) if p.encoder is not None]


def train_split(fed: Federation, batches: list[torch.Tensor], optimizer: str) -> None:
    options = {"optimizer": optimizer, "learning_rate": 0.05, "weight_decay": 0.01}
    fed.active.begin(**options)
    fed.tell("begin", **options)
    for batch in batches:
        h = fed.ask("forward", rows=batch)
        _, gradients = fed.active.step(batch, h)
        fed.tell("backward", gradient=gradients)


def train_joint(fed: Federation, batches: list[torch.Tensor], optimizer: str) -> tuple[list[nn.Module], nn.Module]:
    """One graph over copies of the same networks and tables, one optimizer, plain autograd."""
    nets, head = copy.deepcopy(encoders(fed)), copy.deepcopy(fed.active.head)
    tables = [p.tables["train"].x.clone() for p in parties_of(fed) if "train" in p.tables]
    parameters = [p for m in [*nets, head] for p in m.parameters()]
    made = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}[optimizer]
    extra = {"momentum": 0.9} if optimizer == "sgd" else {}
    step = made(parameters, lr=0.05, weight_decay=0.01, **extra)
    y = fed.active.y["train"]
    for batch in batches:
        logits = head(join_parts([n(x[batch]) for n, x in zip(nets, tables, strict=True)], fed.active.join))
        loss = F.mse_loss(logits[:, 0], y[batch]) if logits.shape[1] == 1 else F.cross_entropy(logits, y[batch])
        step.zero_grad()
        loss.backward()
        step.step()
    return nets, head


def assert_same(modules: list[nn.Module], others: list[nn.Module]) -> None:
    for module, other in zip(modules, others, strict=True):
        for (name, a), (_, b) in zip(module.named_parameters(), other.named_parameters(), strict=True):
            torch.testing.assert_close(a.detach(), b.detach(), rtol=2e-3, atol=2e-4, msg=lambda m, n=name: f"{n}: {m}")


@settings(max_examples=25, deadline=None)
@given(
    widths=st.lists(st.integers(1, 6), min_size=2, max_size=5),
    hidden=st.lists(st.integers(1, 8), max_size=2),
    width=st.integers(1, 6),
    how=st.sampled_from(["concat", "mean", "sum"]),
    outputs=st.sampled_from([1, 2, 4]),
    optimizer=st.sampled_from(["adam", "sgd", "adagrad"]),
    head_hidden=st.sampled_from([(), (5,)]),
    stack=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_weights_after_20_updates_equal_those_of_one_graph(
    widths, hidden, width, how, outputs, optimizer, head_hidden, stack, seed
) -> None:
    data = make(widths, 40, outputs, seed)
    fed = assemble(
        data,
        stack,
        hidden=tuple(hidden),
        width=width,
        join=how,
        head_hidden=head_hidden,
        optimizer=optimizer,
        seed=seed,
    )
    order = torch.Generator().manual_seed(seed)
    batches = [torch.randint(0, 40, (9,), generator=order) for _ in range(UPDATES)]
    nets, head = train_joint(fed, batches, optimizer)
    train_split(fed, batches, optimizer)
    assert_same([*encoders(fed), fed.active.head], [*nets, head])


@settings(max_examples=15, deadline=None)
@given(
    widths=st.lists(st.integers(1, 5), min_size=2, max_size=6),
    how=st.sampled_from(["concat", "mean", "sum"]),
    seed=st.integers(0, 99),
)
def test_gradients_equal_those_of_one_graph(widths, how, seed) -> None:
    fed = assemble(make(widths, 30, 3, seed), True, hidden=(7,), width=4, join=how, seed=seed)
    batch = torch.arange(11)
    nets, head = copy.deepcopy(encoders(fed)), copy.deepcopy(fed.active.head)
    parties = parties_of(fed)
    h = [n(p.tables["train"].x[batch]) for n, p in zip(nets, parties, strict=True)]
    for part in h:
        part.retain_grad()
    F.cross_entropy(head(join_parts(h, how)), fed.active.y["train"][batch]).backward()
    fed.active.begin(optimizer="sgd", learning_rate=1e-9, weight_decay=0.0)
    fed.tell("begin", optimizer="sgd", learning_rate=1e-9, weight_decay=0.0)
    _, gradients = fed.active.step(batch, fed.ask("forward", rows=batch))
    for (name, gradient), part in zip(gradients.items(), h[1:], strict=True):
        torch.testing.assert_close(gradient, part.grad, rtol=1e-4, atol=1e-6, msg=lambda m, n=name: f"{n}: {m}")


def test_parties_of_equal_shape_run_together_and_give_the_same() -> None:
    data = make([4, 3, 3, 3, 5], 50, 3, 0)
    stacked, single = (assemble(data, stack, hidden=(8,), width=4) for stack in (True, False))
    assert [s.names for s in engine_of(stacked).stacks] == [("p1", "p2", "p3")]
    assert engine_of(single).stacks == []
    batches = [torch.arange(i, i + 16) for i in range(20)]
    train_split(stacked, batches, "adam")
    train_split(single, batches, "adam")
    assert_same(encoders(stacked), encoders(single))
    before = stacked.ask("represent")
    stacked.tell("keep")
    train_split(stacked, batches, "adam")
    assert not torch.allclose(before["p2"], stacked.ask("represent")["p2"])
    stacked.tell("recall")
    torch.testing.assert_close(before["p2"], stacked.ask("represent")["p2"])
