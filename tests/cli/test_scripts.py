"""A Slurm job script is planned and submitted unchanged; here with programs that answer like Slurm's."""

import io
import sys
from pathlib import Path

import pytest
from fake_slurm import FakeSlurm

from gas.endpoints.slurm import endpoint as slurm_endpoint
from gas.endpoints.slurm.choices import Choice

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=ocean -n 4 -c 2 --mem-per-cpu=10M
#SBATCH --time=1:00:00
srun ./ocean
"""
WORDS = ("--sizes", "4,8,16", "--time", "4h,130m,80m")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Return a Slurm whose commands are in PATH, in a folder without any configuration."""
    slurm = FakeSlurm(tmp_path / "bin")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", f"{slurm.folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nothing"))
    monkeypatch.delenv("GAS_CONFIG", raising=False)
    monkeypatch.setattr(slurm_endpoint, "SETTLING_SECONDS", 0.1)
    (here / "job.sh").write_text(SCRIPT)
    return slurm


def test_without_a_configuration_the_partitions_of_the_slurm_that_is_here_are_asked_once(fake, gas):
    found = gas("plan", "--script", "job.sh", *WORDS, "--stale-ok")
    assert found.code == 0, found.err
    assert "ocean: " in found.out
    assert "gastest-main" in found.out
    assert '"processors" counts tasks of 2 CPUs (job.sh)' in found.out
    assert "submit it: gas submit --script job.sh --sizes 4,8,16 --time 4h,130m,80m --stale-ok\n" in found.out
    assert "or by hand: sbatch --parsable --job-name=ocean --time=" in found.out
    calls = fake.lines("calls")
    assert sum(line.startswith("squeue") for line in calls) == 1


def test_the_line_to_submit_by_hand_has_the_earliest_start(fake, gas):
    at = 4_000_000_000
    words = ("plan", "--script", "job.sh", *WORDS, "--stale-ok", "--not-before")
    assert f" --begin=uts{at} " in gas(*words, f"@{at}").out
    assert f" --begin=uts{at} " in gas(*words, f"@{at}", "--as", "sbatch").out
    assert " --begin=" not in gas(*words, "@1").out


def test_the_script_is_submitted_as_it_is_and_followed_by_the_name_that_was_shown(fake, gas):
    fake.does("sbatch", f'cat > "{fake.folder}/script"')
    found = gas("submit", "job.sh", *WORDS, "--stale-ok", "--json")
    assert found.code == 0, found.err
    assert (fake.folder / "script").read_text() == SCRIPT
    assert found.json["scheduler"].startswith("gastest-")
    again = gas("status", str(found.json["job"]["id"]), "-e", found.json["scheduler"])
    assert again.code == 0, again.err


def test_of_several_partitions_in_a_script_it_is_said_that_slurm_chooses(fake, gas):
    """The plan is under the name of the first one's endpoint, and the job may run in the other."""
    Path("job.sh").write_text(SCRIPT.replace("#SBATCH --time", "#SBATCH -p main,debug --time"))
    words = "job.sh: names partitions main,debug: Slurm starts the job in the one that can start it first"
    assert words in " ".join(gas("plan", "job.sh", *WORDS, "--stale-ok").err.split())
    Path("job.sh").write_text(SCRIPT.replace("#SBATCH --time", "#SBATCH -p main --time"))
    assert "names partitions" not in gas("plan", "job.sh", *WORDS, "--stale-ok").err


def test_a_waiting_script_is_offered_to_be_watched_with_its_sizes(fake, gas):
    shown = gas("submit", "job.sh", *WORDS, "--stale-ok", "--not-before", "+3h").out
    assert f" job.sh {' '.join(WORDS)}\n" in shown.partition("finish sooner: gas watch ")[2]


def test_bytes_that_are_not_utf_8_reach_sbatch_as_they_are(fake, gas):
    fake.does("sbatch", f'cat > "{fake.folder}/script"')
    latin = SCRIPT.replace("./ocean", "./mod\xe8le  # Stra\xdfe").encode("latin-1")
    Path("job.sh").write_bytes(latin)
    assert gas("submit", "job.sh", *WORDS, "--stale-ok").code == 0
    assert (fake.folder / "script").read_bytes() == latin


def test_a_script_may_come_on_standard_input(fake, gas, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"#!/bin/sh\n#SBATCH -n 4 -t 60\n")))
    found = gas("plan", "--script", "-", "--stale-ok", "--json")
    assert found.code == 0, found.err
    assert {(c["processors"], c["walltime"]) for c in found.json["candidates"]} == {(4, 3600)}
    assert gas("plan", "-", "--script", "-").err == "gas: --script -: standard input can be read only once\n"


def test_options_that_sbatch_does_not_know_are_refused_and_those_of_plugins_are_not(fake, gas):
    fake.does("sbatch", '[ "$1" = --help ] && echo "      --container-image=IMAGE  [pyxis] the image" && exit')
    Path("job.sh").write_text("#!/bin/sh\n#SBATCH -n 4 -t 60\n#SBATCH --container-image=ubuntu\n")
    found = gas("plan", "job.sh", "--stale-ok")
    assert found.code == 0, found.err
    assert "--container-image: ignored" in found.out + found.err
    Path("job.sh").write_text("#!/bin/sh\n#SBATCH -n 4 -t 60\n#SBATCH --optoin=3\n")
    found = gas("plan", "job.sh", "--stale-ok")
    assert found.code == 2
    assert "job.sh, line 3: --optoin is not an option of sbatch here; the nearest is --" in found.err


