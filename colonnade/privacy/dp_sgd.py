"""Steps of DP-SGD (Abadi et al. 2016; Wu et al. 2022, Alg. 1, lines 11-13) with Opacus, fed into a ledger.

N rows, B rows of a sample, q sampling rate, Ω bound on the norm of a row's gradient, σ noise multiplier.

    B ~ each of the N rows with chance q, independently
    g = ( Σ_{i in B} g_i · min(1, Ω / ‖g_i‖) + N(0, (σΩ)² I) ) / (qN)

Opacus computes the g_i, clips, adds up and adds the noise. The division is by the expected size qN, as the size itself
depends on who is in the table.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
from torch import Generator, Tensor, nn

from colonnade.errors import ConfigError, MissingDependencyError, raise_all
from colonnade.privacy.entry import Entry, PrivacyError, SampledGaussian
from colonnade.privacy.layers import check_layers, keep_inputs, restore_in_place

PART_NUMBERS = 2**25  # numbers of per-row gradients held at a time, 128 MB; larger samples come in parts
TRIED = 4  # rows on which the loss is tried for independence of rows

Draw = Callable[[Tensor], tuple[Tensor, ...]]  # positions (B,) → what the loss reads, rows first
LossOf = Callable[..., Tensor]  # what was drawn → losses (B,), or their mean


class PrivateSteps:
    """Private training of a module; a context manager that leaves the module as plain as it was.

    σ, q and the number of steps are those of the ledger's entry and of nothing else. The noise that reaches the
    optimizer is measured and written beside it, and so are the steps and the rows drawn; `Ledger.check` compares.

    Args:
        module: what the loss calls; every trainable layer is one that Opacus knows or torch.func can differentiate.
        optimizer: of torch, over parameters of the module. Plain SGD in the paper; whatever follows the noise costs
            nothing, so momentum and Adam keep the guarantee.
        entry: of a ledger, with a `SampledGaussian`.
        clip: Ω.
        rows: N.
        order: draws the samples; on the CPU.
        noise: draws the noise; on the module's device. A seed that is published gives the noise away.
        part: most rows whose gradients are held at a time; by default as many as `PART_NUMBERS` allows.
    """

    def __init__(
        self,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        entry: Entry,
        *,
        clip: float,
        rows: int,
        order: Generator,
        noise: Generator,
        part: int | None = None,
    ) -> None:
        self.parameters = {p: name for name, p in module.named_parameters() if p.requires_grad}
        _check(self.parameters, optimizer, entry, clip, rows, noise)
        check_layers(module)
        assert isinstance(entry.mechanism, SampledGaussian)
        self.module, self.entry, self.clip, self.rows, self.order, self.noise = module, entry, clip, rows, order, noise
        self.rate = entry.mechanism.rate
        self.expected = self.rate * rows  # qN
        held = PART_NUMBERS // max(1, sum(p.numel() for p in self.parameters))
        self.part = part or max(1, held)
        self.plain = optimizer
        self.begun = self.tried = False

    def __enter__(self) -> PrivateSteps:
        opacus = _opacus()
        self.module.train()
        self.in_place = keep_inputs(self.module)
        self.hooked = opacus.GradSampleModule(self.module)  # only its hooks are used: the module itself is called
        self.optimizer = opacus.optimizers.DPOptimizer(
            self.plain,
            noise_multiplier=self.entry.sigma,
            max_grad_norm=self.clip,
            expected_batch_size=self.expected,
            generator=self.noise,
        )
        self.optimizer.attach_step_hook(self._measure)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hooked.to_standard_module()
        restore_in_place(self.in_place)
        for p in self.parameters:
            p.grad = None
            if hasattr(p, "summed_grad"):
                del p.summed_grad
        for layer in self.module.modules():  # what a hook leaves behind when a step breaks off
            for left in ("activations", "max_batch_len"):
                if hasattr(layer, left):
                    delattr(layer, left)

    def step(self, draw: Draw, loss_of: LossOf) -> Tensor:
        """One step on a fresh sample, empty ones included. Σ losses / qN, which estimates the mean over all rows.

        The loss is not protected: it may be looked at, not released.
        """
        self._begin()
        positions = self.sample()  # (B,)
        total = torch.zeros((), device=positions.device)
        parts = torch.split(positions, self.part)  # an empty sample is one empty part
        for i, part in enumerate(parts):
            total += self._gradients(part, draw, loss_of) * len(part)
            self.optimizer.signal_skip_step(do_skip=i + 1 < len(parts))
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.hooked.set_grad_sample_to_none()  # also of parameters that the optimizer does not hold
        self.entry.count()
        return total / self.expected

    def sample(self) -> Tensor:
        """Positions (B,) of a Poisson sample: each row with chance q, independently; noted in the ledger."""
        chance = torch.rand(self.rows, generator=self.order, dtype=torch.float64)
        positions = (chance < self.rate).nonzero().flatten()
        self.entry.observed.drawn += len(positions)
        self.entry.observed.offered += self.rows
        return positions.to(next(iter(self.parameters)).device)

    def _begin(self) -> None:
        assert self.entry.mechanism is not None
        if self.entry.done >= self.entry.mechanism.times:
            raise PrivacyError(
                f"{self.entry}: all {self.entry.done} planned steps are taken, and one more would spend more than was "
                "asked for. Plan more steps."
            )
        if not self.begun:
            self.entry.claim(self.order)
            self.entry.claim(self.noise)
            self.begun = True

    def _gradients(self, part: Tensor, draw: Draw, loss_of: LossOf) -> Tensor:
        """Per-row gradients of these rows, left in `grad_sample`; their mean loss."""
        if not len(part):
            for p in self.parameters:
                p.grad_sample = p.new_zeros(0, *p.shape)  # type: ignore[attr-defined]
            return torch.zeros((), device=part.device)
        drawn = draw(part)
        if not self.tried and len(part) > 1:
            self._try(drawn, loss_of)
        loss = loss_of(*drawn).mean()  # of (B,) or of a mean; the hooks take the mean over rows apart
        with warnings.catch_warnings():  # torch warns of hooks on layers whose input needs no gradient: it is meant so
            warnings.filterwarnings("ignore", "Full backward hook is firing")
            loss.backward()  # type: ignore[no-untyped-call]
        for p, name in self.parameters.items():
            if p.grad_sample is None:  # type: ignore[attr-defined]
                _unused(name, p)
                p.grad_sample = p.new_zeros(()).expand(len(part), *p.shape)  # type: ignore[attr-defined]
        return loss.detach()

    @torch.no_grad()
    def _try(self, drawn: tuple[Tensor, ...], loss_of: LossOf) -> None:
        """Refuse a loss in which rows meet: bounding each row's gradient would not bound what a row changes."""
        self.module.eval()  # without dropout
        few = [t[:TRIED] for t in drawn]
        together = loss_of(*few).mean()
        apart = torch.stack([loss_of(*(t[i : i + 1] for t in few)).mean() for i in range(len(few[0]))]).mean()
        self.module.train()
        self.tried = True
        if not torch.allclose(together, apart, rtol=1e-3, atol=1e-5):
            raise ConfigError(
                f"{self.entry}: the loss of some rows together is {float(together):.6g}, and one by one their mean is "
                f"{float(apart):.6g}. A row that others' losses depend on is not protected by clipping. Use a loss "
                "that is a mean over rows: nat with assignment='fixed', or a supervised one."
            )

    @torch.no_grad()
    def _measure(self, optimizer: Any) -> None:
        """What reaches the optimizer, less the sum of clipped gradients, is the noise: written in the ledger."""
        noise = [p.grad * self.expected - p.summed_grad for p in optimizer.params]
        norms = torch.stack([torch.linalg.vector_norm(n, dtype=torch.float64) for n in noise])
        self.entry.observe(float((norms / self.clip).square().sum()), sum(n.numel() for n in noise))


