"""Methods whose parties talk: how representations are joined, how they travel, and how long a party is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from colonnade.active import JOINS, ActiveParty
from colonnade.data.vertical import VerticalData
from colonnade.errors import DataError
from colonnade.federation import Federation
from colonnade.methods.base import Progress, no_progress
from colonnade.methods.network import NetworkMethod
from colonnade.methods.options import above, one_of
from colonnade.wire.codec import PRECISIONS
from colonnade.wire.engines.in_process import InProcess
from colonnade.wire.wire import Wire


@dataclass(kw_only=True, eq=False, repr=False)
class FederatedMethod(NetworkMethod):
    """A network method whose parties talk over a wire."""

    join: str = "concat"  # how the head reads the representations: concat, mean or sum
    codec: str = "float32"  # how representations and gradients travel: float32, float16 or int8
    response_limit: float | None = None  # seconds after which a party's answer counts as zero; None waits

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        one_of(problems, "join", self.join, JOINS)
        one_of(problems, "codec", self.codec, PRECISIONS)
        if self.response_limit is not None:
            above(problems, "response_limit", self.response_limit, 0, "Use None to wait for every party.")

    def wire(self) -> Wire:
        """The wire between the parties."""
        return Wire(precision=self.codec)  # type: ignore[arg-type]

    def build_head(self, active: ActiveParty, received: Mapping[str, int]) -> None:
        """The head over representations of these widths."""
        active.build_head(received, how=self.join, hidden=list(self.head_hidden), seed=self.seed)

    def _assemble(self, data: VerticalData, progress: Progress = no_progress) -> Federation:
        fed = super()._assemble(data, progress)
        assert isinstance(fed.engine, InProcess)
        self._wait(fed.engine)
        return fed

    def _wait(self, engine: InProcess) -> None:
        """Set how long a party is waited for; a party that may be late answers for itself, not as one of a stack."""
        engine.response_limit = self.response_limit
        engine.stack = engine.stack and self.response_limit is None

    def _restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Tensor]]) -> None:
        super()._restore(saved, tensors)
        assert isinstance(self.federation_.engine, InProcess)
        self._wait(self.federation_.engine)

    def _train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        super()._train(data, validation, progress)
        assert isinstance(self.federation_.engine, InProcess)
        self.late_ = dict(self.federation_.engine.late)  # answers of each party that came too late and counted as zero

    def _check_data(self, data: VerticalData, validation: VerticalData | None) -> None:
        super()._check_data(data, validation)
        if not data.passive:
            raise DataError(f"{self.name} needs a passive party beside {data.active!r}. Add a view, or use local.")