def test_its_own_size_and_time_will_do(fake, gas):
    found = gas("plan", "job.sh", "--json", "--stale-ok")
    assert {(c["processors"], c["walltime"], c["execution_time"]) for c in found.json["candidates"]} == {
        (4, 3600, 3600)
    }


def test_the_time_limit_of_the_script_is_said_to_be_taken_for_another_size(fake, gas):
    taken = (
        "gas: job.sh: its time limit, 1h00m for 4 tasks of 2 CPUs, is also taken for 2; give another one with --time"
    )
    assert taken in gas("plan", "job.sh", "--sizes", "2", "--stale-ok").err.splitlines()
    assert "is also taken" not in gas("plan", "job.sh", "--sizes", "4", "--stale-ok").err
    assert "is also taken" not in gas("plan", "job.sh", "--sizes", "2", "--time", "2h", "--stale-ok").err


def test_sizes_at_which_a_script_cannot_run_are_named(fake, gas):
    words = ("plan", "job.sh", "--sizes", "4,8,999999", "--time", "4h,2h,1h", "--stale-ok")
    assert "\n1 size is impossible (--all): 999999\n" in gas(*words).out
    assert "is impossible (--all)" not in gas(*words, "--explain").out
    assert "impossible" not in gas("plan", "job.sh", *WORDS, "--stale-ok").out


def test_an_application_file_may_say_the_sizes(fake, gas, tmp_path):
    app = tmp_path / "app.toml"
    app.write_text('name = "sea"\n[speedup]\nmodel = "table"\ntimes = { 2 = 600, 4 = 300 }\n')
    found = gas("plan", str(app), "--script", "job.sh", "--json", "--stale-ok")
    assert {c["processors"] for c in found.json["candidates"]} == {2, 4}


def test_the_options_of_a_script_that_is_run_as_a_command_count_and_its_size_gives_way(fake, gas, tmp_path):
    (tmp_path / "here" / "job.sh").chmod(0o755)
    app = tmp_path / "app.toml"
    app.write_text('name = "sea"\n[speedup]\nmodel = "table"\ntimes = { 8 = 600 }\n')
    words = ("submit", str(app), "-e", "gastest-main", "--stale-ok", "--dry-run", "--", "./job.sh")
    found = gas(*words)
    assert found.code == 0, found.err
    assert "--ntasks=4 " in found.out  # of 2 CPUs
    assert " --cpus-per-task=2 --mem-per-cpu=10M <<" in found.out
    told = "./job.sh: --job-name=ocean, --ntasks=4, --time=1:00:00 are replaced by the choice of Gas"
    assert told in found.err
    assert told in gas(*(word for word in words if word != "--dry-run")).err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--script", "none.sh"), "none.sh: cannot be read"),
        (("job.sh", "--sizes", "1,2", "--time", "8h"), "--sizes has 2 and --time has 1 values"),
        (("job.sh", "--sizes", "1,2"), "give a walltime for each size"),
        (("job.sh", "--sizes", "0"), "must be integers from 1"),
        (("job.sh", "--sizes", "4,4", "--time", "1h,2h"), "contains a size twice"),
        (("job.sh", "--time", "1:30"), "could mean 1h30m or 1m30s"),
        (("--sizes", "4"), "belongs to a job script"),
        ((), "what should run?"),
    ],
)
def test_what_cannot_be_used_is_said(fake, gas, words, problem):
    found = gas("plan", *words)
    assert found.code == 2
    assert problem in found.err


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("#SBATCH --wait", "job.sh, line 2: --wait cannot be used"),
        ("#SBATCH --mem=lots", "is not an amount of memory"),
        ("#SBATCH -N", "job.sh, line 2: -N needs a value"),
        ("#SBATCH -p nowhere", "names nowhere"),
        ("", "has no time limit (#SBATCH --time)"),
    ],
)
def test_what_is_wrong_in_the_script_is_said_with_its_line(fake, gas, tmp_path, line, problem):
    time = "" if not line else "\n#SBATCH -t 5"
    (tmp_path / "here" / "job.sh").write_text(f"#!/bin/sh\n{line}{time}\n")
    found = gas("submit", "--script", "job.sh", "--stale-ok")
    assert found.code in (2, 3)
    assert problem in found.err
    assert fake.lines("submitted") == []


@pytest.mark.parametrize("words", [("--env", "A=b"), ("--simulate",), ("--", "./other")])
def test_nothing_else_is_run_besides_the_script(fake, gas, words):
    found = gas("submit", "job.sh", *words) if "--" not in words else gas("submit", "--script", "job.sh", *words)
    assert found.code == 2


def test_accounts_and_qos_are_candidates_of_their_own(fake, gas, monkeypatch):
    monkeypatch.setattr(slurm_endpoint, "choices", lambda *_, **__: [Choice(), Choice(qos="high")])
    found = gas("plan", "job.sh", "--json", "--stale-ok", "-e", "gastest-main")
    assert {c["scheduler"] for c in found.json["candidates"]} == {"gastest-main", "gastest-main+qos=high"}
    assert found.json["best"]["scheduler"] == "gastest-main"  # of equal ones, the default of a job
    made = gas("submit", "job.sh", "--stale-ok", "-e", "gastest-main")
    assert "follow it: gas wait 100 -e gastest-main\n" in made.out


def test_a_scheduler_that_takes_no_slurm_scripts_is_left_out_with_a_word(fake, gas, tmp_path):
    config = tmp_path / "gas.toml"
    config.write_text('[endpoints.s3]\ntype = "s3"\nurl = "http://127.0.0.1:9"\n')
    found = gas("plan", "job.sh", "--config", str(config))
    assert found.code == 2
    assert "s3: accepts no Slurm job scripts (job.sh)" in found.err
