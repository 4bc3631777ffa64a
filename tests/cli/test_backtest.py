"""`gas backtest`: the accuracy that predictions would have had on a recorded log."""

import csv
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
import typer
from dask_cluster import dask_cluster
from made_accounting import made_sacct
from made_up import busy_log
from typer.testing import CliRunner

import gas.prediction.savings
from gas.cli.backtest import backtest_command
from gas.cli.log_files import files_for
from gas.cli.logs import read_log
from gas.cli.partial_file import partial_file
from gas.errors import BadInput, GasError
from gas.prediction.backtest import backtest, simulated_part
from gas.prediction.recorded import RecordedQueue
from workloads import LogError, write_swf


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(backtest_command)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def log(tmp_path):
    made = busy_log(200, 64, seed=2)
    write_swf(made.with_columns(wait=np.arange(200) % 5 * 300), tmp_path / "made.swf")
    return tmp_path / "made.swf"


def test_the_first_lines_say_how_good_it_is_for_whom_it_is_not_and_what_was_cut(run, log, tmp_path):
    result = run(log, "--jobs", "60", "--samples", "5", "--report", tmp_path / "report.html")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert re.fullmatch(
        r"[0-9]+ ± [0-9]+% of 60 recorded starts were inside their 90% intervals; half of the intervals are wider than "
        r"[0-9dhms]+\.",
        lines[0],
    )
    assert lines[1].startswith("The median error is ")
    assert "Gas predicted 60 of 1" in result.stdout
    for words in ("Gas", "whole walltimes used", "last similar jobs", "recorded wait"):
        assert words in result.stdout
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == 0
    assert page.count("data:image/svg+xml") == 3
    for sentence in lines[:3]:
        assert sentence in page


