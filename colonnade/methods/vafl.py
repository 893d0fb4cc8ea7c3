"""VAFL (Chen et al. 2020): split training in which nobody waits; representations may leave with noise.

Symbols: θ_0 the server's model, here the head; θ_m that of client m, h_{n,m} = h_m(θ_m; x_{n,m}) its representation of
row n; ℓ the loss; τ_{n,m} how many activations ago h_{n,m} came; c the deviation of the noise on it. An active party
with columns is server and, with its own encoder, one of the clients.

The algorithm, in the steps that the code names:
  1  a client m wakes up, by a clock of its own;
  2  it draws a batch;
  3  it sends its h_{n,m}, perturbed;
  4  the server reads the latest h_{n,j} that the other clients have sent of these rows, however old, and updates θ_0;
  5  it sends back ∇_{h_{n,m}} ℓ;
  6  the client updates θ_m. Nobody else does anything.

B rows of a batch, n labelled aligned rows, D width of a representation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError
from colonnade.methods._base.method import Method
from colonnade.methods._base.options import Ge, Help, Must
from colonnade.methods._base.options.groups import Crossing, Networks
from colonnade.methods._base.parts.mixed import endless
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.setup import SPLIT, SPLIT_SKILLS, Setup
from colonnade.parties.federation import Federation
from colonnade.seeds import generator
from colonnade.wire.protection import GaussianNoise

NEVER = -(1 << 62)  # when a row came that has not come yet


def _are_speeds(value: Any) -> bool:
    numbers = value.values() if isinstance(value, Mapping) else [None]
    return all(isinstance(v, int | float) and not isinstance(v, bool) and 0 < v < float("inf") for v in numbers)


@dataclass(kw_only=True, eq=False, repr=False)
class VAFL(Crossing, Networks, Method):
    """Encoder at every party, head at the active one; each party's updates come when it wakes up."""

    name = "vafl"
    paper = "Chen et al. 2020"
    summary = "splitnn without waiting: the head reads each party's latest"
    family = "rounds"
    skills = SPLIT_SKILLS

    noise: Annotated[
        float,
        Ge(0),
        Help(
            "Standard deviation of the noise on representations that leave a party in training (c). It has no (ε, δ)."
        ),
    ] = 0.0
    speeds: Annotated[
        Mapping[str, float] | None,
        Must("a mapping of party names to numbers above 0", _are_speeds),
        Help("How often parties wake, relative to 1 for those that are not named.", "Use e.g. {shop = 0.5}."),
    ] = None
    max_staleness: Annotated[
        int | None,
        Ge(0),
        Help("Activations after which a representation is asked for anew. None: never.", "Use none for no bound."),
    ] = None

    def setup(self) -> Setup:
        """Parties are asked one by one. As in `ssvfl-dp`, predictions carry no noise: they would differ each time."""
        phases = frozenset({"train", "validate"})
        noise = (GaussianNoise("representation", self.noise, self.seed, phases),) if self.noise else ()
        return Setup(skills=self.skills, sends=SPLIT, one_by_one=True, noise=noise)

    def check_data(self, data: VerticalData) -> None:
        """Speeds are of parties that are there."""
        unknown = [name for name in self.speeds or {} if name not in data.views]
        if unknown:
            raise ConfigError(f"speeds names {unknown}, but the parties with columns are {list(data.views)}.")

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """An epoch is as many activations as it takes all clients, at equal speeds, to send every row once."""
        training, server = Training.of(self), Server(fed, self.max_staleness)
        rates = {name: (self.speeds or {}).get(name, 1.0) for name in server.clients}
        wakes = clocks(rates, generator(self.seed, fed.active.name, "clocks"))
        everyone = torch.arange(len(server.rows))
        drawn = {m: endless(everyone, self.batch_size, generator(self.seed, m, monitor.name)) for m in rates}
        steps = len(rates) * -(-len(everyone) // self.batch_size)
        fed.active.begin(**training.update)
        with fed.phase(monitor.name):
            fed.tell("begin", **training.update)
            for epoch in range(1, monitor.epochs + 1):
                total, seen = torch.zeros((), device=fed.active.device), 0
                for _ in range(steps):
                    m = next(wakes)  # step 1
                    at = next(drawn[m]).to(fed.active.device)  # step 2
                    loss = server.activate(m, at)  # steps 3-6
                    if loss is not None:
                        total, seen = total + loss * len(at), seen + len(at)
                if monitor.after(epoch, total / max(seen, 1)):
                    break
            monitor.recall()


def clocks(rates: Mapping[str, float], draw: torch.Generator) -> Iterator[str]:
    """Who wakes next, without end: each client's clock is a Poisson process of its own rate."""

    def wait(name: str) -> float:
        return float(torch.empty((), dtype=torch.float64).exponential_(rates[name], generator=draw))

    due = {name: wait(name) for name in rates}
    while True:
        name = min(due, key=lambda m: due[m])
        yield name
        due[name] += wait(name)


class Memory:
    """The latest representation of each row by each client, (n, D), and the activation in which it came, (n,).

    A row that a client has not sent yet counts as zero, like that of an absent party.
    """

    def __init__(self, widths: Mapping[str, int], rows: int, device: torch.device) -> None:
        self.h = {m: torch.zeros(rows, width, device=device) for m, width in widths.items()}
        self.came = {m: torch.full((rows,), NEVER, device=device) for m in widths}

    def take(self, m: str, at: Tensor, h: Tensor, now: int) -> None:
        """Replace what client m sent before of these rows."""
        self.h[m].index_copy_(0, at, h.detach())
        self.came[m].index_fill_(0, at, now)

    def older(self, m: str, at: Tensor, than: int) -> Tensor:
        """Those of the rows that came from client m before activation `than`."""
        return at[self.came[m].index_select(0, at) < than]

    def read(self, at: Tensor, fresh: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Representations of these rows by client, (B, D) each: the fresh ones, and the latest of all others."""
        return {m: fresh[m] if m in fresh else h.index_select(0, at) for m, h in self.h.items()}


class Server:
    """The active party as the server of all clients, its own encoder among them."""

    def __init__(self, fed: Federation, max_staleness: int | None) -> None:
        self.fed, self.max_staleness = fed, max_staleness
        active = fed.active
        self.rows = active.labelled_aligned.to(active.device, torch.int32)  # (n,)
        own = {active.name: active.width} if active.encoder is not None else {}
        self.clients = {**own, **active.widths}  # in the head's order
        self.memory = Memory(self.clients, len(self.rows), active.device)
        self.now = 0

    def activate(self, m: str, at: Tensor) -> Tensor | None:
        """Steps 3-6 for client m and the rows at these positions, (B,); the loss, or None if its answer came late."""
        active, rows = self.fed.active, self.rows.index_select(0, at)
        self.now += 1
        h = self._upload(m, rows)  # step 3
        if h is None:
            return None
        self.memory.take(m, at, h, self.now)
        if self.max_staleness is not None:
            self._renew(m, at, self.now - self.max_staleness)
        logits = active.logits(active.joined(self.memory.read(at, {m: h})))  # step 4: all others as they came
        loss = active.targets.loss(logits, active.y["train"].index_select(0, rows))
        active.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        active.optimizer.step()  # θ_0, and θ_m where m is the active party itself
        if m != active.name:
            assert h.grad is not None
            self.fed.tell("backward", gradient={m: h.grad})  # steps 5-6
        return loss.detach()

    def _upload(self, m: str, rows: Tensor) -> Tensor | None:
        """h_{n,m} (B, D): with its graph if m is the active party itself, else as a leaf."""
        active = self.fed.active
        if m == active.name:
            return active.encode(active.tables["train"].batch(rows), train=True)
        h = self.fed.ask("forward", rows={m: rows}).get(m)
        return None if h is None else h.detach().requires_grad_()

    def _renew(self, awake: str, at: Tensor, than: int) -> None:
        """Ask the others for what has grown older than the bound allows; they answer, and do not learn from it."""
        active = self.fed.active
        old = {m: self.memory.older(m, at, than) for m in self.clients if m != awake}
        old = {m: places for m, places in old.items() if len(places)}
        asked = {m: self.rows.index_select(0, places) for m, places in old.items()}
        own = asked.pop(active.name, None)
        answers = dict(self.fed.ask("represent", rows=asked)) if asked else {}
        if own is not None:
            answers[active.name] = active.encode_table("train", own)
        for m, h in answers.items():
            self.memory.take(m, old[m], h, self.now)
