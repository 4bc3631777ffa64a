"""The counters and measurements of the service, in the format of Prometheus (``GET /metrics``).

Only sums and distributions: no user, job or command can be identified.
"""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["Metrics"]

_WAITS = (1, 10, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400)
_LATENCIES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """The metrics of one service, counted from its start."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._gauges = {
            name: Gauge(f"gas_{name}", text, registry=registry)
            for name, text in {
                "processors": "Size of the machine",
                "processors_in_use": "Processors held by jobs and reservations",
                "jobs_queued": "Jobs that wait",
                "jobs_reserved": "Reservations that have not begun",
                "jobs_running": "Running jobs and active reservations",
                "accepting": "1 if new jobs are accepted, 0 while the scheduler is drained",
                "store_writable": "1 if the latest write of the store succeeded",
                "promises_broken": "Promises broken since the store was created",
                "clock_offset_seconds": "Scheduler's clock minus the machine's, in seconds",
                "predictions_settled": "Predicted jobs that have started, of the last 400",
                "predictions_held": "Of these, those that started in their 90% interval",
            }.items()
        }
        self.submitted = Counter("gas_submissions", "Accepted jobs and reservations", ["kind"], registry=registry)
        self.reshaped = Counter("gas_reshapes", "Reshaped waiting jobs", registry=registry)
        self.refused = Counter(
            "gas_refusals", "Refused submissions and reshapes, by kind of error", ["error"], registry=registry
        )
        self.ended = Counter("gas_jobs_ended", "Jobs that have left the schedule", ["state"], registry=registry)
        self.promises_kept = Counter(
            "gas_promises_kept", "Jobs that started no later than they were first promised", registry=registry
        )
        self.paused = Counter(
            "gas_paused_seconds",
            "Time during which the service did not run: stopped, suspended or starved",
            registry=registry,
        )
        self.wait = Histogram(
            "gas_wait_seconds", "From a job's submission to its start, on the scheduler's clock",
            buckets=_WAITS, registry=registry,
        )  # fmt: skip
        self.scheduling = Histogram(
            "gas_scheduling_seconds", "Deciding on a submission and making it durable", buckets=_LATENCIES,
            registry=registry,
        )  # fmt: skip
        self.start_delay = Histogram(
            "gas_start_delay_seconds", "From a job's planned start to the start of its process", buckets=_LATENCIES,
            registry=registry,
        )  # fmt: skip
        self.prediction = Histogram(
            "gas_prediction_seconds", "Predicting the starts of all waiting jobs", buckets=_LATENCIES,
            registry=registry,
        )  # fmt: skip
        self.requests = Histogram(
            "gas_http_request_seconds", "Answering a request", ["method", "route", "status"], buckets=_LATENCIES,
            registry=registry,
        )  # fmt: skip

    def text(self, present: Mapping[str, float]) -> bytes:
        """Return all metrics as text, with these values of the gauges (named without ``gas_``)."""
        for name, gauge in self._gauges.items():
            gauge.set(present[name])
        return generate_latest(self.registry)
