"""FedHSSL and its parts: against a plain loop without a federation, and what crosses, is averaged, read and refused."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import colonnade as cn
from colonnade.methods._base.parts.averaging import Averaging, enrol, shared_parts
from colonnade.methods._base.parts.self_supervised import ssl_lesson
from colonnade.methods.fedhssl import pretraining
from colonnade.methods.fedhssl.pretraining import cross_party, gamma_at
from colonnade.nets.tabular import TabularEncoder
from colonnade.nets.two_towers import TwoTowers
from colonnade.objectives.augment import split_two
from colonnade.objectives.training import cut
from colonnade.parties.federation import Federation
from colonnade.parties.party import Party
from colonnade.parties.skills.skill import Reply
from colonnade.parties.skills.together import Crossing, Enrolment
from colonnade.parties.skills.towers import Towers
from colonnade.seeds import generator
from colonnade.wire.message import Message
from tests.conftest import make_data
from tests.declared import KINDS
from tests.methods import together
from tests.methods.small import small
from tests.methods.together import observe, passive_of, put_together

FAMILY = ["fedcssl", "fedgssl", "fedhssl", "fedgssl*", "fedhssl*"]
OBJECTIVES = ["simsiam", "byol", "moco"]
SGD: dict[str, Any] = {"pretrain_optimizer": "sgd", "pretrain_learning_rate": 0.02}
PRETRAINING = ("setup", "cross", "pretrain", "aggregate")


def parties_of(model: Any) -> list[Party]:
    return together.parties_of(model.federation_)


def outputs(model: cn.Method, data: cn.VerticalData) -> np.ndarray:
    return model.predict_proba(data.only(data.aligned).views)


def enrolled(method: Any, data: cn.VerticalData) -> tuple[Federation, list[Towers]]:
    """The federation as `run` has it before its first pass, and the towers of all parties, the active one's first."""
    fed = put_together(method, data)
    which = "cross" if method.name == "fedcssl" else "both"
    own = enrol(fed, ssl_lesson(method), which, averaged_by(method), updates=method.updates, staleness=method.staleness)
    assert own is not None
    return fed, [own, *(party.skill(Enrolment).towers for party in passive_of(fed).values())]


def averaged_by(method: Any) -> tuple[str, ...]:
    """The parts that a method averages."""
    return shared_parts(method) if hasattr(method, "aggregate") else ()


def study(method: Any, fed: Federation, own: Towers, epoch: int) -> None:
    """Step 2 of one pass at all parties."""
    gamma = gamma_at(method, epoch)
    fed.tell("study", gamma=gamma)
    own.study(gamma)


def numeric(parties: int = 2, rows: int = 60, columns: int = 3, seed: int = 0) -> cn.VerticalData:
    rng = np.random.default_rng(seed)
    views = {f"p{k}": rng.normal(size=(rows, columns)) for k in range(parties)}
    return cn.VerticalData(views, (views["p0"][:, 0] + views["p1"][:, 0] > 0).astype(int))


# (a) what it is without guidance and averaging ------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_without_guidance_and_averaging_the_starred_variant_is_fed_local_ssl_bit_for_bit(objective: str) -> None:
    data = make_data(3)
    assert len(data.views["p1"].ids) > len(data.aligned)  # unaligned rows take part
    options: dict[str, Any] = {"objective": objective, "projection": 8, "pretrain_epochs": 2, "epochs": 3, "seed": 5}
    star = small("fedhssl*", gamma=0.0, aggregate=False, **options).fit(data)
    local = small("fed-local-ssl", **options).fit(data)
    assert np.array_equal(outputs(star, data), outputs(local, data))
    for one, other in zip(parties_of(star), parties_of(local), strict=True):
        mine, theirs = one.state(), other.state()
        assert mine.keys() == theirs.keys() and all(torch.equal(mine[k], theirs[k]) for k in mine)
    guided = small("fedhssl*", gamma=0.5, aggregate=False, **options).fit(data)
    averaged = small("fedhssl*", gamma=0.0, aggregate=True, **options).fit(data)
    for other_model in (guided, averaged):
        assert not np.array_equal(outputs(star, data), outputs(other_model, data))


# (b) against a plain loop ---------------------------------------------------------------------------------------------