def test_json_has_the_figures_and_the_csv_each_prediction(run, log, tmp_path):
    result = run(log, "--all", "--samples", "2", "--json", "-o", tmp_path / "each.csv")
    document = json.loads(result.stdout)
    assert document["schema"] == "gas.backtest/1"
    assert sum(part["scores"]["median"]["jobs"] for part in document["waits"]) == document["predicted"]
    assert document["predicted"] == document["possible"] < document["jobs"] == 200
    assert document["classes"][0]["jobs"] == document["predicted"]
    certain = document["one_instant"]
    share = certain["jobs"] / document["predicted"]
    assert 0 < share < 1
    parts = share * certain["inside"] + (1 - share) * certain["inside_of_others"]
    assert parts == pytest.approx(document["inside"])
    with (tmp_path / "each.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == document["predicted"]
    assert sum(row["inside"] == "1" for row in rows) == round(document["inside"] * len(rows))


def test_the_same_log_and_seed_give_the_same_bytes(run, log):
    once, again = (run(log, "--jobs", "20", "--samples", "3", "--json").stdout for _ in range(2))
    assert once == again


def test_an_interrupted_backtest_goes_on_where_it_was_and_says_the_same(run, log):
    whole = run(log, "--jobs", "40", "--samples", "3", "--json")
    recorded = RecordedQueue(read_log(str(log)))
    places = recorded.places(40)
    kept = partial_file(recorded, places, pytest.fail, samples=3, seed=0)
    begun = backtest(recorded, places, samples=3, kept=kept)
    for _ in range(15):
        next(begun)
    begun.close()
    kept.close(done=False)
    goes_on = run(log, "--jobs", "40", "--samples", "3", "--json")
    assert goes_on.stdout == whole.stdout
    assert "15 of 40 submissions were simulated before an interruption; continuing" in goes_on.stderr
    assert not kept.path.exists()
    assert "continuing" not in run(log, "--jobs", "40", "--samples", "3", "--json").stderr


@pytest.mark.thorough
@pytest.mark.thorough
def test_workers_of_dask_say_the_same(run, log, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    words = (log, "--jobs", "60", "--samples", "5")
    here = run(*words, "-o", tmp_path / "here.csv")
    with dask_cluster(tmp_path) as cluster:
        there = run(*words, "-o", tmp_path / "there.csv", "--dask", cluster.address)
    assert (there.exit_code, there.stdout) == (0, here.stdout), there.output
    assert (tmp_path / "there.csv").read_text() == (tmp_path / "here.csv").read_text()


def test_what_was_simulated_before_an_interruption_is_not_simulated_elsewhere_again(log):
    recorded = RecordedQueue(read_log(str(log)), 64)
    places = recorded.places(60)
    kept, asked = {}, []
    here = list(backtest(recorded, places, samples=3, kept=kept))

    def elsewhere(parts):
        asked.extend(place for part in parts for place in part)
        return [simulated_part(recorded, part, 3, 0) for part in parts]

    some = {place: kept[place] for place in places.tolist() if place % 3 == 0}
    assert list(backtest(recorded, places, samples=3, kept=some, elsewhere=elsewhere)) == here
    assert asked == [place for place in places.tolist() if place % 3]


@pytest.mark.process
def test_an_address_without_a_scheduler_is_named(run, log):
    result = run(log, "--jobs", "60", "--dask", "tcp://127.0.0.1:9")
    assert isinstance(result.exception, BadInput)
    assert "--dask tcp://127.0.0.1:9: no scheduler answers there" in str(result.exception)


def test_what_cannot_be_written_costs_no_predictions(run, log, tmp_path):
    asked = (log, "--jobs", "20", "--samples", "3", "--json")
    failed = run(*asked, "--output", tmp_path)
    assert failed.exit_code != 0
    assert "20 of 20 submissions are simulated; repeat the command to continue" in failed.stderr
    assert "20 of 20 submissions were simulated before an interruption; continuing" in run(*asked).stderr


def test_what_was_simulated_by_other_sources_is_not_gone_on_with(log, monkeypatch):
    recorded = RecordedQueue(read_log(str(log)))
    before = partial_file(recorded, recorded.places(40), pytest.fail, samples=3)
    monkeypatch.setattr("gas.cli.partial_file._sources", lambda: "others")
    assert partial_file(recorded, recorded.places(40), pytest.fail, samples=3).path != before.path


def test_a_log_whose_jobs_do_not_fit_the_machine_is_refused(run, tmp_path):
    lines = [f"{i} {1000 * i} 0 10 2 -1 -1 2 100 -1 1 1 1 1 1 -1 -1 -1\n" for i in range(1, 31)]
    (tmp_path / "large.swf").write_text("; MaxProcs: 8\n" + "".join(lines))
    refused = run(tmp_path / "large.swf", "-p", "1")
    assert isinstance(refused.exception, BadInput)
    assert "of 0 usable jobs" in str(refused.exception)


def test_what_cannot_be_backtested_is_refused(run, log, tmp_path):
    write_swf(busy_log(30, 64, seed=2), tmp_path / "simulated.swf")  # without waits
    refused = run(tmp_path / "simulated.swf")
    assert isinstance(refused.exception, BadInput)
    assert "no job has a wait and a run time" in str(refused.exception)
    assert run(log, "--all", "--jobs", "3").exit_code == 2
    assert "must end in .png" in str(run(log, "--plot", tmp_path / "x.gif").exception)


def test_what_sacct_printed_is_backtested_partition_by_partition(run, tmp_path):
    (tmp_path / "sacct.txt").write_text(made_sacct(400, seed=3))
    result = run(tmp_path / "sacct.txt", "--processors", 3200, "--jobs", 80, "--samples", 2, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["predicted"] == 80
    partitions = {one["name"]: one["jobs"] for one in document["classes"] if one["by"] == "partition"}
    assert partitions.keys() <= {"batch", "long", "gpu", "debug"}
    assert sum(partitions.values()) == 80


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [], "is empty"),
        (lambda lines: lines[:1], "no job that ran"),
        (lambda lines: lines[:15], "a prediction needs 20 ended jobs"),
        (lambda lines: [lines[0], *(line for line in lines if "CANCELLED" in line)], "no job that ran; .* not started"),
        (lambda lines: [line.split("|", 1)[1] for line in lines], "without its header line"),
        (lambda lines: [line.replace("|Start|", "|Begin|") for line in lines], "its header has no Start; add it"),
        (lambda lines: [line.replace("|Timelimit|", "|Limit|") for line in lines], "its header has no Timelimit"),
        (lambda lines: ["What is this?", "No log."], "a log is a file in the Standard Workload Format"),
    ],
)
def test_what_is_no_history_is_refused_with_what_is_missing(run, tmp_path, change, message):
    (tmp_path / "sacct.txt").write_text("".join(f"{line}\n" for line in change(made_sacct(100, seed=3).splitlines())))
    refused = run(tmp_path / "sacct.txt", "--processors", 3200)
    assert isinstance(refused.exception, (GasError, LogError))
    assert re.search(message, str(refused.exception))


