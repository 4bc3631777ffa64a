"""gas offer: the offer to a waiting job, shown and answered."""

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
    assert ", 10m00s earlier, answer by " in shown.out
    before = s3.job(offered)
    done = gas("offer", offered, "--accept", "-e", s3.url, "--json")
    assert (done.json["schema"], done.json["promise"]) == ("gas.job/1", before["offer"])
    again = gas("offer", offered, "--accept", "-e", s3.url)
    assert (again.code, "has no offer now" in again.err) == (1, True)


def test_a_declined_offer_leaves_the_promise(gas, s3, offered):
    before = s3.job(offered)
    assert "offered" not in gas("offer", offered, "--decline", "-e", s3.url).out
    assert s3.job(offered)["promise"] == before["promise"]
    assert "it gets no more offers" in gas("offer", offered, "-e", s3.url).out
    gas("offer", offered, "--decline", "--not-before", f"@{before['offer'] + 60}", "-e", s3.url)
    assert s3.job(offered)["offer"] == before["offer"] + 60
    done = gas("offer", offered, "--decline", "--not-before", "tomorrow 9:00", "-e", s3.url)
    assert "--not-before tomorrow 9:00: is " in done.err
    assert " by the local clock, " in done.err


def test_why_nothing_is_offered_is_said(gas, s3, waits):
    job, second = waits
    assert "no earlier start is free now" in gas("offer", job, "-e", s3.url).out
    assert "without --notice" in gas("offer", str(second), "-e", s3.url).out
    s3.until(1, "running")
    assert "only waiting jobs" in gas("offer", "1", "-e", s3.url).out


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
    assert (refused.code, "--notice 2d: must be 1 s to 1d00h" in refused.err) == (2, True)


def test_the_list_of_jobs_has_a_column_of_offers_where_there_are_some(gas, s3, waits):
    assert "offered" not in gas("status", "-e", s3.url).out
    s3.delete(f"/v1/jobs/{waits[1]}")
    header, *rows = gas("status", "-e", s3.url).out.splitlines()
    assert header.split()[-3:] == ["starts", "offered", "ends"]
    assert sum("(answer in 1m5" in row or "(answer in 2m00s)" in row for row in rows) == 1, rows


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_notice_above_a_day_is_refused_by_the_name_of_the_option(gas, s3, tmp_path, more):
    app = tmp_path / "app.toml"
    app.write_text('[speedup]\nmodel = "table"\ntimes = { 10 = 60 }\n')
    result = gas("submit", str(app), "--simulate", "--notice", "25h", "-e", s3.url, *more)
    assert (result.code, "--notice 25h: must be 1 s to 1d00h" in result.err) == (2, True), result.err
    assert s3.get("/v1/jobs").json()["jobs"] == []


def test_a_job_that_starts_within_its_notice_is_said_to_be_offered_nothing(gas, s3, tmp_path):
    app = tmp_path / "app.toml"
    app.write_text('[speedup]\nmodel = "table"\ntimes = { 10 = 600 }\n')
    for notice, waits in (("20m", False), ("10m", True)):
        s3.simulated(10, 700)
        result = gas("submit", str(app), "--simulate", "--notice", notice, "-e", s3.url)
        said = f"at the latest, and an offered start is at least {notice}00s (its notice) away: the job gets no offers"
        assert (result.code, said in result.err) == (0, not waits), result.err
