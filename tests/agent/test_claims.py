"""A claim: of all jobs that share it, only one runs its command, whichever start when and where."""

import errno
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from gas.agent.claims import KEPT, LOST, Claim
from gas.endpoints import JobDescription
from gas.endpoints.slurm.directives import Script
from gas.errors import BadInput
from gas.placeholders import literal

SCRIPT = "#!/bin/bash\n#SBATCH -n 4\n# what it does\n#SBATCH -t 10\n\necho ran >> out\n"
LATE = "gas: another job of this submission has started; nothing was run\n"


class Scheduler(NamedTuple):
    """A scheduler at an address, with what it is called there."""

    address: str
    its: str

    def identity(self):
        return self.its


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
    assert late.stdout == LATE


def test_a_job_that_is_requeued_runs_again(claim, tmp_path):
    words = claim.command("a", ("echo", "ran"))
    assert [run(words, tmp_path).stdout for _ in range(2)] == ["ran\n", "ran\n"]


def test_of_many_jobs_at_the_same_time_one_runs(claim, tmp_path):
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
    shutil.rmtree(claim.folder)
    done = run(words, tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be used on this machine; nothing was run" in done.stderr


@pytest.mark.parametrize("harm", ["no links", "no room"])
def test_a_claim_that_cannot_be_taken_is_no_success(claim, tmp_path, harm):
    """If no job can take the claim, exit status 0 would hide the failure."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "ln").write_text("#!/bin/sh\n" + ("exit 1\n" if harm == "no links" else ': > "$2"\n'))
    (programs / "ln").chmod(0o755)
    done = run(("env", f"PATH={programs}:{os.environ['PATH']}", *claim.command("a", ("echo", "ran"))), tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be used on this machine; nothing was run" in done.stderr
    assert claim.winner() is None


def test_the_environment_of_the_command_stays_as_it_is(claim, tmp_path):
    given = {"claim": "c", "job": "7", "mine": "m", "winner": "w", "PATH": "/nowhere"}
    words = claim.command("a", ("/bin/sh", "-c", "echo $claim $job $mine $winner $PATH"))
    done = run(("env", *(f"{name}={value}" for name, value in given.items()), *words), tmp_path)
    assert done.stdout == "c 7 m w /nowhere\n", done.stderr


def test_the_job_that_has_the_claim_runs_again_although_nothing_can_be_written(claim, tmp_path):
    words = claim.command("a", ("echo", "ran"))
    run(words, tmp_path)
    (tmp_path / "ln").write_text("#!/bin/sh\necho called\n")
    (tmp_path / "ln").chmod(0o755)
    assert run(("env", f"PATH={tmp_path}:{os.environ['PATH']}", *words), tmp_path).stdout == "ran\n"


def test_the_size_of_the_job_still_gets_into_its_command(claim, tmp_path):
    odd = Claim.of(tmp_path / "{gpus}", "key")
    odd.make()
    for one in (claim, odd):
        job = JobDescription("app", one.template("a", ("echo", "{processors}"))).sized(4, 60)
        assert job.command == one.command("a", ("echo", "4"))
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
    shutil.rmtree(claim.folder)
    assert run(["bash", "job.sh"], tmp_path).returncode == 1
    assert LOST not in (0, 1)


@pytest.mark.parametrize("first", ["#!/bin/bash -e", "#! /bin/sh -e", "#!/bin/bash -le", "#!/usr/bin/env -S bash -e"])
def test_a_script_that_comes_too_late_succeeds_also_if_its_shell_ends_at_errors(claim, tmp_path, first):
    for name in ("a", "b"):
        text = claim.script(name, Script.of(f"{first}\n\n# said\ncat <<'#'\nran\n#\n", "job.sh")).text
        (tmp_path / "job.sh").write_text(text)
        (tmp_path / "job.sh").chmod(0o755)
        done = run([str(tmp_path / "job.sh")], tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ("ran\n" if name == "a" else LATE)


@pytest.mark.parametrize("first", ["#!/usr/bin/python3", "#!/usr/bin/env python3", "#!"])
def test_a_script_of_another_language_is_refused(claim, first):
    with pytest.raises(BadInput, match="redundant requests need a script for a shell"):
        claim.script("a", Script.of(f"{first}\nprint(1)\n", "job.py"))


@pytest.mark.parametrize(
    ("changed", "stays"),
    [
        (lambda folder: None, False),
        (lambda folder: folder.rename(folder.with_suffix(".old")), False),  # a deletion that was interrupted
        (lambda folder: os.utime(folder / "winner"), True),
        (lambda folder: (folder / "thesis.tex").touch(), True),
        (lambda folder: folder.rename(folder.with_name("results")), True),
    ],
)
def test_only_claims_that_have_not_changed_for_a_year_are_deleted(claim, changed, stays):
    old = Claim.of(claim.folder.parent, "old")
    old.make()
    old.note({"longest": 60})
    old.note_sent(Scheduler("http://a", "a"))
    for name in ("winner", f"{Claim.name_of('a')}.host.12", "trial.1", ".submission.7.part"):
        (old.folder / name).touch()
    for path in (*old.folder.iterdir(), old.folder):
        os.utime(path, (0, time.time() - KEPT - 60))
    changed(old.folder)
    claim.delete_old()
    assert len(list(claim.folder.parent.iterdir())) == 1 + stays
    assert claim.exists()


def test_a_claim_is_deleted_at_once(claim, monkeypatch):
    """A job that found the folder without its winner would take the claim, and run the command again."""
    old, seen = Claim.of(claim.folder.parent, "old"), []
    old.make()
    os.utime(old.folder, (0, time.time() - KEPT - 60))
    monkeypatch.setattr(shutil, "rmtree", lambda path: seen.append((old.exists(), path.name)))
    claim.delete_old()
    assert seen == [(False, f"{old.folder.name}.old")]


def test_a_scheduler_keeps_the_target_that_its_job_has_although_its_table_changes(claim):
    """The identity of a slurmrestd includes the source of its token."""
    before, after = (Scheduler("http://ada:6820", f"http://ada:6820 ann {source}") for source in ("SLURM_JWT", "t.jwt"))
    other = Scheduler("http://north:6820", "north")
    assert claim.target_of(after) == after.its
    claim.note_sent(before)
    assert claim.target_of(after) == before.its
    assert claim.sent() == {Claim.name_of(before.its): "http://ada:6820"}
    assert claim.target_of(other) == "north"
    claim.note({"longest": 60, "endpoint": other.address, "target": "earlier"})
    assert claim.target_of(other) == "earlier"
    (claim.folder / f"sent-{Claim.name_of('torn')}").write_text("{")
    assert claim.sent()[Claim.name_of("torn")] == "another scheduler"


def test_facts_are_kept_and_torn_ones_are_nothing(claim):
    assert claim.noted() == {}
    claim.note({"longest": 3000})
    claim.note({"longest": 60})
    assert claim.noted() == {"longest": 60}
    (claim.folder / "submission").write_text('{"lon')
    assert claim.noted() == {}


def test_a_file_system_without_hard_links_is_refused(tmp_path, monkeypatch):
    def refuse(self, target):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(BadInput, match=r"cannot hold a claim .* give a folder with --shared"):
        Claim.of(tmp_path, "key").make()


def test_facts_that_cannot_be_written_are_reported(claim):
    (claim.folder / "submission").symlink_to("/dev/full")
    with pytest.raises(BadInput, match=r"\(No space left on device\); give another folder with --shared"):
        claim.note({"longest": 60})


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be created"):
        Claim.of(tmp_path / "file", "key").make()