class Plain:
    """One tower in plain PyTorch: copies of the first weights, SGD, and the paper's formulas for SimSiam.

    SGD, because the bias in front of the projector's batch norm has a gradient of 0 up to rounding, which Adam would
    blow up to full steps in a direction that no two programs agree on.
    """

    def __init__(self, objective: Any, rate: float, decay: float) -> None:
        self.encoder, self.projector, self.predictor = (
            copy.deepcopy(m) for m in (objective.encoder, objective.projector, objective.predictor)
        )
        slow = [*self.encoder.parameters(), *self.projector.parameters()]
        groups = [{"params": slow}, {"params": list(self.predictor.parameters())}]
        self.sgd, self.rate = torch.optim.SGD(groups, lr=rate, momentum=0.9, weight_decay=decay), rate

    def z(self, view: tuple[torch.Tensor, ...]) -> torch.Tensor:
        return self.projector(self.encoder(*view))

    def set_rate(self, epoch: int, epochs: int) -> None:
        self.sgd.param_groups[0]["lr"] = self.rate * 0.5 * (1 + math.cos(math.pi * epoch / epochs))

    def step(self, loss: torch.Tensor) -> None:
        self.sgd.zero_grad()
        loss.backward()
        self.sgd.step()

    def shared(self) -> list[torch.Tensor]:
        return [*self.encoder.top.parameters(), *self.projector.parameters(), *self.predictor.parameters()]


