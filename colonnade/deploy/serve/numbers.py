"""The numbers of /metrics, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from colonnade.deploy.serve.predictor import Prediction, Predictor

MEANINGS = {
    "cache_hits_total": "Representations found in the cache",
    "cache_misses_total": "Representations not found in the cache",
    "cache_hit_rate": "Share of representations found in the cache, since the start",
    "cache_rows": "Representations in the cache",
    "wire_bytes_total": "Bytes of messages between the parties",
    "wire_messages_total": "Messages between the parties",
}


class _Statistics(Collector):
    """The predictor's own numbers, read when they are asked for."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor

    def collect(self) -> Iterator[Metric]:
        """One family for each number."""
        for name, value in self.predictor.statistics().items():
            meaning = MEANINGS.get(name, name.replace("_", " "))
            if name.endswith("_total"):
                yield CounterMetricFamily(f"colonnade_{name.removesuffix('_total')}", meaning, value=value)
            else:
                yield GaugeMetricFamily(f"colonnade_{name}", meaning, value=value)
        yield GaugeMetricFamily(
            "colonnade_unreachable_parties",
            "Parties that do not answer at present",
            value=len(self.predictor.unreachable()),
        )


class Numbers:
    """Counts of one service."""

    def __init__(self, predictor: Predictor) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_Statistics(predictor))
        self.seconds = Histogram(
            "colonnade_predict_seconds", "Duration of a prediction, whatever its ids", registry=self.registry
        )
        self.ids = Counter("colonnade_ids", "Ids asked for", registry=self.registry)
        self.unknown = Counter("colonnade_unknown_ids", "Ids that no party holds", registry=self.registry)
        self.absent = Counter(
            "colonnade_absent_rows", "Rows answered without a party", ["party"], registry=self.registry
        )

    def count(self, ids: int, prediction: Prediction) -> None:
        """One answered request."""
        self.ids.inc(ids)
        self.unknown.inc(len(prediction.unknown))
        for party, rows in prediction.absent.items():
            self.absent.labels(party).inc(rows)

    def text(self) -> bytes:
        """All numbers."""
        return generate_latest(self.registry)
