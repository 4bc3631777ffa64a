"""A user's own folders: those in the environment, otherwise below the home directory, which some users lack."""

from pathlib import Path

import pytest

from documents.home import NoHome, user_folder
from gas.beside import compile_beside
from gas.cli.serve import state_directory
from gas.compiled import cache_directory, is_ready
from gas.endpoints.configuration import find_configuration
from gas.errors import BadInput
from gas.profile.holes import first_fit
from workloads.archive import at_hand, find

VARIABLES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


@pytest.fixture
def no_home(monkeypatch, tmp_path):
    """As in a container whose user has no entry in /etc/passwd, and HOME is not set."""

    def none():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "home", none)
    for name in (*VARIABLES, "GAS_CACHE", "GAS_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_folder_is_the_one_that_is_named_else_below_the_home(variable, monkeypatch):
    monkeypatch.setenv(variable, "/elsewhere")
    assert user_folder(variable) == Path("/elsewhere")
    monkeypatch.setenv(variable, "")
    assert user_folder(variable).is_relative_to(Path.home())


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_user_without_a_home_is_told_which_variable_to_set(variable, no_home):
    with pytest.raises(NoHome, match=f"there is no home directory; set HOME or {variable} to a folder"):
        user_folder(variable)


@pytest.fixture
def not_compiled(monkeypatch):
    """No kernel has been compiled or loaded in this process."""
    monkeypatch.setattr("gas.compiled._compiled", {})


def test_what_needs_no_home_works_without_one(no_home, not_compiled, tmp_path):
    assert find_configuration() is None
    assert not is_ready(first_fit)
    assert not compile_beside(first_fit, "of a user without a home")
    assert state_directory(tmp_path, "s3") == tmp_path
    with pytest.raises(NoHome):
        cache_directory(first_fit)


def test_a_configuration_that_cannot_be_looked_for_is_named_with_the_way_out(monkeypatch, tmp_path):
    def closed(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "is_file", closed)
    with pytest.raises(BadInput, match=r"gas.toml: cannot be read: Permission denied; make its folder readable, or na"):
        find_configuration()


def test_files_below_a_closed_home_are_taken_as_absent(monkeypatch, not_compiled, tmp_path):
    def closed(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", closed)
    assert not is_ready(first_fit)
    assert at_hand(find("KTH-SP2-1996-2.1-cln"), tmp_path) is None
