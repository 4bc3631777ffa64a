"""Schedulers are named by address or by the configuration; a job by its number, with its scheduler if necessary."""

import pytest

from gas.agent.schedulers import chosen_endpoints, job_endpoint, job_endpoints, job_of
from gas.endpoints import FileEndpoint
from gas.endpoints.slurm import discovery
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.errors import BadInput, Unreachable

AWAY = "http://127.0.0.1:9"


@pytest.fixture
def configured(tmp_path, monkeypatch):
    """Write the effective configuration; without one there is no scheduler, and no Slurm in PATH."""

    def write(text):
        (tmp_path / "gas.toml").write_text(text)
        monkeypatch.setenv("GAS_CONFIG", str(tmp_path / "gas.toml"))

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return write


def s3(name):
    return f'[endpoints.{name}]\ntype = "s3"\nurl = "{AWAY}"\n'


def test_without_names_all_of_the_configuration(configured):
    configured(s3("kth") + s3("ctc"))
    assert [one.name for one in chosen_endpoints()] == ["kth", "ctc"]
    assert [one.name for one in chosen_endpoints(["ctc", f"{AWAY}/", "ctc"])] == ["ctc", AWAY]


def test_lists_in_files_stand_for_themselves_or_beside_those_named(configured):
    configured(s3("kth"))
    assert chosen_endpoints(None, ["list.json"]) == [FileEndpoint("list.json", "list.json")]
    assert [one.name for one in chosen_endpoints(["kth"], ["list.json"])] == ["kth", "list.json"]
    with pytest.raises(BadInput, match="standard input can be read only once"):
        chosen_endpoints(None, ["-", "-"])


def test_one_that_cannot_be_set_up_is_its_name_and_the_error(configured):
    configured(s3("kth") + '[endpoints.broken]\ntype = "s3"\n')
    first, (name, error) = chosen_endpoints()
    assert (first.name, name) == ("kth", "broken")
    assert "url" in str(error)
    with pytest.raises(BadInput, match='there is no endpoint "sdsc"'):
        chosen_endpoints(["sdsc"])


def test_none_is_named_and_none_configured(configured):
    for call in (chosen_endpoints, lambda: job_endpoint(None, None)):
        with pytest.raises(BadInput, match="no scheduler given|which scheduler"):
            call()
    with pytest.raises(BadInput, match="write http://localhost:8642"):
        chosen_endpoints(["localhost:8642"])


def test_jobs_are_on_one_scheduler_that_takes_jobs(configured):
    configured(s3("kth") + '[endpoints.disk]\ntype = "file"\npath = "list.json"\n')
    assert job_endpoint("kth", None).name == "kth"
    assert [one.name for one in job_endpoints(None, None)] == ["kth"]
    for call in (lambda: job_endpoint("disk", None), lambda: job_endpoints(["disk"], None)):
        with pytest.raises(BadInput, match="accepts no jobs; it is only an availability list"):
            call()
    with pytest.raises(BadInput, match=r"which scheduler\?.*\(kth, disk\)"):
        job_endpoint(None, None)


def test_without_a_configuration_any_partition_of_the_local_slurm_knows_the_jobs_of_all(configured, monkeypatch):
    tables = {f"here-{name}": {"type": "slurm", "partition": name} for name in ("main", "gpu")}
    monkeypatch.setattr(discovery, "is_here", lambda: True)
    monkeypatch.setattr(discovery, "here", lambda: discovery.Here(tables, object()))
    assert job_of("12", None, None)[0].name == "here-main"
    assert job_of("12", "here-gpu", None)[0].name == "here-gpu"


def test_a_local_slurm_that_does_not_answer_says_so_itself(configured, monkeypatch):
    def silent():
        raise Unreachable("scontrol: unable to contact slurm controller")

    monkeypatch.setattr(discovery, "is_here", lambda: True)
    monkeypatch.setattr(discovery, "here", silent)
    for call in (chosen_endpoints, lambda: job_of("12", None, None), lambda: job_of("here-gpu:12", None, None)):
        with pytest.raises(Unreachable, match="unable to contact slurm controller .there is no gas.toml"):
            call()
    assert chosen_endpoints([AWAY])[0].name == AWAY


