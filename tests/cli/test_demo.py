import pytest


@pytest.mark.process
def test_the_demo_plans_submits_and_compares(gas):
    result = gas("demo")
    assert result.code == 0, result.err
    assert "S³ with 128 processors" in result.out
    assert "best" in result.out
    assert "Submitted job" in result.out
    assert "Fixed requests of other sizes" in result.out
    assert result.out.count("\n  gas ") == 3


@pytest.mark.thorough
@pytest.mark.process
def test_as_json_and_what_happened_is_what_was_foreseen(gas):
    result = gas("demo", "--json", "--seed", "1")
    assert result.code == 0, result.err
    demo = result.json
    best, job = demo["plan"]["best"], demo["job"]
    assert job["processors"] == best["processors"]
    assert job["start"] <= job["first_promise"]
    mine = next(f for f in demo["fixed"] if f["processors"] == best["processors"])
    # The clock may pass a second between planning and submitting; the run itself is exact.
    assert 0 <= job["finished"] - mine["finish"] <= 2
    assert {f["processors"] for f in demo["fixed"]} == {c["processors"] for c in demo["plan"]["candidates"]}


@pytest.mark.thorough
@pytest.mark.process
def test_with_a_log(gas, traces):
    log = str(traces / "KTH-SP2-1996-2.1-cln.swf.gz")
    result = gas("demo", "--trace", log, "--at", "120d")
    assert result.code == 0, result.err
    assert "S³ with 100 processors" in result.out
    assert "log: KTH-SP2-1996-2.1-cln, by courtesy of Lars Malinowsky" in result.err


def test_bad_logs_and_instants(gas, tmp_path):
    path = tmp_path / "bad.swf"
    path.write_text("1 2 three\n")
    assert gas("demo", "--trace", str(path)).code == 2
    assert gas("demo", "--trace", "nowhere.swf").code == 2
    assert gas("demo", "--at", "noon").code == 2
    assert gas("demo", "--processors", "2").code == 2