def distance(p: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """Eq. 3, with the stop-gradient."""
    z = z.detach()
    return -((p * z).sum(1) / p.norm(dim=1) / z.norm(dim=1)).mean()


def plain_fedhssl(method: Any, tables: dict[str, Any], aligned: int, towers: dict[str, Towers]) -> dict[str, Any]:
    """Algorithm 1 without any federation: all parties in one loop. Party names in order, the active one first."""
    seed, size, epochs = method.seed, method.pretrain_batch_size, method.pretrain_epochs
    names, active = list(tables), next(iter(tables))
    settings = (method.pretrain_learning_rate, method.weight_decay)
    cross = {n: Plain(towers[n].cross.objective, *settings) for n in names}  # type: ignore[union-attr]
    local = {n: Plain(towers[n].local.objective, *settings) for n in names}  # type: ignore[union-attr]
    cross_order = generator(seed, active, "cross")
    order = {n: generator(seed, n, "order") for n in names}
    draws = {n: generator(seed, n, "draws") for n in names}
    for epoch in range(epochs):
        for tower in (*cross.values(), *local.values()):
            tower.set_rate(epoch, epochs)
        for rows in cut(torch.arange(aligned), size, cross_order, 2):  # step 1
            z = {n: cross[n].z(tables[n].rows(rows)) for n in names}
            sent = {n: z[n].detach() for n in names}  # all before anybody updates
            p = {n: cross[n].predictor(z[n]) for n in names}
            for n in names:
                others = [m for m in names if m != n] if n == active else [active]
                cross[n].step(sum(distance(p[n], sent[m]) for m in others) / len(others))  # Eq. 2
        for n in names:  # step 2
            for rows in cut(torch.arange(len(tables[n])), size, order[n], 2):
                drawn = towers[n].local.objective.draw(tables[n], rows, draws[n])  # type: ignore[union-attr]
                views = split_two(drawn)
                z1, z2 = (local[n].z(view) for view in views)
                p1, p2 = local[n].predictor(z1), local[n].predictor(z2)
                with torch.no_grad():
                    c1, c2 = (cross[n].z(view) for view in views)
                guidance = distance(p1, c1) + distance(p2, c2)
                local[n].step((distance(p1, z2) + distance(p2, z1) + method.gamma * guidance) / 2)  # Eq. 4
        weights = {n: len(tables[n]) / sum(len(t) for t in tables.values()) for n in names}
        with torch.no_grad():  # step 3
            for tensors in zip(*(local[n].shared() for n in names), strict=True):
                mean = sum(weights[n] * t for n, t in zip(names, tensors, strict=True))
                for tensor in tensors:
                    tensor.copy_(mean)
    return {"cross": cross, "local": local}


@pytest.mark.parametrize("parties", [2, 3])
def test_pretraining_equals_a_plain_loop(parties: int) -> None:
    data = make_data(parties)
    uneven = {n: v.take(np.arange(len(v.ids) - 4 * k)) for k, (n, v) in enumerate(data.views.items())}
    data = cn.VerticalData.of(uneven, data.labels, "p0", data.task)  # parties of different size weigh differently
    method = small("fedhssl", pretrain_epochs=2, pretrain_batch_size=50, gamma=0.5, seed=7, **SGD)
    fed, towers = enrolled(method, data)
    tables = {"p0": fed.active.tables["train"]}
    tables |= {n: fed.engine.parties[n].tables["train"] for n in fed.passive}  # type: ignore[attr-defined]
    assert len({len(t) for t in tables.values()}) == parties
    by_name = dict(zip(tables, towers, strict=True))
    plain = plain_fedhssl(method, tables, fed.active.aligned, by_name)  # works on copies
    averaging = Averaging(fed, towers[0], averaged_by(method))
    before = copy.deepcopy(towers[1].cross.objective.state_dict())  # type: ignore[union-attr]
    for epoch in range(2):
        cross_party(method, fed, towers[0].cross, epoch)  # type: ignore[arg-type]
        study(method, fed, towers[0], epoch)
        averaging.run()
    after = towers[1].cross.objective.state_dict()  # type: ignore[union-attr]
    assert max(float((after[k] - before[k]).abs().max()) for k in before if before[k].is_floating_point()) > 1e-3
    for name, tower in by_name.items():
        for kind in ("cross", "local"):
            objective = getattr(tower, kind).objective
            for part in ("encoder", "projector", "predictor"):
                wanted = getattr(plain[kind][name], part).state_dict()
                for key, value in getattr(objective, part).state_dict().items():
                    torch.testing.assert_close(
                        value, wanted[key], rtol=1e-4, atol=1e-5, msg=lambda m, k=(name, kind, part, key): f"{k}: {m}"
                    )


def test_run_is_the_three_steps_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """`fit` ends pre-training with what the steps above give: the history has them, and fine-tuning begins there."""
    data = make_data()
    steps: list[str] = []
    monkeypatch.setattr(pretraining, "cross_party", lambda *a: (steps.append("cross"), cross_party(*a))[1])
    tell = Federation.tell
    told = lambda fed, name, **c: (steps.append(name) if name == "study" else None, tell(fed, name, **c))[1]  # noqa: E731
    monkeypatch.setattr(Federation, "tell", told)
    run = Averaging.run
    monkeypatch.setattr(Averaging, "run", lambda self: (steps.append("average"), run(self))[1])
    model = small("fedhssl", pretrain_epochs=2, epochs=1).fit(data)
    assert steps == ["cross", "study", "average"] * 2
    records = [r for r in model.history_ if r["phase"] == "pretrain"]
    assert [r["epoch"] for r in records] == [1, 2] and all(r["gamma"] == 0.5 for r in records)
    assert all(-1 <= r["loss"] <= 1 and math.isfinite(r["local_loss"]) for r in records)
    assert records[0]["bytes"] < records[1]["bytes"]


# (c), (d) averaging ---------------------------------------------------------------------------------------------------


def part(tower: Towers, name: str) -> list[torch.Tensor]:
    objective: Any = tower.local.objective  # type: ignore[union-attr]
    module = objective.encoder.top if name == "top" else getattr(objective, name, None)
    return [] if module is None else [t.clone() for t in module.state_dict().values()]


def differ(towers: list[Towers], name: str) -> bool:
    first = part(towers[0], name)
    return any(not torch.equal(a, b) for tower in towers[1:] for a, b in zip(first, part(tower, name), strict=True))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("averaged", [("top", "projector", "predictor"), ("top",), ("projector", "predictor")])
def test_exactly_the_named_parts_become_equal(objective: str, averaged: tuple[str, ...]) -> None:
    data = make_data(3)  # 3 or 4 numeric columns, and a category at p1
    method = small("fedhssl", objective=objective, averaged=averaged)
    fed, towers = enrolled(method, data)
    everything = ["top", "projector"] + ([] if objective == "moco" else ["predictor"])
    assert all(differ(towers, name) for name in everything)
    widths = {next(t.local.objective.encoder.bottom.parameters()).shape[1] for t in towers}  # type: ignore[union-attr]
    assert len(widths) > 1  # bottoms of different width
    bottoms = [copy.deepcopy(t.local.objective.encoder.bottom.state_dict()) for t in towers]  # type: ignore[union-attr]
    crosses = [copy.deepcopy(t.cross.objective.state_dict()) for t in towers]  # type: ignore[union-attr]
    begun = {name: [part(t, name) for t in towers] for name in everything}
    Averaging(fed, towers[0], averaged_by(method)).run()
    rows = [len(p.tables["train"]) for p in together.parties_of(fed)]
    for name in everything:
        assert differ(towers, name) == (name not in averaged)
        if name in averaged:
            for i, now in enumerate(part(towers[0], name)):
                by_hand = sum(n / sum(rows) * begun[name][k][i].double() for k, n in enumerate(rows))
                torch.testing.assert_close(now.double(), by_hand, rtol=1e-5, atol=1e-6)
    for tower, bottom, cross in zip(towers, bottoms, crosses, strict=True):
        kept = tower.local.objective.encoder.bottom.state_dict()  # type: ignore[union-attr]
        assert all(torch.equal(kept[k], bottom[k]) for k in bottom)
        kept = tower.cross.objective.state_dict()  # type: ignore[union-attr]
        assert all(torch.equal(kept[k], cross[k]) for k in cross)


def test_fed_local_ssl_averages_too() -> None:
    """FedSimSiam + PMA of Table 4 is fedhssl* without guidance: the same local encoders, and no cross-party bytes."""
    data = make_data()
    options: dict[str, Any] = {"projection": 8, "pretrain_epochs": 2, "epochs": 2, "aggregate": True}
    local = small("fed-local-ssl", **options).fit(data)
    star = small("fedhssl*", gamma=0.0, **options).fit(data)
    assert np.array_equal(outputs(local, data), outputs(star, data))
    assert "cross" not in local.traffic_.by_phase and "projection" not in local.traffic_.by_kind
    assert local.traffic_.by_phase["aggregate"] == star.traffic_.by_phase["aggregate"]


# (e) what crosses -----------------------------------------------------------------------------------------------------


def listened(name: str, data: cn.VerticalData, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Any:
    with monkeypatch.context() as patch:
        seen = observe(patch)
        model = small(name, **{"epochs": 1, **options}).fit(data)
    return model, seen


@pytest.mark.parametrize("name", FAMILY)
def test_pretraining_sends_projections_and_averages_only_and_only_to_and_from_the_active_party(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, seen = listened(name, make_data(3), monkeypatch, pretrain_epochs=2)
    early = [m for m in seen if m.phase in PRETRAINING]
    tensors = {m.kind for m in early if m.tensors}
    averages = {"parameters", "average"} if "fedhssl" in name else set()
    assert tensors == {"target", "projection"} | averages
    assert {m.kind for m in early} - tensors <= {"plan", "shape", "lesson", "order"}
    assert all("p0" in (m.sender, m.receiver) and m.sender != m.receiver for m in seen)
    for message in early:
        kind = KINDS[message.kind]
        assert set(message.tensors) <= set(kind.tensors) and set(message.values) <= kind.values
        assert not any(t.requires_grad for t in message.tensors.values())
    assert "gradient" in {m.kind for m in seen if m.phase == "train"}  # there, and nowhere before


def test_bytes_of_the_cross_party_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Payload exactly 2·4·P + 4 bytes per aligned row, passive party and epoch; all of it < 1 % above rows·P·4·2."""
    rows, width, epochs, batch, data = 600, 128, 3, 250, numeric(3, 600)
    options: dict[str, Any] = {"projection": width, "pretrain_batch_size": batch, "pretrain_epochs": epochs}
    model, seen = listened("fedhssl", data, monkeypatch, **options)
    cross = [m for m in seen if m.phase == "cross"]
    payload = sum(t.numel() * t.element_size() for m in cross for t in m.tensors.values())
    assert payload == 2 * epochs * rows * (2 * 4 * width + 4)
    bare = 2 * epochs * rows * width * 4 * 2
    measured = model.traffic_.by_phase["cross"]
    assert bare < payload < measured["bytes"] < 1.01 * bare
    assert measured["messages"] == 2 * 2 * epochs * math.ceil(rows / batch) and measured["rounds"] == 9
    assert model.traffic_.by_phase["pretrain"]["bytes"] < 100 * 2 * epochs  # orders to study, and nothing else


def test_updates_cost_no_bytes_and_staleness_saves_them() -> None:
    data = make_data()
    options: dict[str, Any] = {"pretrain_epochs": 4, "pretrain_batch_size": 50, "epochs": 1}
    plain = small("fedcssl", **options).fit(data)
    often = small("fedcssl", updates=4, **options).fit(data)
    stale = small("fedcssl", staleness=1, **options).fit(data)
    of = lambda model, kind: model.traffic_.by_kind[kind]["bytes"]  # noqa: E731
    assert often.traffic_.by_phase["cross"] == plain.traffic_.by_phase["cross"]
    for kind in ("target", "projection"):
        assert of(stale, kind) * 2 == of(plain, kind)
    orders = stale.traffic_.by_phase["cross"]["bytes"] - of(stale, "target") - of(stale, "projection")
    assert 0 < orders < 200  # two orders to go on alone
    for model in (often, stale):
        assert not np.array_equal(outputs(model, data), outputs(plain, data))


def test_more_updates_are_more_steps_towards_what_was_received() -> None:
    found = []
    for updates in (1, 4):
        _, towers = enrolled(small("fedcssl", updates=updates, pretrain_epochs=1), make_data())
        tower = towers[0].cross
        assert tower is not None
        tower.begin_pass()
        rows = tower.batches()[0]
        received = torch.randn(len(rows), 16, generator=torch.Generator().manual_seed(0))
        tower.emit(rows)
        tower.agree({"p1": received})
        p = tower.objective.cross(*tower.view)[1]
        found.append(tower.objective.match(p, received).item())
        steps = next(iter(tower.optimizer.state.values()))["step"]
        assert int(steps) == updates
    assert found[1] < found[0]


def test_moco_takes_what_it_receives_once_whatever_the_updates() -> None:
    _, towers = enrolled(small("fedcssl", objective="moco", updates=3), make_data(3))
    tower = towers[0].cross
    assert tower is not None
    tower.begin_pass()
    rows = tower.batches()[0]
    queue: Any = tower.objective
    tower.emit(rows)
    keys = {n: nn.functional.normalize(torch.randn(len(rows), 16), dim=1) for n in ("p1", "p2")}
    tower.agree(keys)
    assert int(queue.oldest) == 2 * len(rows)
    torch.testing.assert_close(queue.queue[: 2 * len(rows)], torch.cat(list(keys.values())))


# (f) secure aggregation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fedhssl", "fed-local-ssl"])
def test_masked_averages_give_the_same_model_and_no_part_crosses_in_the_open(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_data(3)
    options: dict[str, Any] = {"pretrain_epochs": 2, "aggregate": True, "epochs": 3, **SGD}
    plain, _ = listened(name, data, monkeypatch, **options)
    secure, seen = listened(name, data, monkeypatch, secure_aggregation=True, **options)
    np.testing.assert_allclose(outputs(secure, data), outputs(plain, data), rtol=0, atol=1e-4)
    kinds = {m.kind for m in seen}
    assert "parameters" not in kinds and {"key", "keys", "masked", "average"} <= kinds
    masked = [m.tensors["masked"] for m in seen if m.kind == "masked"]
    assert len(masked) == 2 * 2 and all(t.dtype == torch.int64 for t in masked)
    high = torch.cat([t >> 56 for t in masked])  # a plain contribution would leave the highest byte at 0 or -1
    assert len(high.unique()) == 256
    again, _ = listened(name, data, monkeypatch, secure_aggregation=True, **options)
    assert np.array_equal(outputs(again, data), outputs(secure, data))  # keys differ, the sum does not


def test_masks_of_two_parties_warn() -> None:
    with pytest.warns(UserWarning, match="with one passive party, the average and the own part give its part away"):
        small("fedhssl", secure_aggregation=True, pretrain_epochs=1, epochs=1).fit(make_data())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small("fedhssl", secure_aggregation=True, pretrain_epochs=1, epochs=1).fit(make_data(3))


# (g) the schedule of γ ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gamma", "epochs", "by_hand"),
    [
        (0.3, 3, [0.3, 0.3, 0.3]),
        ((0.7,), 3, [0.7, 0.7, 0.7]),
        ((0, 1), 5, [0.0, 0.25, 0.5, 0.75, 1.0]),
        ((1, 0, 1), 5, [1.0, 0.5, 0.0, 0.5, 1.0]),
        ((2, 1), 1, [2.0]),
    ],
)
def test_gamma_at_every_pass_by_hand(gamma: Any, epochs: int, by_hand: list[float]) -> None:
    method = cn.FedGSSL(gamma=gamma, pretrain_epochs=epochs)
    assert [gamma_at(method, e) for e in range(epochs)] == pytest.approx(by_hand)


def test_the_schedule_reaches_every_party(monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen = listened("fedgssl", make_data(3), monkeypatch, gamma=(0, 1), pretrain_epochs=3)
    ordered = [m.values["gamma"] for m in seen if m.phase == "pretrain"]
    assert ordered == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    assert [r["gamma"] for r in model.history_ if r["phase"] == "pretrain"] == [0.0, 0.5, 1.0]


# (h) what fine-tuning reads -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILY)
def test_what_fine_tuning_reads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cross-party encoder (fedcssl), the mean of both (fedgssl, fedhssl), or the local one (starred)."""
    data = make_data()
    method = small(name, pretrain_epochs=1, epochs=2)
    fed, towers = enrolled(method, data)
    parties = together.parties_of(fed)
    for party, tower in zip(parties, towers, strict=True):
        cross = tower.cross.objective.encoder  # type: ignore[union-attr]
        local = None if tower.local is None else tower.local.objective.encoder
        assert cross is not local
        if name == "fedcssl":
            assert party.encoder is cross and local is None
        elif name.endswith("*"):
            assert party.encoder is local
        else:
            assert type(party.encoder) is TwoTowers
            assert party.encoder.cross is cross and party.encoder.local is local
            for a, b in zip(cross.parameters(), local.parameters(), strict=True):  # type: ignore[union-attr]
                assert a.ndim == 1 or not torch.equal(a, b)
    model = small(name, pretrain_epochs=1, epochs=2).fit(data)
    joint = model.transform(data.only(data.aligned).views)
    read = []
    for party in parties_of(model):
        inputs = party.tables["predict"].rows(torch.arange(len(party.tables["predict"])))
        encoder: Any = party.encoder
        with torch.no_grad():
            if isinstance(encoder, TwoTowers):
                read.append(0.5 * (encoder.cross(*inputs) + encoder.local(*inputs)))
            else:
                read.append(encoder(*inputs))
    np.testing.assert_allclose(joint, torch.cat(read, dim=1).numpy(), rtol=1e-5, atol=1e-6)


def test_pretraining_without_a_pass_leaves_both_towers_as_they_began() -> None:
    data = make_data()
    model = small("fedhssl", pretrain_epochs=0, epochs=1).fit(data)
    assert model.traffic_.by_phase.get("cross") is None and np.isfinite(outputs(model, data)).all()


def test_a_party_that_learns_alone_refuses_to_agree_with_others() -> None:
    method = small("fed-local-ssl", aggregate=True)
    fed = put_together(method, make_data())
    enrol(fed, ssl_lesson(method), "local", averaged_by(method))
    with pytest.raises(cn.WireError, match="'cross_again' is no operation of this run"):
        fed.tell("cross_again")
    party, order = passive_of(fed)["p1"], Message("order", "p0", "p1", "cross")
    with pytest.raises(cn.WireError, match="'cross_again' is no operation of this run"):
        party.perform("cross_again", order)
    with pytest.raises(cn.WireError, match="party 'p1' was enrolled to learn alone"):
        Crossing(party).cross_again(order)


# (i) late parties and stale projections -------------------------------------------------------------------------------


def late_in(fed: Federation, late: set[str]) -> None:
    """Make the projections of the named parties come too late from now on."""
    engine: Any = fed.engine
    engine.always_late = frozenset({"nobody"})  # so that the engine looks who is late
    engine._is_late = lambda operation, name: operation.name == "cross" and name in late


def heard_by(tower: Any, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, torch.Tensor]]:
    """What each step agreed with, fresh or remembered."""
    heard: list[dict[str, torch.Tensor]] = []
    step = tower._step
    monkeypatch.setattr(tower, "_step", lambda received: (heard.append(dict(received)), step(received))[1])
    return heard


def test_a_late_partys_last_projections_are_used_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    method, fed, tower, heard, late = late_federation(monkeypatch)
    first, rows = heard[-1]["p2"], tower.rows
    assert set(heard[-1]) == {"p1", "p2"}
    late.add("p2")
    cross_party(method, fed, tower, 0)  # one pass later: within the bound, row by row what it had sent
    assert set(heard[-1]) == {"p1", "p2"}
    place = {int(r): i for i, r in enumerate(rows)}
    assert torch.equal(heard[-1]["p2"], first[[place[int(r)] for r in tower.rows]])


def late_federation(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Federation, Any, list[Any], set[str]]:
    """Three parties after one exchange in a single batch, staleness 1; who is in the set is late from then on."""
    method = small("fedcssl", staleness=1, pretrain_batch_size=500)
    fed, towers = enrolled(method, make_data(3))
    tower = towers[0].cross
    assert tower is not None
    heard = heard_by(tower, monkeypatch)
    late: set[str] = set()
    late_in(fed, late)
    cross_party(method, fed, tower, 0)
    return method, fed, tower, heard, late


def test_a_late_party_is_left_out_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    method, fed, tower, heard, late = late_federation(monkeypatch)
    late.add("p2")
    cross_party(method, fed, tower, 0)  # p2's projections are one pass old, which the bound allows
    cross_party(method, fed, tower, 0)  # two passes old
    assert set(heard[-1]) == {"p1"}


def test_a_pass_without_exchange_leaves_out_what_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    method, fed, tower, _, late = late_federation(monkeypatch)
    used: list[set[str]] = []
    step = tower._step
    monkeypatch.setattr(tower, "_step", lambda received: (used.append(set(received)), step(received))[1])
    cross_party(method, fed, tower, 1)  # as in a run: pass 1 without exchange,
    late.add("p2")
    cross_party(method, fed, tower, 2)  # pass 2 with exchange, p2 late,
    cross_party(method, fed, tower, 3)  # pass 3 without: p2 was last heard three passes ago
    assert used == [{"p1", "p2"}, {"p1"}, {"p1"}]


def test_projections_grow_too_old() -> None:
    _, towers = enrolled(small("fedcssl", staleness=2), make_data())
    tower = towers[0].cross
    assert tower is not None
    tower.begin_pass()
    rows = torch.arange(10, dtype=torch.int32)
    tower.emit(rows)
    assert tower.recent("p1") is None  # never heard
    sent = torch.randn(10, 16)
    tower.agree({"p1": sent})
    for age in (1, 2):
        tower.begin_pass()
        tower.emit(rows.flip(0))
        assert torch.equal(tower.recent("p1"), sent.flip(0)), age
    tower.emit(torch.arange(5, 15, dtype=torch.int32))
    assert tower.recent("p1") is None  # five of these rows were never heard
    tower.begin_pass()
    tower.emit(rows)
    assert tower.recent("p1") is None  # three passes old


def test_without_staleness_a_late_party_is_left_out_and_everyone_late_is_no_update(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    method = small("fedcssl")
    fed, towers = enrolled(method, make_data(3))
    tower = towers[0].cross
    assert tower is not None
    heard = heard_by(tower, monkeypatch)
    late = {"p2"}
    late_in(fed, late)
    cross_party(method, fed, tower, 0)
    assert all(set(h) == {"p1"} for h in heard)
    late.add("p1")
    before = [p.detach().clone() for p in tower.objective.parameters()]
    assert cross_party(method, fed, tower, 1) == 0.0
    assert all(map(torch.equal, tower.objective.parameters(), before))


def test_a_response_limit_makes_projections_late() -> None:
    data = make_data()
    model = small("fedhssl", response_limit=1e-9, pretrain_epochs=2, epochs=1).fit(data)
    assert model.late_["p1"] > 2 and "projection" not in model.traffic_.by_kind
    assert model.traffic_.by_kind["parameters"]["messages"] == 2  # averaging waits


def test_a_pass_without_exchange_learns_from_what_was_received() -> None:
    method = small("fedcssl", staleness=1, pretrain_epochs=2)
    fed, towers = enrolled(method, make_data())
    cross_party(method, fed, towers[0].cross, 0)
    states = [copy.deepcopy(t.cross.objective.state_dict()) for t in towers]  # type: ignore[union-attr]
    sent = fed.wire.traffic.by_kind["target"]["messages"]
    loss = cross_party(method, fed, towers[0].cross, 1)
    assert -1 <= loss <= 1 and fed.wire.traffic.by_kind["target"]["messages"] == sent
    for tower, state in zip(towers, states, strict=True):  # every party took steps
        now = tower.cross.objective.state_dict()  # type: ignore[union-attr]
        assert not torch.equal(now["projector.0.weight"], state["projector.0.weight"])
        assert tower.cross is not None and tower.cross.at == 1


# (j) bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILY)
def test_aligned_rows_are_needed(name: str) -> None:
    data = make_data()
    one = cn.VerticalData.of({**data.views, "p1": data.views["p1"].take(np.arange(1))}, data.labels, "p0", data.task)
    with pytest.raises(cn.DataError, match=rf"1 rows are held by all parties, and {name.replace('*', '.')} learns"):
        small(name).fit(one)
    apart = np.flatnonzero(~np.isin(data.views["p1"].ids, data.aligned))
    none = cn.VerticalData.of({**data.views, "p1": data.views["p1"].take(apart)}, data.labels, "p0", data.task)
    with pytest.raises(cn.DataError, match=r"No rows are held by all parties.*use fed-local-ssl or vflhlp"):
        small(name).fit(none)


def test_fewer_aligned_rows_than_a_batch_warn_and_make_one_batch() -> None:
    data = make_data(rows=40)
    with pytest.warns(UserWarning, match="fedcssl: the 40 aligned rows are fewer than pretrain_batch_size=64"):
        model = small("fedcssl", pretrain_epochs=2, epochs=1).fit(data)
    assert model.traffic_.by_phase["cross"]["rounds"] == 2


def test_projections_of_different_width_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Enrolment.enrol

    def narrow(self: Enrolment, message: Message) -> Reply:
        return Reply({}, {**original(self, message).values, "projection": 7})

    monkeypatch.setattr(Enrolment, "enrol", narrow)
    with pytest.raises(cn.ConfigError, match=r"widths are 'p1' 7, 'p0' 16\. Use one projection"):
        small("fedcssl").fit(make_data())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"gamma": -1}, r"gamma must be a number of at least 0, or a few such numbers\. Got -1\. 0 switches"),
        ({"gamma": ()}, r"gamma must be a number of at least 0.*Got \(\)"),
        ({"gamma": (0.5, -0.1)}, r"gamma must be .*Got \(0\.5, -0\.1\)"),
        ({"gamma": float("nan")}, r"gamma must be .*Got nan"),
        ({"gamma": "high"}, r"gamma must be .*Got 'high'"),
        ({"gamma": True}, r"gamma must be .*Got True"),
        ({"averaged": ("bottom",)}, r"averaged must be a list of some of top, projector, .*\. Got \('bottom',\)"),
        ({"averaged": ()}, r"averaged must be a list of some of top, projector, predictor\. Got \(\)"),
        ({"aggregate": False, "secure_aggregation": True}, r"secure_aggregation=True .* aggregate=False averages"),
        ({"objective": "nat"}, r"objective must be one of simsiam, byol, moco, or a subclass of Objective\. Got 'nat'"),
        ({"updates": 0}, r"updates must be a whole number of at least 1\. Got 0"),
        ({"staleness": -1}, r"staleness must be a whole number of at least 0\. Got -1"),
    ],
)
def test_bad_options_are_explained(options: dict[str, Any], text: str) -> None:
    with pytest.raises(cn.ConfigError, match=text):
        cn.FedHSSL(**options)


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(cn.ConfigError, match=r"(?s)3 problems.*gamma must be.*averaged must|3 problems.*averaged must"):
        cn.FedHSSL(gamma=-1, averaged=("all",), updates=0)