def test_commands_of_slurm_without_any_configuration_are_no_slurm(configured, monkeypatch):
    def silent():
        raise Unreachable(f"scontrol: fetch_config: {discovery.UNCONFIGURED}")

    monkeypatch.setattr(discovery, "is_here", lambda: True)
    monkeypatch.setattr(discovery, "here", silent)
    with pytest.raises(BadInput, match="which scheduler"):
        job_of("12", None, None)
    for script in (True, False):
        with pytest.raises(BadInput, match=r"there is no Slurm here \(sbatch and scontrol find no slurm.conf\)"):
            chosen_endpoints(slurm_here=script)


def test_partitions_of_one_slurm_in_the_configuration_know_the_jobs_of_all(configured):
    tables = "".join(f'[endpoints.{name}]\ntype = "slurm"\npartition = "{name}"\n' for name in ("main", "gpu"))
    configured(tables)
    assert job_of("12", None, None)[0].name == "main"
    configured(tables + 'url = "http://127.0.0.1:6820"\n')
    with pytest.raises(BadInput, match=r"which scheduler\?.*\(main, gpu\)"):
        job_of("12", None, None)


def test_a_configuration_without_schedulers_is_named(configured):
    configured("")
    with pytest.raises(BadInput, match=r"gas\.toml: names no scheduler; write an \[endpoints\.NAME\]"):
        chosen_endpoints(slurm_here=True)


def test_a_scheduler_is_named_with_account_and_qos_as_plans_name_it(configured):
    configured(
        s3("kth") + '[endpoints.ada]\ntype = "slurm"\npartition = "main"\n[endpoints."b+qos=x"]\ntype = "slurm"\n'
    )
    named = ["ada+qos=high", "ada+account=sea+qos=high", "b+qos=x"]
    found = chosen_endpoints(named)
    assert [one.name for one in found] == named
    assert [one.configured_as for one in found[:2]] == ["ada", "ada"]
    (broken,) = chosen_endpoints(["kth+qos=high"])
    assert "kth has no accounts and QOS" in str(broken[1])
    assert job_of("ada+qos=high:12", None, None)[0].name == "ada+qos=high"
    with pytest.raises(BadInput, match="there is no endpoint"):
        chosen_endpoints(["sea+qos=high"])


def test_a_job_by_number_and_scheduler(configured):
    configured(s3("kth"))
    found = [job_of(text, None, None) for text in ("12", "kth:3", f"{AWAY}:4")]
    assert [(one.name, number) for one, number in found] == [("kth", 12), ("kth", 3), (AWAY, 4)]
    for text in ("", "kth:", "kth:x", "0", "12²"):
        with pytest.raises(BadInput, match="is not a job"):
            job_of(text, None, None)
    with pytest.raises(BadInput, match="names the scheduler kth, but -e names ctc"):
        job_of("kth:3", "ctc", None)


def test_a_task_of_a_job_array_is_named_as_in_slurm_where_the_command_changes_nothing(configured, monkeypatch):
    configured('[endpoints.ada]\ntype = "slurm"\n' + s3("kth"))
    monkeypatch.setattr(SlurmEndpoint, "task", lambda self, array, task: 100 * array + task)
    endpoint, number = job_of("ada:7_5", None, None, tasks=True)
    assert (endpoint.name, number) == ("ada", 705)
    with pytest.raises(BadInput, match=r"only gas status, gas why and gas logs take; name the whole array \(7\)"):
        job_of("ada:7_5", None, None)
    with pytest.raises(BadInput, match="kth is not a Slurm"):
        job_of("kth:7_5", None, None, tasks=True)
    for wrong in ("ada:7_", "ada:_5", "ada:7_x", "ada:0_1", "ada:7_5_1"):
        with pytest.raises(BadInput, match="is not a job"):
            job_of(wrong, None, None, tasks=True)


def test_only_a_scheduler_that_is_meant_alone_gets_the_token(configured, monkeypatch):
    configured(s3("kth") + s3("ctc").replace(":9", ":10"))
    monkeypatch.setenv("GAS_TOKEN", "secret")
    for call in (lambda: chosen_endpoints(["kth", "kth"])[0], lambda: job_endpoint("kth", None)):
        assert call().credential.token == "secret"
    for endpoint in (*chosen_endpoints(), *chosen_endpoints([AWAY, "ctc"])):
        access = endpoint.credential
        assert access.token is None
        assert "could be for this scheduler" in access.hint