@pytest.mark.thorough
def test_jobs_without_limits_and_with_enormous_ones_are_predicted_too(run, tmp_path):
    lines = made_sacct(300, seed=3).splitlines()
    at = lines[0].split("|").index("Timelimit")
    for i in range(1, len(lines)):
        cells = lines[i].split("|")
        cells[at] = {0: "UNLIMITED", 1: "2982616-04:11:00"}.get(i % 10, cells[at])  # the maximum of Slurm 22.05
        lines[i] = "|".join(cells)
    (tmp_path / "sacct.txt").write_text("\n".join(lines) + "\n")
    result = run(tmp_path / "sacct.txt", "--processors", 3200, "--all", "--samples", 2, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    ran = [line for line in lines if "|UNLIMITED|" in line and "CANCELLED" not in line]
    assert document["without_walltime"] == len(ran) > 20
    assert document["jobs"] == 300
    assert f"{len(ran)} jobs without walltime: taken as 365d." in document["in_words"]


def test_jobs_that_clocks_put_into_disorder_are_counted_and_the_rest_is_backtested(run, tmp_path):
    lines = made_sacct(200, seed=3).splitlines()
    at = lines[0].split("|").index("Start")
    for i in range(1, len(lines), 5):
        cells = lines[i].split("|")
        cells[at] = "1600000000"  # years before it was submitted
        lines[i] = "|".join(cells)
    (tmp_path / "sacct.txt").write_text("\n".join(lines) + "\n")
    result = run(tmp_path / "sacct.txt", "--processors", 3200, "--jobs", 20, "--samples", 2)
    assert result.exit_code == 0, result.output
    assert "40 malformed lines left out: ended before its Submit" in result.stderr
    assert "20 recorded starts" in result.stdout


# ---------------------------------------------------------------------------------------------------------- folders


@pytest.fixture
def folder(log, tmp_path):
    """Typical logs, good and bad, and files that are not logs."""
    there = tmp_path / "logs"
    (there / "deeper").mkdir(parents=True)
    text = log.read_text()
    lines = [line for line in text.splitlines() if not line.startswith(";")]
    (there / "a.swf").write_text(text)
    (there / "deeper" / "packed.swf.gz").write_bytes(gzip.compress(text.encode()))
    broken = "".join(f"{line[: len(line) // 2] if i % 9 == 0 else line}\n" for i, line in enumerate(lines[:60]))
    (there / "headless").write_text(broken)
    (there / "history.txt").write_text(made_sacct(120, seed=3))
    (there / "cut.swf.gz").write_bytes(gzip.compress(text.encode())[:300])
    (there / "empty.swf").touch()
    (there / "README.md").write_text("# Logs\n\n1 2 3\n")
    (there / "notes.txt").touch()
    (there / "picture.png").write_bytes(b"\x89PNG\r\n\0\0")
    (there / ".hidden.swf").touch()
    return there


def test_a_folder_is_backtested_log_by_log_and_what_was_skipped_is_named(run, folder):
    result = run(folder, "--jobs", 20, "--samples", 2)
    assert result.exit_code == 2, result.output  # two of its logs are unusable
    table, _, skipped = result.stdout.partition("skipped: ")
    rows = [line.split()[0] for line in table.splitlines()[-4:]]
    assert rows == ["a.swf", "packed.swf.gz", "headless", "history.txt"]
    assert "cut.swf.gz: the gzip file ends too early" in skipped
    assert "empty.swf: is empty; a log has one line a job" in skipped
    others = [line.split(": ")[1] for line in skipped.splitlines() if line.startswith("no log: ")]
    assert [Path(one).name for one in others] == ["README.md", "notes.txt", "picture.png"]
    assert "has no machine size; Gas assumes" in result.stderr


@pytest.mark.thorough
def test_each_log_of_a_folder_has_a_report_of_its_own(run, folder, tmp_path):
    (folder / "a.swf").unlink()
    (folder / "history.txt").unlink()
    run(folder, "--jobs", 20, "--samples", 2, "--report", tmp_path / "{trace}.html")
    assert {path.stem for path in tmp_path.glob("*.html")} == {"packed", "headless"}


@pytest.mark.thorough
def test_only_other_files_in_a_folder_are_no_failure_and_json_is_one_object(run, folder):
    for name in ("cut.swf.gz", "empty.swf"):
        (folder / name).unlink()
    result = run(folder, "--jobs", 20, "--samples", 2, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [one["log"] for one in document["logs"]] == ["a.swf", "packed.swf.gz", "headless", "history.txt"]
    assert (document["failed"], len(document["passed_over"])) == ([], 3)


@pytest.mark.thorough
def test_of_several_logs_none_takes_the_others_with_it_and_what_was_simulated_is_kept_until_all_is_done(
    run, log, tmp_path, monkeypatch
):
    other = tmp_path / "other.swf"
    other.write_text(log.read_text().replace(" 300 ", " 301 "))
    choices = gas.prediction.savings.choices

    def fails(recorded, *args, **options):
        if (recorded.start - recorded.jobs.submit == 301).any():
            raise ZeroDivisionError("a fault")
        return choices(recorded, *args, **options)

    asked = (other, log, "--jobs", "20", "--samples", "2")
    monkeypatch.setattr("gas.prediction.savings.choices", fails)
    result = run(*asked)
    assert result.exit_code == 1
    assert "other.swf: internal error (ZeroDivisionError: a fault); please report it" in result.stderr
    assert "20 recorded starts" in result.stdout
    monkeypatch.setattr("gas.prediction.savings.choices", choices)
    again = run(*asked)
    assert again.exit_code == 0
    assert again.stderr.count("20 of 20 submissions were simulated before an interruption; continuing") == 1


def test_what_cannot_be_asked_of_a_folder_is_refused(run, folder, log, tmp_path):
    (tmp_path / "nothing").mkdir()
    assert "is an empty folder" in str(run(tmp_path / "nothing").exception)
    (tmp_path / "nothing" / "README").write_text("Logs are elsewhere.")
    assert "none of 1 file is a log; the first, " in str(run(tmp_path / "nothing").exception)
    assert "must contain {trace}" in str(run(folder, "--report", tmp_path / "one.html").exception)
    assert "there is no folder" in str(run(folder, "--report", tmp_path / "no" / "{trace}.html").exception)
    assert "would overwrite an input" in str(run(folder, "--output", folder / "{trace}.swf").exception)
    assert "can be read only once" in str(run("-", "-").exception)


def test_logs_of_one_name_are_written_to_files_with_numbers(folder, tmp_path):
    paths = ["a/x.swf", "b/x.swf.gz", "b/y.txt"]
    assert files_for(str(tmp_path / "{trace}.html"), "--report", paths) == [
        str(tmp_path / name) for name in ("x.html", "x-2.html", "y.html")
    ]
