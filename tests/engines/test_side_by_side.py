import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.objectives.side_by_side import learn_together
from colonnade.objectives.training import Lesson
from colonnade.parties.engine import Requests
from colonnade.parties.skills.pretraining import Pretraining
from colonnade.wire.message import Message
from colonnade.wire.stacked import Stacked
from tests.declared import OPERATIONS, make_wire
from tests.methods.together import passive_of, put_together

LESSON = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2, "weight_decay": 0.0, "optimizer": "adam", "seed": 3}


def passive_parties(rows=21):
    draw = np.random.default_rng(0)
    views = {name: draw.integers(0, 256, (rows, 1, 8, 8), dtype=np.uint8) for name in ("a", "b", "c")}
    return passive_of(put_together(cn.FedLocalSSL(width=4), cn.VerticalData(views, draw.integers(0, 2, rows))))


@pytest.mark.parametrize("objective", ["simsiam", "byol", "moco", "nat"])
def test_learning_together_gives_what_each_learns_alone(objective):
    lesson = Lesson(objective=objective, **LESSON)
    together, alone, heard = passive_parties(), passive_parties(), []
    learn_together([party.course(lesson) for party in together.values()], lambda *done: heard.append(done))
    for party in alone.values():
        party.learn(lesson)
    for name in together:
        ours, theirs = together[name].state(), alone[name].state()
        assert all(torch.equal(ours[key], theirs[key]) for key in theirs)
    assert heard == [(1, 2), (2, 2)]


def test_on_a_cpu_each_party_learns_by_itself():
    parties = passive_parties()
    values = Lesson(objective="simsiam", **LESSON).values()
    requests = Requests("lesson", "a", "pretrain", tuple(parties), {}, values)
    assert Pretraining.at_once(OPERATIONS["pretrain"], parties, requests) == []


def test_what_was_noted_is_counted_again_message_by_message():
    def pass_one(wire):
        message = Message("representation", "b", "a", "train", {"representation": torch.ones(3, 2)})
        wire.carry(message)
        wire.carry_group("gradient", "train", ("b", "c"), {"gradient": Stacked(("b", "c"), torch.ones(2, 3, 2))}, {})
        wire.count_round("train")

    twice, replayed = (make_wire(active="a") for _ in range(2))
    pass_one(twice), pass_one(twice)
    with replayed.noted() as crossed:
        pass_one(replayed)
    for count in crossed:
        count()
    assert replayed.traffic.to_json() == twice.traffic.to_json() and twice.traffic.messages == 6
    assert replayed.audit_json() == twice.audit_json()
