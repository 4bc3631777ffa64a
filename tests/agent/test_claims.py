"""A claim: of all jobs that share it, only one runs its command, whichever start when and where."""

import subprocess
import threading

import pytest

from gas.agent.claims import LOST, Claim
from gas.endpoints import JobDescription
from gas.endpoints.slurm.directives import Script
from gas.errors import BadInput
from gas.placeholders import literal

SCRIPT = "#!/bin/bash\n#SBATCH -n 4\n# what it does\n#SBATCH -t 10\n\necho ran >> out\n"


@pytest.fixture
def claim(tmp_path):
    found = Claim.of(tmp_path / "shared", "key")
    found.make()
    return found


def run(words, folder):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_the_first_job_runs_its_command_and_the_second_nothing(claim, tmp_path):
    first, second = (claim.command(name, ("sh", "-c", f"echo {name} $0; exit 3", "x y")) for name in ("a", "b"))
    assert claim.winner() is None
    done = run(first, tmp_path)
    assert (done.returncode, done.stdout) == (3, "a x y\n")
    assert claim.winner() == Claim.name_of("a")
    late = run(second, tmp_path)
    assert late.returncode == 0
    assert late.stdout == f"gas: job {Claim.name_of('a')} has started; nothing was run\n"


def test_a_job_that_is_requeued_runs_again(claim, tmp_path):
    words = claim.command("a", ("echo", "ran"))
    assert [run(words, tmp_path).stdout for _ in range(2)] == ["ran\n", "ran\n"]


def test_of_many_at_the_same_time_one_runs(claim, tmp_path):
    outputs = []
    both = threading.Barrier(8)

    def start(name):
        both.wait()
        outputs.append(run(claim.command(name, ("echo", "ran")), tmp_path).stdout)

    threads = [threading.Thread(target=start, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs.count("ran\n") == 1
    assert sum("nothing was run" in output for output in outputs) == 7
    assert [path.name for path in claim.folder.iterdir()] == ["winner"]


def test_where_the_folder_is_not_seen_nothing_runs(claim, tmp_path):
    words = claim.command("a", ("echo", "ran"))
    claim.remove()
    done = run(words, tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be written on this machine; nothing was run" in done.stderr


def test_the_size_of_the_job_still_gets_into_its_command(claim, tmp_path):
    odd = Claim.of(tmp_path / "{gpus}", "key")
    odd.make()
    for one in (claim, odd):
        job = JobDescription("app", one.command("a", ("echo", "{processors}"))).sized(4, 60)
        assert run(job.command, tmp_path).stdout == "4\n"
    assert literal("{gpus} ${HOME} {a b}") == "{{gpus}} ${HOME} {a b}"


def test_a_job_script_takes_the_claim_after_its_options(claim, tmp_path):
    names = ("a", "b", "a")
    for name in names:
        script = claim.script(name, Script.of(SCRIPT, "job.sh"))
        assert Script.of(script.text, "job.sh").directives == Script.of(SCRIPT, "job.sh").directives
        (tmp_path / "job.sh").write_text(script.text)
        assert run(["bash", "job.sh"], tmp_path).returncode == 0
    assert (tmp_path / "out").read_text() == "ran\nran\n"  # the requeued one too
    claim.remove()
    assert run(["bash", "job.sh"], tmp_path).returncode == 1
    assert LOST not in (0, 1)


@pytest.mark.parametrize("first", ["#!/usr/bin/python3", "#!/usr/bin/env python3", "#!"])
def test_a_script_of_another_language_is_refused(claim, first):
    with pytest.raises(BadInput, match="redundant requests need a script for a shell"):
        claim.script("a", Script.of(f"{first}\nprint(1)\n", "job.py"))


def test_facts_are_kept_and_torn_ones_are_nothing(claim):
    assert claim.noted() == {}
    claim.note({"longest": 3000})
    claim.note({"longest": 60})
    assert claim.noted() == {"longest": 60}
    (claim.folder / "submission").write_text('{"lon')
    assert claim.noted() == {}


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be created"):
        Claim.of(tmp_path / "file", "key").make()