def test_a_party_with_labels_only_cannot_be_active() -> None:
    data = make_data()
    views = {n: data.views[n] for n in ("p0", "p1")}
    alone = cn.VerticalData.of(views, data.labels, "server", data.task)
    with pytest.raises(cn.DataError, match="'server', which has labels and no columns"):
        small("fedhssl").fit(alone)


# (k) same seed, saving ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("objective", ["simsiam", "moco"])
def test_same_seed_same_result_and_a_saved_model_predicts_the_same(name: str, objective: str, tmp_path: Any) -> None:
    data = make_data()
    options: dict[str, Any] = {"objective": objective, "pretrain_epochs": 2, "epochs": 2, "updates": 2, "staleness": 1}
    if name != "fedcssl":
        options["gamma"] = (0, 1)
    first = small(name, seed=3, **options).fit(data)
    torch.manual_seed(99)
    again = small(name, seed=3, **options).fit(data)
    assert np.array_equal(outputs(first, data), outputs(again, data))
    assert not np.array_equal(outputs(first, data), outputs(small(name, seed=4, **options).fit(data), data))
    first.save(tmp_path / "model")
    loaded = cn.load(tmp_path / "model")
    assert np.array_equal(outputs(first, data), outputs(loaded, data))
    assert loaded.get_params() == first.get_params() and type(loaded) is type(first)


