"""The properties that the logs of all generators share."""

from dataclasses import dataclass

import numpy as np
import pytest

from workloads import offered_load, parse_swf, rigid_jobs
from workloads.generated import check_request, constants_text, generated_log
from workloads.swf import format_swf


def made(load=None, **more):
    return generated_log(
        "toy",
        submit=np.array([0.4, 10.6, 99.9]),
        sizes=np.array([1, 2, 3]),
        run_times=np.array([10.0, 20.0, 30.0]),
        machine=4,
        load=load,
        computer="Toy model",
        thanks=["Ann", "Bob"],
        notes=["constants"],
        **more,
    )


def test_the_log_is_complete_and_its_header_true():
    log = made(entries=[("MaxQueues", 1)], columns={"queue": np.array([1, 1, 0])})
    assert log.submit.tolist() == [0, 10, 99]
    assert log.requested_processors.tolist() == log.allocated_processors.tolist() == [1, 2, 3]
    assert log.queue.tolist() == [1, 1, 0]
    header = log.header
    assert (header.computer, header.max_jobs, header.max_records, header.max_procs) == ("Toy model", 3, 3, 4)
    assert (header.unix_start_time, header.time_zone_string, header.integer("MaxQueues")) == (0, "UTC", 1)
    assert header.acknowledgements == ("Ann", "Bob")
    assert header.notes == ("made by a model; load as the model gives it", "constants")
    assert log.name == "toy"


def test_it_reads_back_as_it_was_without_a_warning():
    log = made()
    again = parse_swf(format_swf(log))
    assert again.warnings == ()
    assert again.header == log.header
    assert all((column == again.columns()[name]).all() for name, column in log.columns().items())


def test_a_load_is_reached_and_the_header_says_so():
    log = made(load=0.01)
    assert offered_load(rigid_jobs(log)) == pytest.approx(0.01, rel=1e-3)
    assert "scaled to 0.01" in log.header.notes[0]


@pytest.mark.parametrize(("jobs", "processors", "said"), [(0, 5, "0 jobs"), (-2, 5, "-2 jobs"), (1, 0, "0 processors")])
def test_no_jobs_and_no_machine_are_refused(jobs, processors, said):
    with pytest.raises(ValueError, match=said):
        check_request(jobs, processors)


def test_constants_are_told_in_one_line():
    @dataclass
    class Constants:
        order: float = 1.5
        most: int = 1000
        unit: float = 1800.0

    assert constants_text(Constants()) == "order 1.5, most 1000, unit 1800"
    with pytest.raises(TypeError, match="5 has no fields"):
        constants_text(5)
