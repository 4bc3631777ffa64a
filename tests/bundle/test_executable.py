"""The script of the one file unpacks it once, in a safe place; here the contents are a small program."""

import os
import subprocess

import pytest

from gas.bundle.executable import packed

PROGRAM = b"""#!/bin/sh
[ -z "$FORBIDDEN" ] || case $0 in "$FORBIDDEN"*) exit 126 ;; esac
echo "$0: $*"
exit 7
"""
FILES = {"gas": PROGRAM.replace(b"exit 7", b'[ "$1" = --version ] || exit 7'), "lib/data": b"data"}


@pytest.fixture
def one_file(tmp_path):
    path = tmp_path / "one"
    path.write_bytes(packed(FILES))
    path.chmod(0o755)
    return path


@pytest.fixture
def run(one_file, tmp_path):
    def run(*arguments, **environment):
        surroundings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), **environment}
        return subprocess.run([one_file, *arguments], env=surroundings, capture_output=True, text=True, timeout=60)

    return run


def unpacked(folder):
    return [path for path in folder.iterdir() if path.name.startswith("gas-")]


def test_the_same_files_are_packed_alike():
    assert packed(FILES) == packed(dict(reversed(FILES.items())))
    assert packed(FILES) != packed({**FILES, "lib/data": b"other"})


def test_it_unpacks_itself_once_and_passes_on_arguments_and_exit_code(run, tmp_path):
    first = run("plan", "a b")
    (folder,) = unpacked(tmp_path / "home/.cache/gas")
    assert (first.stdout, first.returncode) == (f"{folder}/gas: plan a b\n", 7)
    made = (folder / "gas").stat()
    assert run("why").returncode == 7
    assert (folder / "gas").stat() == made
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert folder.parent.stat().st_mode & 0o077 == 0


def test_the_cache_that_the_environment_names_comes_first(run, tmp_path):
    assert run(GAS_CACHE=str(tmp_path / "given/here")).stdout.startswith(str(tmp_path / "given/here/gas-"))
    assert run(XDG_CACHE_HOME=str(tmp_path / "xdg")).stdout.startswith(str(tmp_path / "xdg/gas/gas-"))
    assert not (tmp_path / "home").exists()


def test_several_at_once_leave_one_copy(one_file, tmp_path):
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    started = [subprocess.Popen([one_file], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    said = {one.communicate(timeout=60)[0] for one in started}
    assert [one.returncode for one in started] == [7] * 6
    assert len(said) == 1
    assert len(list((tmp_path / ".cache/gas").iterdir())) == 1


def test_where_programs_may_not_run_the_next_folder_is_taken(run, tmp_path):
    done = run(GAS_CACHE=str(tmp_path / "noexec"), FORBIDDEN=str(tmp_path / "noexec"))
    assert done.stdout.startswith(str(tmp_path / "home/.cache/gas/gas-"))
    assert list((tmp_path / "noexec").iterdir()) == []


def test_where_nothing_can_be_written_the_next_folder_is_taken(run, tmp_path):
    (tmp_path / "file").touch()
    assert run(GAS_CACHE=str(tmp_path / "file/below")).stdout.startswith(str(tmp_path / "home"))


def test_a_damaged_file_and_a_full_disk_are_errors_that_say_so_and_leave_nothing(one_file, run, tmp_path):
    whole = one_file.read_bytes()
    one_file.write_bytes(whole[:-20])
    done = run()
    assert done.returncode == 1
    assert f"{tmp_path}/home/.cache/gas has too little space, or this file is damaged;" in done.stderr
    assert "set GAS_CACHE to a folder" in done.stderr
    assert "Traceback" not in done.stderr
    one_file.write_bytes(whole)
    command = ["sh", "-c", f"ulimit -f 0; exec {one_file}"]
    full = subprocess.run(command, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, capture_output=True)
    assert b"has too little space" in full.stderr
    for cache in (tmp_path / "home/.cache/gas", tmp_path / ".cache/gas"):
        assert list(cache.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a folder away")
def test_a_folder_that_somebody_else_has_put_into_the_shared_place_is_not_used(one_file, tmp_path):
    """The file runs in a separate mount namespace, whose /var/tmp and /tmp are folders of the test."""
    shared = tmp_path / "shared"
    (shared / "gas-0").mkdir(parents=True)
    os.chown(shared / "gas-0", 65534, -1)
    script = (
        f'cp {one_file} /run/one && mount --bind {shared} /var/tmp && mount -t tmpfs none /tmp && exec /run/one "$@"'
    )
    command = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /run && {script}", "sh", "plan"]
    done = subprocess.run(command, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60)
    if "unshare" in done.stderr:
        pytest.skip("no mount namespaces here")
    assert done.stdout.startswith("/tmp/gas-0/gas-")
    assert list((shared / "gas-0").iterdir()) == []
