"""Processes that compile kernels beside this one: started once, and waited for."""

from gas import beside
from gas.compiled import kernel


@kernel
def first_kernel(x):
    return x


def test_a_process_beside_compiles_once_and_knows_no_module_of_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "gas.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    statement = f"import gas.compiled; open({str(tmp_path / 'done')!r}, 'a').write('once')"
    for _ in range(2):
        assert beside.compile_beside(first_kernel, statement)
    assert beside._beside.pop((statement,))[0].wait(30) == 0
    assert (tmp_path / "done").read_text() == "once"


def test_processes_that_need_the_same_machine_code_start_one_compiler_together(tmp_path, monkeypatch):
    monkeypatch.setenv("GAS_CACHE", str(tmp_path))
    go_on = tmp_path / "go on"
    waits = f"import pathlib, time\nwhile not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.01)"
    assert beside.compile_beside(first_kernel, waits)
    first = beside._beside.pop((waits,))[0]
    assert beside.compile_beside(first_kernel, "after = 1"), "it is on its way"
    assert ("after = 1",) not in beside._beside, "and no other process was started"
    go_on.touch()
    assert first.wait(30) == 0
    assert beside.compile_beside(first_kernel, "after = 1")
    assert beside._beside.pop(("after = 1",))[0].wait(30) == 0


def test_several_processes_are_on_their_way_until_one_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("GAS_CACHE", str(tmp_path))
    go_on = tmp_path / "go on"
    waits = f"import pathlib, time\nwhile not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.01)"
    assert beside.compile_beside(first_kernel, waits, "at_once = 1")
    one, other = beside._beside.pop((waits, "at_once = 1"))
    assert other.wait(30) == 0
    assert one.poll() is None
    assert beside.compile_beside(first_kernel, "later = 1"), "the first process has not ended"
    assert ("later = 1",) not in beside._beside
    go_on.touch()
    assert one.wait(30) == 0
    beside.compile_beside(first_kernel, "raise SystemExit(1)", "after = 1")
    for each in beside._beside[("raise SystemExit(1)", "after = 1")]:
        each.wait(30)
    assert not beside.compile_beside(first_kernel, "raise SystemExit(1)", "after = 1"), "one has failed"
    del beside._beside[("raise SystemExit(1)", "after = 1")]
