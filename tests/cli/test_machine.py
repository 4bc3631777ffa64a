import pytest

from gas.service.token_file import add_token


def test_it_shows_the_machine(gas, s3):
    s3.simulated(4, 1000)
    shown = gas("machine", "-e", s3.url)
    assert "10 processors" in shown.out
    assert "(no tokens in use)" in shown.out
    assert gas("machine", "-e", s3.url, "--json").json["schema"] == "gas.machine/1"


def test_a_smaller_machine_names_what_it_breaks(gas, s3):
    s3.simulated(6, 1000)
    s3.simulated(4, 1000)
    large = s3.simulated(8, 10)
    late = s3.simulated(4, 10)
    s3.until(2, "running")
    refused = gas("machine", "--processors", "7", "-e", s3.url)
    assert (refused.code, "--cancel-larger" in refused.err) == (1, True)
    assert s3.job(large["id"])["state"] == "queued"
    changed = gas("machine", "--processors", "7", "--cancel-larger", "-e", s3.url)
    assert changed.code == 0
    assert f"job {large['id']} of {large['user']} was cancelled" in changed.err
    assert s3.job(large["id"])["state"] == "cancelled"
    assert s3.get("/v1/machine").json()["processors"] == 7
    assert s3.job(late["id"])["promise"] <= late["promise"]


def test_it_refuses_new_jobs_until_told_otherwise(gas, s3, lu):
    assert "new jobs are refused" in gas("machine", "--refuse", "-e", s3.url).out
    refused = gas("submit", lu, "-e", s3.url, "--simulate")
    assert refused.code == 1
    assert "accepts no new jobs: its operator refuses them for now; submit later" in " ".join(refused.err.split())
    gas("machine", "--accept", "-e", s3.url)
    assert gas("submit", lu, "-e", s3.url, "--simulate").code == 0


@pytest.mark.parametrize(("role", "code"), [("user", 1), ("operator", 0)])
def test_changing_it_is_for_operators(gas, tmp_path, monkeypatch, role, code):
    from gas.service.live import LiveScheduler
    from gas.service.server import Embedded
    from gas.service.tokens import Tokens

    monkeypatch.setenv("GAS_TOKEN", add_token(tmp_path / "tokens", "alice", role)[0])
    with Embedded(LiveScheduler("s3", 10, tmp_path / "s3"), tokens=Tokens(tmp_path / "tokens")) as service:
        assert gas("machine", "-e", service.url).code == 0
        result = gas("machine", "--processors", "12", "-e", service.url)
    assert result.code == code
    assert code == 0 or "operators" in result.err
