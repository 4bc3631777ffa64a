import json
import pickle
import tomllib
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from documents.fields import FieldError, Fields
from gas.cli.fit import fit
from gas.errors import BadInput
from gas.pictures.fit import draw_fit
from speedup_models import fitting
from speedup_models.downey import Downey
from speedup_models.model import ModelError
from speedup_models.registry import model_from_table

COUNTS = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256])


@pytest.fixture
def timings(tmp_path):
    """A file of timings by Downey's model, plus or minus 2%."""
    seconds = Downey(3600, 40, 0.6).seconds(COUNTS) * (1 + 0.02 * (-1.0) ** np.arange(COUNTS.size))
    path = tmp_path / "lu.csv"
    rows = "".join(f"{n},{s:.3f}\n" for n, s in zip(COUNTS, seconds, strict=True))
    path.write_text("# lu, class C\nprocessors,seconds\n" + rows)
    return path


FITTED = {}


@pytest.fixture
def gas(monkeypatch):
    """Run the command; known timings are not fitted again, since fitting takes longest."""
    app = typer.Typer()
    app.command()(fit)

    def fitted(*measured, **options):
        key = pickle.dumps((measured, options))
        if key not in FITTED:
            FITTED[key] = fitting.fit(*measured, **options)
        return FITTED[key]

    monkeypatch.setattr("gas.cli.fit.fit_models", fitted)

    def run(*arguments, **options):
        words = [str(argument) for argument in arguments]
        if "--bootstrap" not in words:
            words += ["--bootstrap", "5"]
        return CliRunner().invoke(app, words, **options)

    return run


def test_the_comparison_is_a_table_and_a_sentence_on_standard_output(gas, timings):
    result = gas(timings)
    assert result.exit_code == 0
    for word in ("Downey's model *", "Amdahl's law", "sequential_time", "serial_fraction", "sigma", "AICc"):
        assert word in result.stdout
    assert "AICc prefers Downey's model" in " ".join(result.stdout.split())
    assert result.stderr == ""


def test_the_application_file_is_written_before_anything_is_printed(gas, timings, tmp_path, monkeypatch):
    def closed(*_):
        raise BrokenPipeError

    monkeypatch.setattr("gas.cli.fit.fit_report.show_curve", closed)
    assert gas(timings, "-o", tmp_path / "app.toml").exit_code != 0
    assert 'model = "downey"' in (tmp_path / "app.toml").read_text()


def test_speed_up_is_that_over_the_smallest_size(gas, tmp_path):
    path = tmp_path / "lu.csv"
    path.write_text("processors,seconds\n4,610\n8,330\n16,190\n32,121\n")
    shown = " ".join(gas(path).stdout.split())
    assert "speed-up and efficiency: over 4 processors" in shown
    assert "no interval" in shown, "four timings for three parameters"


def test_json_is_one_object_with_a_schema(gas, timings):
    result = gas(timings, "--json", "--seed", 3)
    document = json.loads(result.stdout)
    assert document["schema"] == "gas.fit/1"
    assert (document["name"], document["better"], document["written"], document["decided"]) == (
        "lu",
        "downey",
        "downey",
        True,
    )
    assert document["processors"] == COUNTS.tolist()
    assert (document["seed"], document["bootstrap"], document["timings"]) == (3, 5, 9)
    a = document["models"]["downey"]["parameters"]["A"]
    assert a["low"] <= a["value"] <= a["high"]
    assert not a["unbounded"]
    assert document["models"]["downey"]["aicc"] < document["models"]["amdahl"]["aicc"]


def test_json_holds_no_infinity(gas, tmp_path):
    path = tmp_path / "ep.csv"
    path.write_text("processors,seconds\n" + "".join(f"{n},{1000 / n}\n" for n in COUNTS))
    document = json.loads(gas(path, "--json").stdout, parse_constant=pytest.fail)
    a = document["models"]["downey"]["parameters"]["A"]
    assert (a["high"], a["unbounded"]) == (None, True)


@pytest.mark.thorough
def test_without_a_bootstrap_there_are_no_intervals(gas, timings):
    assert "no interval" in gas(timings, "--bootstrap", 0).stdout
    document = json.loads(gas(timings, "--json", "--bootstrap", 0).stdout)
    assert document["models"]["amdahl"]["parameters"]["serial_fraction"]["low"] is None


