import sys
from pathlib import Path

import pytest

from documents.fields import FieldError
from gas.endpoints import FileEndpoint, S3Endpoint, load_configuration
from gas.endpoints.configuration import find_configuration
from gas.endpoints.trust import allow, read_document
from gas.errors import BadInput, GasError, Missing, Untrusted
from gas.planner import Limits

GOOD = """
[endpoints.kth]
type = "s3"
url = "http://127.0.0.1:8642"
timeout = 2.5
max_processors = 64
max_walltime = "12h"

[endpoints.disk]
type = "file"
path = "kth.json"
speed = 1.2
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "gas.toml"
        path.write_text(text)
        return path

    return write


def test_endpoints_have_names_types_and_limits(write):
    configuration = load_configuration(write(GOOD))
    assert configuration.names == ["kth", "disk"]
    kth, disk = configuration.endpoint("kth"), configuration.endpoint("disk")
    assert isinstance(kth, S3Endpoint)
    assert (kth.name, kth.address, kth.limits) == ("kth", "http://127.0.0.1:8642", Limits(64, 43200))
    assert disk == FileEndpoint("disk", "kth.json", Limits(speed=1.2), only_regular=True)


def test_no_file_is_an_empty_configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_configuration().names == []


def test_where_the_configuration_is_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "config" / "gas" / "config.toml"
    home.parent.mkdir(parents=True)
    home.touch()
    assert find_configuration() == (home, True)
    Path("gas.toml").touch()
    assert find_configuration() == (Path("gas.toml"), False)  # which the user has not named
    monkeypatch.setenv("GAS_CONFIG", "/else/where.toml")
    assert find_configuration() == (Path("/else/where.toml"), True)
    assert find_configuration(Path("said.toml")) == (Path("said.toml"), True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[endpoint.kth]", 'did you mean "endpoints"'),
        ("endpoints = 3", r"\[endpoints\]: 3 is not a table"),
        ("[endpoints]\nkth = 3", r"\[kth\]: 3 is not a table"),
        ('[endpoints."a b"]\ntype = "s3"', "cannot be a name"),
        ("[endpoints.kth\n", "not TOML"),
        ("a = " + "9" * 5000, "not TOML|not usable TOML|not a"),
    ],
)
def test_a_configuration_that_cannot_be_used(write, text, message):
    with pytest.raises((GasError, FieldError), match=message):
        load_configuration(write(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "type: is missing"),
        ('type = "s4"', 'type: "s4" is not known; known: file, (.*, )?s3'),
        ('type = "s3"', "url: is missing"),
        ('type = "s3"\nurl = "kth"', "url: 'kth': is not the address"),
        ('type = "s3"\nurl = 3', "url: 3 is not a string"),
        ('type = "s3"\nurll = "http://x"', 'url: is missing .is "urll" meant'),
        ('type = "s3"\nurl = "http://x"\ntimeot = 3', 'did you mean "timeout"'),
        ('type = "s3"\nurl = "http://x"\ntimeout = 0', "timeout: 0 must be more than 0"),
        ('type = "s3"\nurl = "http://x"\ntimeout = nan', "timeout: nan is not a finite number"),
        ('type = "s3"\nurl = "http://x"\nretries = -1', "retries: -1 is below 0"),
        ('type = "s3"\nurl = "http://x"\npatience = -1', "patience: -1 is below 0"),
        ('type = "s3"\nurl = "http://x"\ntoken_file = "/none"', "token_file: /none: cannot be read: No such file"),
        ('type = "s3"\nurl = "http://x"\nca_file = "/none"', "ca_file: /none: cannot be read"),
        ('type = "s3"\nurl = "http://x"\ninsecure = 1', "insecure: 1 is neither true nor false"),
        ('type = "s3"\nurl = "http://x"\ntokenfile = "/x"', 'did you mean "token_file"'),
        ('type = "s3"\nurl = "http://me:secret@x"', "url: the address of a service cannot contain a user or password"),
        ('type = "s3"\nurl = "http://x"\nmax_processors = 0', "max_processors: 0 is below 1"),
        ('type = "s3"\nurl = "http://x"\nmax_walltime = "1:30"', "could mean 1h30m or 1m30s"),
        ('type = "file"', "path: is missing"),
        ('type = "file"\npath = "x"\nspeed = 0', "speed: 0 is below 0.001"),
        ('type = "file"\npath = "x"\nspeed = -1', "speed: -1 is below 0.001"),
        ('type = "file"\npath = "x"\nspeed = 3600', "speed: 3600 is above 1000"),
        ('type = "file"\npath = "x"\nspeed = nan', "speed: nan is not a finite number"),
        ('type = "file"\npath = "x"\nspeed = "fast"', "speed: 'fast' is not a number"),
        ('type = "s3"\nurl = "http://x"\nsped = 2', 'did you mean "speed"'),
    ],
)
def test_an_endpoint_that_cannot_be_used_names_its_place(write, text, message):
    configuration = load_configuration(write(f"[endpoints.kth]\n{text}"))
    with pytest.raises((GasError, FieldError), match=message) as caught:
        configuration.endpoint("kth")
    assert "[endpoints.kth]" in str(caught.value)


def test_an_unknown_name_is_answered_with_the_nearest(write):
    with pytest.raises(BadInput, match='did you mean "disk"'):
        load_configuration(write(GOOD)).endpoint("disc")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(GasError, match="none.toml: cannot be read: No such file"):
        load_configuration(tmp_path / "none.toml")


def test_a_broken_plug_in_disturbs_only_its_own_endpoints(write, tmp_path, monkeypatch):
    metadata = tmp_path / "site" / "plug_in-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-in\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[gas.endpoints]\nbroken = broken_plug_in_of_a_test:make\nfailing = failing_plug_in_of_a_test:make\nother = "
        "failing_plug_in_of_a_test:other\n"
    )
    (metadata.parent / "failing_plug_in_of_a_test.py").write_text(
        "def make(name, fields):\n    return 1 / 0\ndef other(name, fields):\n    return name\n"
    )
    monkeypatch.syspath_prepend(metadata.parent)
    text = f'{GOOD}\n[endpoints.other]\ntype = "broken"\n[endpoints.third]\ntype = "failing"\n'
    text += '[endpoints.fourth]\ntype = "other"\n'
    configuration = load_configuration(write(text))
    assert configuration.endpoint("kth").name == "kth"
    with pytest.raises(Missing, match='plug-in "broken" cannot be loaded'):
        configuration.endpoint("other")
    with pytest.raises(Missing, match='plug-in "failing" failed: ZeroDivisionError'):
        configuration.endpoint("third")
    with pytest.raises(Missing, match='plug-in "other" made a str, which is not a gas.endpoints.Endpoint'):
        configuration.endpoint("fourth")
    sys.modules.pop("failing_plug_in_of_a_test", None)


HARMFUL = [
    'type = "s3"\nurl = "http://127.0.0.1:9"',
    'type = "slurm"',
    'type = "slurm"\nslurm_conf = "/tmp/slurm.conf"',
    'type = "slurm"\nfolder = "/tmp"',
    'type = "slurm"\nurl = "http://127.0.0.1:9"\ntoken_command = ["touch", "ran"]',
    'type = "slurm"\nurl = "unix:/tmp/socket"',
    'type = "oar"\nfolder = "/tmp"',
]


@pytest.mark.parametrize("table", HARMFUL)
def test_a_folder_that_was_not_allowed_names_lists_in_files_only(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    Path("gas.toml").write_text(f'[endpoints.kth]\n{table}\n[endpoints.disk]\ntype = "file"\npath = "kth.json"\n')
    configuration = load_configuration()
    assert configuration.endpoint("disk") == FileEndpoint("disk", "kth.json", only_regular=True)
    with pytest.raises(
        Untrusted,
        match=r"\[endpoints.kth\]: is not used, because .*: check it, then run gas endpoints --trust gas.toml",
    ):
        configuration.endpoint("kth")
    assert not Path("ran").exists()


@pytest.mark.parametrize("table", HARMFUL[:2])
def test_a_file_that_others_can_write_does_not_name_schedulers_even_by_its_name(write, table):
    path = write(f"[endpoints.kth]\n{table}\n")
    path.chmod(0o666)
    with pytest.raises(Untrusted, match=r"can be written by all users \(mode 0666\): chmod go-w"):
        load_configuration(path).endpoint("kth")


def test_what_was_allowed_is_used_until_it_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("gas.toml").write_text(GOOD)
    allow(read_document(Path("gas.toml")))
    assert load_configuration().endpoint("kth").address == "http://127.0.0.1:8642"
    Path("gas.toml").write_text(GOOD.replace("8642", "8643"))
    with pytest.raises(Untrusted, match="has changed since you trusted it"):
        load_configuration().endpoint("kth")


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('type = "slurm"\nslurm_conf = "slurm.conf"', "slurm_conf"),
        ('type = "slurm"\nfolder = "bin"', "folder"),
        ('type = "oar"\nfolder = "bin"', "folder"),
        ('type = "slurm"\nurl = "http://127.0.0.1:9"\ntoken_command = ["./token"]', "token_command"),
    ],
)
def test_what_runs_does_not_depend_on_the_current_folder(write, tmp_path, monkeypatch, table, key):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slurm.conf").touch()
    with pytest.raises(
        FieldError, match=f"{key}: .*is a relative path, which depends on the current folder; write its full path"
    ):
        load_configuration(write(f"[endpoints.ada]\n{table}\n")).endpoint("ada")


def test_a_token_of_the_environment_is_for_all_tables_of_one_service_and_for_none_of_several(write, monkeypatch):
    monkeypatch.setenv("SLURM_JWT", "secret")
    one = '[endpoints.small]\ntype = "slurm"\nurl = "http://127.0.0.1:9"\n'
    same = '[endpoints.large]\ntype = "slurm"\nurl = "http://127.0.0.1:9/"\npartition = "large"\n'
    own = '[endpoints.third]\ntype = "slurm"\nurl = "http://127.0.0.1:7"\ntoken_command = ["true"]\n'
    other = '[endpoints.other]\ntype = "slurm"\nurl = "http://127.0.0.1:10"\n'

    def source(text, **how):
        return load_configuration(write(text)).endpoint("small", **how).transport._tokens.source

    assert source(one + same + own) == "SLURM_JWT"
    assert source(one + same + own + other) is None
    assert source(one + same + own + other, alone=True) == "SLURM_JWT"