def _check(
    parameters: dict[nn.Parameter, str],
    optimizer: torch.optim.Optimizer,
    entry: Entry,
    clip: float,
    rows: int,
    noise: Generator,
) -> None:
    """Refuse settings under which no step would be private; all problems at once."""
    problems = []
    if not isinstance(entry.mechanism, SampledGaussian) or entry.mechanism.noise_multiplier is None:
        problems.append(f"the entry needs a SampledGaussian with a noise_multiplier. Got {entry.mechanism!r}.")
    if not 0 < clip < math.inf:
        problems.append(f"clip must be above 0 and finite. Got {clip!r}. The paper uses 1.0 and 1.5.")
    if rows < 1:
        problems.append(f"rows must be at least 1. Got {rows!r}.")
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    if not trained or any(p not in parameters for p in trained):
        problems.append("the optimizer must hold trainable parameters of the module, and no others.")
    if any(p.device != noise.device for p in trained):
        problems.append(f"the noise generator must be on the parameters' device. It is on {noise.device}.")
    raise_all(problems, ConfigError, f"private training of {entry}")


def _unused(name: str, p: nn.Parameter) -> None:
    """A parameter that no layer's forward used has gradient 0; one used elsewhere has one that cannot be bounded."""
    if p.grad is not None and bool(p.grad.any()):
        raise ConfigError(
            f"parameter {name!r} is used outside the forward of its layer, so rows' gradients cannot be told apart. "
            "Call the layer, or freeze the parameter."
        )


def _opacus() -> Any:
    try:
        import opacus
    except ImportError as error:
        raise MissingDependencyError(
            'private training needs the package opacus. Install it: pip install "colonnade[privacy]"'
        ) from error
    return opacus
