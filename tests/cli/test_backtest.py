"""`gas backtest`: how good predictions would have been on a recorded log."""

import csv
import json
import re

import numpy as np
import pytest
import typer
from made_up import busy_log
from typer.testing import CliRunner

from gas.cli.backtest import backtest_command
from gas.cli.logs import read_log
from gas.cli.partial_file import partial_file
from gas.errors import BadInput
from gas.prediction.backtest import backtest
from gas.prediction.recorded import RecordedQueue
from workloads import write_swf


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
    assert re.fullmatch(r"90% intervals held [0-9]+ ± [0-9]+% of 60 recorded starts\.", lines[0])
    assert lines[1].startswith("The median error is ")
    assert "Predicted at 60 of 1" in result.stdout
    for words in ("Gas", "all walltimes used up", "last similar jobs", "recorded wait"):
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
    assert "15 of 40 submissions were simulated before an interruption; going on" in goes_on.stderr
    assert not kept.path.exists()
    assert "going on" not in run(log, "--jobs", "40", "--samples", "3", "--json").stderr


def test_what_cannot_be_backtested_is_refused(run, log, tmp_path):
    write_swf(busy_log(30, 64, seed=2), tmp_path / "simulated.swf")  # without waits
    refused = run(tmp_path / "simulated.swf")
    assert isinstance(refused.exception, BadInput)
    assert "no job has a walltime, a wait and a run time" in str(refused.exception)
    assert run(log, "--all", "--jobs", "3").exit_code == 2
    assert "must end in .png" in str(run(log, "--plot", tmp_path / "x.gif").exception)