# (l) own networks -----------------------------------------------------------------------------------------------------


class Own(nn.Module):
    """A user's network, with a part that can be averaged."""

    def __init__(self, columns: int, inner: int = 6, width: int = 5) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(columns, inner), nn.Tanh())
        self.top = nn.Sequential(nn.Linear(inner, width), nn.BatchNorm1d(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.top(self.bottom(x))
        return out


def own_data() -> cn.VerticalData:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(80, 3)), rng.normal(size=(80, 5))
    return cn.VerticalData({"a": a, "b": b}, (a[:, 0] + b[:, 0] > 0).astype(int))


@pytest.mark.parametrize("name", ["fedhssl", "fedhssl*"])
def test_own_networks_with_a_top_are_averaged_with_their_running_statistics(name: str, tmp_path: Any) -> None:
    torch.manual_seed(0)
    data, modules = own_data(), {"a": Own(3), "b": Own(5)}
    method = small(name, encoders=modules, pretrain_epochs=2, pretrain_batch_size=40, epochs=25, learning_rate=0.02)
    fed, towers = enrolled(method, data)
    study(method, fed, towers[0], 0)
    assert differ(towers, "top")
    Averaging(fed, towers[0], averaged_by(method)).run()
    assert not differ(towers, "top")
    assert towers[0].local.objective.encoder is modules["a"]  # type: ignore[union-attr]
    assert towers[0].cross.objective.encoder is not modules["a"]  # type: ignore[union-attr]
    model = method.fit(data)
    assert model.score(data.views, data.labels) > 0.85
    model.save(tmp_path / "model")
    loaded = cn.load(tmp_path / "model", encoders={"a": Own(3), "b": Own(5)})
    assert np.array_equal(outputs(model, data), outputs(loaded, data))


def test_moco_has_no_predictor_to_average() -> None:
    with pytest.raises(cn.ConfigError, match="predictor"):
        small("fedhssl", objective="moco", averaged=("predictor",), pretrain_epochs=1, epochs=1).fit(make_data())


def test_averaging_in_fed_local_ssl_with_a_party_that_has_labels_only() -> None:
    """Passive parties average among themselves, or an error says why not."""
    data = make_data(3)
    alone = cn.VerticalData.of(data.views, data.labels, "server", data.task)
    try:
        model = small("fed-local-ssl", aggregate=True, pretrain_epochs=1, epochs=1).fit(alone)
    except cn.ColonnadeError as error:
        assert "server" in str(error)
    else:
        assert model.traffic_.by_kind["average"]["messages"] == 3


def test_own_networks_that_cannot_be_averaged_are_refused() -> None:
    data = own_data()
    bare = {"a": nn.Linear(3, 5), "b": nn.Linear(5, 5)}
    with pytest.raises(cn.ConfigError, match=r"party 'b', 'a': its network has no 'top' to average.*out of averaged"):
        small("fedhssl", encoders=bare).fit(data)
    uneven = {"a": Own(3, inner=6), "b": Own(5, inner=7)}
    with pytest.raises(cn.ConfigError, match=r"'top' is averaged .*its shapes differ: 'b' 5x7 .*; 'a' 5x6 .*aggregate"):
        small("fedhssl", encoders=uneven).fit(data)
    assert small("fedhssl", encoders=uneven, averaged=("projector",), pretrain_epochs=1, epochs=1).fit(data).history_
    assert small("fedgssl", encoders=bare, pretrain_epochs=1, epochs=1).fit(data).history_


def test_default_and_own_networks_of_one_party_each() -> None:
    """A party's network may be its own while the other's is ours, as long as the tops agree."""
    data = own_data()
    twin = TabularEncoder(3, hidden=(24,), width=12)
    model = small("fedhssl", encoders={"a": twin}, pretrain_epochs=1, epochs=2).fit(data)
    assert isinstance(model.federation_.active.encoder, TwoTowers)
    assert model.federation_.active.encoder.local is twin
