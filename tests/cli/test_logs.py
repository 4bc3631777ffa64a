"""Reading a log named by the user: its acknowledgement, and errors for files that are not logs."""

import gzip

import numpy as np
import pytest

from gas.cli.logs import courtesy, read_log
from gas.errors import BadInput
from workloads import Header, Log, write_swf
from workloads.lublin import generate

JOB = "1 0 -1 100 4 -1 -1 4 100 -1 1 1 1 1 -1 -1 -1 -1\n"


@pytest.fixture
def write(tmp_path):
    def written(name, text):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return str(path)

    return written


@pytest.mark.parametrize("name", ["machine.swf", "machine.swf.gz", "machine"])
def test_a_log_is_owed_to_whom_its_header_acknowledges(write, capsys, name):
    read_log(write(name, f"; Acknowledge: Ada\n;   of Somewhere\n; Acknowledge: Bob\n{JOB}"))
    assert capsys.readouterr().err.splitlines()[-1] == "log: machine, by courtesy of Ada of Somewhere; Bob"


def test_a_log_that_acknowledges_nobody_says_nothing_of_it(write, capsys):
    log = read_log(write("machine.swf", JOB))
    assert (courtesy(log.acknowledgements), "courtesy" in capsys.readouterr().err) == ("", False)


def test_logs_of_one_origin_are_acknowledged_once_if_they_are_read_together(write, capsys):
    whole, cleaned = (write(f"{name}.swf", f"; Acknowledge: Ada\n{JOB}") for name in ("whole", "cleaned"))
    thanked = set()
    for path in (whole, cleaned):
        read_log(path, thanked=thanked)
    assert capsys.readouterr().err.count("by courtesy of Ada") == 1
    for path in (whole, cleaned):
        read_log(path)
    assert capsys.readouterr().err.count("by courtesy of Ada") == 2


def test_courtesy_is_in_words_for_what_tells_of_logs_in_its_own_way():
    log = Log.from_columns({}, header=Header.of([("Acknowledge", "Ada")]))
    assert courtesy(log.acknowledgements) == "by courtesy of Ada"


def test_a_generated_log_names_the_authors_of_its_model(tmp_path, capsys):
    write_swf(generate(9, 8, generator=np.random.default_rng(0)), tmp_path / "x.swf.gz")
    read_log(str(tmp_path / "x.swf.gz"))
    assert "x.swf: generated with the model of Uri Lublin and Dror Feitelson\n" in capsys.readouterr().err
    assert courtesy(["Joefon Jann et al., for the form of the model", "Ada"]) == (
        "generated with the model of Joefon Jann et al., by courtesy of Ada"
    )


PROSE = "Dear reader,\nthis is no log.\n"


def test_a_file_that_is_no_log_is_told_what_a_log_is(write):
    with pytest.raises(
        BadInput, match=r"18 numbers per line, or one that gas convert reads .*; is this the right file\?"
    ):
        read_log(write("letter.txt", PROSE))


@pytest.mark.parametrize("strict", [False, True])
def test_what_else_would_have_done_is_named_too(write, strict):
    said = (
        r"this is neither a log \(Standard Workload Format, 18 numbers per line\) nor what sacct --parsable2 printed; "
        r"is it the right file\?"
    )
    with pytest.raises(BadInput, match=said):
        read_log(write("letter.txt", PROSE), strict=strict, or_else="what sacct --parsable2 printed")
    with pytest.raises(BadInput, match=said):
        read_log("-", strict=strict, data=PROSE.encode(), or_else="what sacct --parsable2 printed")


def test_a_malformed_job_is_a_job_whatever_else_would_have_done(write):
    with pytest.raises(ValueError, match="line 1") as caught:
        read_log(write("short.swf", "1 0 -1 100 4\n"), strict=True, or_else="what sacct --parsable2 printed")
    assert "sacct" not in str(caught.value)
