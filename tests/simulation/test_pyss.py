"""With events in order, the schedules equal those of pyss, the simulator of Feitelson's group, start by start."""

import hashlib

import pytest
from pyss_logs import PYSS_LOGS, canonical, published_starts

from gas.simulation.simulate import simulate
from workloads import read_swf, rigid_jobs

# The sha256 of the starts that pyss gives the whole KTH log: lines "id start" in the order of the ids.
KTH = {
    "easy": "230bdd64fc0c558b572a366d61f89d3d9de3a4efb9ec88c80c9ce71adaa194fc",
    "conservative": "3bca948dd3c713c7085c644e10fdaf1876fedf68ac23eb6bc023b0f44834258c",
}


def starts(path, policy, processors=None, machine_code=True):
    """Return the starts by the simulator of the jobs of a file, by their ids."""
    jobs = rigid_jobs(read_swf(path), processors)
    schedule = simulate(jobs, policy, order="event", machine_code=machine_code)
    return dict(zip(jobs.id.tolist(), schedule.start.tolist(), strict=True))


@pytest.mark.parametrize("policy", ["easy", "conservative"])
@pytest.mark.parametrize("name", PYSS_LOGS)
def test_jobs_of_small_logs_start_when_pyss_starts_them(pyss, name, policy):
    assert starts(pyss / f"{name}.swf", policy) == published_starts(pyss / f"{name}.csv", policy)


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_all_jobs_of_the_kth_log_start_when_pyss_starts_them(traces, tmp_path, policy):
    machine, ids, rows = canonical(traces / "KTH-SP2-1996-2.1-cln.swf.gz", machine=100)
    assert len(rows) == 28_467
    lines = [
        f"{id} {submit} -1 {run_time} {processors} -1 -1 {processors} {estimate} -1 1 -1 -1 -1 -1 -1 -1 -1\n"
        for id, (submit, processors, estimate, run_time) in zip(ids, rows, strict=True)
    ]
    path = tmp_path / "kth.swf"
    path.write_text(f"; Version: 2.2\n; MaxProcs: {machine}\n" + "".join(lines))
    by_id = sorted(starts(path, policy).items())
    text = "\n".join(f"{id} {start}" for id, start in by_id)
    assert hashlib.sha256(text.encode()).hexdigest() == KTH[policy]
