"""The options of commands that select or scale the jobs of a log."""

import pytest


@pytest.mark.parametrize("command", [["simulate"], ["convert"], ["audit"]])
def test_a_load_in_per_cent_is_refused_with_the_number_to_write(gas, tmp_path, command):
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 8\n1 0 5 60 4 -1 -1 4 90 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
    more = [tmp_path / "x.swf"] if command == ["convert"] else ["--log", log] if command == ["audit"] else []
    done = gas(*command, log, *more, "--scale-load", "90")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "gas: --scale-load 90: must be at most 10; 1 is as much work as the machine can do; for 90% write 0.9\n"
    )
