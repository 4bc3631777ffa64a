"""gas offer: what a waiting job is offered, shown and answered."""

import pytest


@pytest.fixture
def waits(gas, s3, tmp_path):
    """Submit a job with a notice behind two others; return its number, and the second of these."""
    app = tmp_path / "app.toml"
    app.write_text('name = "a"\n[speedup]\nmodel = "table"\ntimes = { 10 = 60 }\n')
    s3.simulated(10, 3600)
    second = s3.simulated(10, 600)
    made = gas("submit", str(app), "--simulate", "--notice", "2m", "-e", s3.url, "--json")
    assert (made.code, made.json["job"]["notice"]) == (0, 120)
    return str(made.json["job"]["id"]), second["id"]


@pytest.fixture
def offered(s3, waits):
    job, second = waits
    s3.delete(f"/v1/jobs/{second}")
    return job


def test_an_offer_is_shown_and_accepted(gas, s3, offered):
    shown = gas("offer", offered, "-e", s3.url)
    assert "; offered a start at " in shown.out
    assert ", 10m00s earlier, until " in shown.out
    before = s3.job(offered)
    done = gas("offer", offered, "--accept", "-e", s3.url, "--json")
    assert (done.json["schema"], done.json["promise"]) == ("gas.job/1", before["offer"])
    again = gas("offer", offered, "--accept", "-e", s3.url)
    assert (again.code, "is offered no earlier start now" in again.err) == (1, True)


def test_a_declined_offer_leaves_the_promise(gas, s3, offered):
    before = s3.job(offered)
    assert "offered" not in gas("offer", offered, "--decline", "-e", s3.url).out
    assert s3.job(offered)["promise"] == before["promise"]
    assert "it is offered nothing more" in gas("offer", offered, "-e", s3.url).out
    gas("offer", offered, "--decline", "--not-before", f"@{before['offer'] + 60}", "-e", s3.url)
    assert s3.job(offered)["offer"] == before["offer"] + 60


def test_why_nothing_is_offered_is_said(gas, s3, waits):
    job, second = waits
    assert "no earlier start is free now" in gas("offer", job, "-e", s3.url).out
    assert "without --notice" in gas("offer", str(second), "-e", s3.url).out
    s3.until(1, "running")
    assert "only jobs that wait" in gas("offer", "1", "-e", s3.url).out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--accept", "--decline"], "only one of them is possible"),
        (["--not-before", "18:30"], "--not-before: applies to --decline"),
        (["--decline", "--not-before", "soon"], "--not-before 'soon': not a time"),
    ],
)
def test_what_contradicts_itself_is_refused(gas, s3, waits, options, problem):
    refused = gas("offer", waits[0], *options, "-e", s3.url)
    assert refused.code == 2
    assert problem in refused.err


def test_only_an_s3_takes_a_notice(gas, tmp_path, waits, s3):
    refused = gas("submit", str(tmp_path / "app.toml"), "--simulate", "--notice", "2d", "-e", s3.url)
    assert (refused.code, "86400" in refused.err) == (2, True)
