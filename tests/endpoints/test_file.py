"""A list in a file as an endpoint: only regular files are read."""

import os

import pytest

from documents.fields import Fields
from gas.endpoints.file import FileEndpoint
from gas.errors import BadInput
from gas.reading import MOST_BYTES


def configured(path):
    return FileEndpoint.configured("a", Fields({"path": str(path)}, "gas.toml"))


def test_a_pipe_or_a_device_that_a_configuration_names_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        with pytest.raises(BadInput, match="is not a regular file"):
            configured(path).availability()


def test_a_list_that_is_too_long_is_refused(tmp_path):
    with (tmp_path / "long.json").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(BadInput, match="exceeds the limit of 64 MiB"):
        configured(tmp_path / "long.json").availability()
