from prometheus_client.parser import text_string_to_metric_families

from gas.service.metrics import Metrics

PRESENT = {
    "processors": 10,
    "processors_in_use": 4,
    "jobs_queued": 3,
    "jobs_reserved": 0,
    "jobs_running": 1,
    "accepting": 1.0,
    "store_writable": 1.0,
    "promises_broken": 0,
    "clock_offset_seconds": 0.0,
    "predictions_settled": 25,
    "predictions_held": 23,
}


def samples(metrics):
    text = metrics.text(PRESENT).decode()
    return {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for f in text_string_to_metric_families(text)
        for s in f.samples
    }


def test_the_text_is_prometheus_and_carries_the_present():
    found = samples(Metrics())
    for name, value in PRESENT.items():
        assert found[f"gas_{name}", ()] == value


def test_waits_and_latencies_are_histograms():
    metrics = Metrics()
    metrics.wait.observe(100)
    metrics.scheduling.observe(0.002)
    found = samples(metrics)
    assert found["gas_wait_seconds_bucket", (("le", "60.0"),)] == 0
    assert found["gas_wait_seconds_bucket", (("le", "300.0"),)] == 1
    assert found["gas_scheduling_seconds_count", ()] == 1


def test_two_services_in_one_process_do_not_share_counters():
    first, second = Metrics(), Metrics()
    first.promises_kept.inc()
    assert samples(first)["gas_promises_kept_total", ()] == 1
    assert samples(second)["gas_promises_kept_total", ()] == 0