@pytest.mark.thorough
def test_timings_come_from_standard_input_too(gas, timings):
    result = gas("-", "--json", input=timings.read_text())
    assert json.loads(result.stdout)["name"] == "application"


def test_warnings_go_to_standard_error(gas, tmp_path):
    path = tmp_path / "mg.csv"
    path.write_text("processors,seconds\n2,41\n8,18\n64,36\n")
    result = gas(path, "--json")
    assert "Warning: the time rises from 18 s on 8 processors to 36 s on 64" in result.stderr
    assert json.loads(result.stdout)["warnings"]


def test_the_application_file_is_written_and_can_be_read(gas, timings, tmp_path):
    output = tmp_path / "lu.toml"
    result = gas(timings, "-o", output, "--name", "lu.C")
    assert result.exit_code == 0
    assert "lu.toml: written, Downey's model" in "".join(result.stderr.split("\n"))
    document = tomllib.loads(output.read_text())
    assert document["name"] == "lu.C"
    assert isinstance(model_from_table(Fields(document["speedup"], "lu.toml")), Downey)


def test_the_other_model_can_be_asked_for(gas, timings, tmp_path):
    output = tmp_path / "lu.toml"
    result = gas(timings, "-o", output, "--model", "amdahl", "--json")
    assert tomllib.loads(output.read_text())["speedup"]["model"] == "amdahl"
    document = json.loads(result.stdout)
    assert (document["better"], document["written"]) == ("downey", "amdahl")


def test_an_existing_application_file_is_kept_unless_forced(gas, timings, tmp_path):
    output = tmp_path / "lu.toml"
    output.write_text("mine")
    result = gas(timings, "-o", output)
    assert isinstance(result.exception, BadInput)
    assert str(result.exception) == f"{output}: exists already and was not changed; give another name or add --force"
    assert output.read_text() == "mine"
    assert "Downey's model" in result.stdout, "the fit is shown all the same"
    assert gas(timings, "-o", output, "--force").exit_code == 0
    assert tomllib.loads(output.read_text())["name"] == "lu"


def test_two_outputs_of_one_name_and_the_timings_themselves_are_not_overwritten(gas, timings, tmp_path):
    before = timings.read_text()
    for arguments, message in [
        (["--plot", tmp_path / "lu.png", "-o", tmp_path / "sub" / ".." / "lu.png"], "name the same file"),
        (["-o", timings, "--force"], "would overwrite an input"),
    ]:
        error = gas(timings, *arguments).exception
        assert isinstance(error, BadInput)
        assert message in str(error)
    assert timings.read_text() == before
    assert list(tmp_path.iterdir()) == [timings]


@pytest.mark.thorough
def test_the_same_seed_writes_the_same_bytes(gas, timings, tmp_path):
    for name in ("a.toml", "b.toml"):
        FITTED.clear()
        gas(timings, "-o", tmp_path / name, "--seed", 4)
    assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()


def test_mistakes_are_errors_that_name_the_place(gas, timings, tmp_path):
    for arguments, kind, message in [
        ([tmp_path / "none.csv"], FieldError, "none.csv: cannot be read"),
        ([timings, "-o", tmp_path / "no" / "lu.toml"], BadInput, "lu.toml: cannot be written: No such file"),
        (
            [timings, "--plot", tmp_path / "lu.gif"],
            BadInput,
            "lu.gif: the name of a picture must end in .png, .svg or .pdf",
        ),
        ([timings, "--plot", tmp_path / "no" / "lu.png"], BadInput, "lu.png: cannot be written: No such file"),
        ([timings, "-o", tmp_path / "lu.toml", "--name", "a\nb"], ModelError, "one line of printable text"),
    ]:
        error = gas(*arguments).exception
        assert isinstance(error, kind)
        assert isinstance(error, ValueError)
        assert message in str(error)
    assert not (tmp_path / "lu.toml").exists()


SIGNATURES = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("suffix", SIGNATURES)
def test_the_picture_is_of_the_suffixs_kind_and_the_same_every_time(gas, timings, tmp_path, suffix):
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    assert gas(timings, "--plot", first).exit_code == 0
    assert gas(timings, "--plot", second).exit_code == 0
    assert first.read_bytes().startswith(SIGNATURES[suffix])
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.thorough
def test_the_picture_ignores_the_users_style(timings, tmp_path):
    import matplotlib

    report = fitting.fit(*fitting.read_timings(timings)[:2], bootstrap=3)
    draw_fit(report, tmp_path / "a.svg")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "mine"}):
        draw_fit(report, tmp_path / "b.SVG")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.SVG").read_bytes()


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(
    "pairs",
    [
        {1: 3, 2: 2, 4: 1},
        {1: 5, 2: 5, 4: 5},
        {16: 1e-3, 100_000: 1e-6, 2**31: 1e6},
        {n: 100 / n for n in range(1, 200)},
    ],
)
def test_all_kinds_of_timings_can_be_drawn(pairs, tmp_path):
    path = tmp_path / "x.png"
    draw_fit(fitting.fit(list(pairs), list(pairs.values()), bootstrap=2), path)
    assert path.stat().st_size > 5000


STEPS = Path(__file__).parent.parent / "examples" / "steps.csv"


def test_steps_on_nodes_are_fitted_by_the_goodput_model(gas, tmp_path):
    output = tmp_path / "train.toml"
    result = gas(STEPS, "--steps", 20000, "--batch", 512, "-o", output, "--bootstrap", 0)
    assert result.exit_code == 0
    assert "The goodput model fits: its typical error is 1.6%" in " ".join(result.stdout.split())
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["4", "1", "3h13m", "12.91", "4.00", "100%"] in rows
    assert tomllib.loads(output.read_text())["speedup"]["model"] == "goodput"


def test_json_of_steps_holds_the_front(gas):
    document = json.loads(gas(STEPS, "--steps", 20000, "--batch", 512, "--json", "--bootstrap", 0).stdout)
    assert (document["schema"], document["better"], document["fits"]) == ("gas.fit/1", "goodput", True)
    assert [row["size"] for row in document["front"]] == [1, 2, 4, 8, 16, 32]
    assert document["front"][0]["layout"] == {"nodes": 1, "per_node": 1}
    assert document["models"]["goodput"]["parameters"]["beta_c"]["value"] == pytest.approx(0.0042, rel=0.02)


@pytest.mark.thorough
def test_the_front_is_drawn(gas, tmp_path):
    gas(STEPS, "--steps", 20000, "--batch", 512, "--plot", tmp_path / "front.png", "--bootstrap", 0)
    assert (tmp_path / "front.png").stat().st_size > 10_000


@pytest.mark.thorough
def test_where_no_model_fits_the_table_is_proposed(gas, tmp_path):
    odd, output = tmp_path / "odd.csv", tmp_path / "odd.toml"
    odd.write_text("cores,time\n1,100\n2,30\n4,80\n8,20\n16,70\n32,90\n")
    result = gas(odd, "-o", output)
    assert "No model fits well enough" in result.stdout
    assert "by the measured times" in result.stdout
    assert tomllib.loads(output.read_text())["speedup"]["times"]["8"] == 20


def test_the_front_is_in_the_json_of_a_curve(gas, timings):
    document = json.loads(gas(timings, "--json").stdout)
    assert [row["size"] for row in document["front"]] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert document["fits"]


def test_what_does_not_go_together_is_refused(gas, timings, tmp_path):
    for arguments, message in [
        ([timings, "--batch", 8], "--batch 8: the timings have no batches"),
        ([timings, "--steps", 8], "--steps 8: times are of the whole run"),
        ([timings, "--model", "goodput"], "the number of nodes of each size is missing"),
        ([STEPS, "--batch", 512], "give the length of the run with --steps or --samples"),
    ]:
        assert message in str(gas(*arguments).exception)


def test_more_gpus_per_node_than_any_machine_has_are_refused(gas, timings):
    refused = gas(timings, "--gpus-per-node", 10**20)
    assert refused.exit_code == 2
    assert isinstance(refused.exception, SystemExit)  # a usage error, not a failed fit
    assert gas(timings, "--gpus-per-node", 2**31 - 1).exit_code == 0


def test_a_run_that_is_too_large_to_compute_is_refused(gas, timings):
    too_large = gas(timings, "--batch", 10**23)
    assert too_large.exit_code == 2
    assert isinstance(too_large.exception, SystemExit)
    for option in ("--noise-scale", "--samples"):
        assert f"{option} inf: is not a finite number" in str(gas(timings, option, "inf").exception)
