"""Kernels as machine code: compiled with all that they call, and never an outdated version from the file cache."""

import ast
import importlib.util
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest

from gas import compiled as module
from gas.compiled import (
    WORTH_COMPILING,
    WORTH_WAITING,
    announce,
    available,
    cache_directory,
    compiled,
    fastest,
    kernel,
    only_ready,
    tell_of_compiling,
)
from gas.profile.blocks import empty_blocks
from gas.profile.flat import earliest_fit, empty_profile
from gas.s3.placing import place

# Three files: a kernel, which calls a kernel in another file, which uses a constant of a file without kernels.
OUTER = """
from gas.compiled import kernel
from inner import twice

@kernel
def outer(x):
    return 10 * twice(x)
"""
INNER = """
from gas.compiled import kernel
from constants import OFFSETS, STEP

@kernel
def twice(x):
    return 2 * x + sum([STEP * y for y in OFFSETS])
"""
CONSTANTS = "STEP = 1\nOFFSETS = (1, 0)\n"


@pytest.fixture(scope="module")
def started_numba():
    """Have numba compile something: forked processes share its initial set-up, which takes seconds."""
    module._import_numba()
    import numba

    numba.njit(lambda x: x)(1)


@pytest.fixture
def sources(tmp_path, started_numba):
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "outer.py").write_text(OUTER)
    (folder / "inner.py").write_text(INNER)
    (folder / "constants.py").write_text(CONSTANTS)
    return folder


class Run:
    """A kernel called in a fork of this process, which has started numba and knows none of the sources."""

    def __init__(self, sources, cache, name="outer", given=lambda: 1):
        forked = multiprocessing.get_context("fork")
        self.answer, theirs = forked.Pipe(duplex=False)
        self.process = forked.Process(target=self._call, args=(sources, cache, name, given, theirs))
        self.process.start()
        theirs.close()

    def _call(self, sources, cache, name, given, answer):
        os.environ["GAS_CACHE"] = str(cache)
        sys.path.insert(0, str(sources))
        sys.dont_write_bytecode = True  # sources change within a second
        module._source.cache_clear()
        machine_code = compiled(getattr(importlib.import_module(name), name))
        answer.send((machine_code(given()), sum(machine_code.stats.cache_hits.values())))

    def done(self):
        """Return its answer and how many kernels came from the file cache."""
        with self.answer:
            answer = self.answer.recv()
        self.process.join()
        return answer


def run(sources, cache, name="outer", given=lambda: 1):
    return Run(sources, cache, name, given).done()


@pytest.mark.thorough
def test_the_cache_serves_unchanged_sources_and_notices_changes_anywhere_below(sources, tmp_path):
    cache = tmp_path / "cache"
    assert run(sources, cache) == (30, 0)
    assert run(sources, cache) == (30, 1)

    (sources / "constants.py").write_text("STEP = 5\nOFFSETS = (1, 0)\n")  # in a file that holds no kernel
    assert run(sources, cache) == (70, 0)

    (sources / "constants.py").write_text("STEP = 5\nOFFSETS = (1, 1)\n")
    assert run(sources, cache) == (120, 0)

    (sources / "inner.py").write_text(INNER.replace("2 * x", "3 * x"))  # in a file that is not the kernel's own
    assert run(sources, cache) == (130, 0)

    (sources / "constants.py").write_text(CONSTANTS)
    (sources / "inner.py").write_text(INNER)
    assert run(sources, cache) == (30, 1)  # unchanged, and still cached
    assert not list(sources.rglob("*.nbi"))  # nor did numba write beside the sources


def test_a_record_that_moves_to_another_module_leaves_no_files_that_cannot_be_read(sources, tmp_path):
    pair = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int\n"
    (sources / "pairs.py").write_text(pair)
    (sources / "both.py").write_text(
        "from __future__ import annotations\nfrom typing import NamedTuple\nfrom pairs import Pair\n"
        "class Both(NamedTuple):\n    first: Pair\n    second: int\n"
    )
    (sources / "outer.py").write_text(
        "from __future__ import annotations\nfrom gas.compiled import kernel\nfrom both import Both\n"
        "@kernel\ndef outer(both: Both) -> int:\n    return both.second\n"
    )

    def pair_and_number():
        both = importlib.import_module("both")
        return both.Both(both.Pair(1, 2), 30)

    cache = tmp_path / "cache"
    assert run(sources, cache, given=pair_and_number) == (30, 0)
    assert run(sources, cache, given=pair_and_number) == (30, 1)
    (sources / "pairs.py").rename(sources / "couples.py")
    (sources / "both.py").write_text((sources / "both.py").read_text().replace("pairs", "couples"))
    assert run(sources, cache, given=pair_and_number) == (30, 0)


def test_a_copy_of_the_sources_elsewhere_shares_the_cache(sources, tmp_path):
    cache = tmp_path / "cache"
    assert run(sources, cache) == (30, 0)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(sources, elsewhere, copy_function=shutil.copyfile)  # written later, too
    assert run(elsewhere, cache) == (30, 1)
    moved = cache.rename(tmp_path / "moved")
    assert run(elsewhere, moved) == (30, 1)


@pytest.mark.thorough
def test_machine_code_that_is_not_used_for_long_goes_when_a_source_changes(sources, tmp_path):
    cache = tmp_path / "cache"
    run(sources, cache)
    old = {each for each in cache.iterdir() if each.name.startswith("kernels-")}
    long_ago = time.time() - (module.UNUSED_DAYS + 1) * 86400
    for each in old:  # of both kernels; one of them is unchanged
        os.utime(each / "lock", (long_ago, long_ago))
    (unused,) = (each for each in old if list(each.glob("outer*.nbi")))
    (sources / "outer.py").write_text((sources / "outer.py").read_text() + "\n# changed\n")
    run(sources, cache)
    assert not unused.exists()
    assert all(each.exists() for each in old - {unused})


def test_a_use_is_noticed(sources, tmp_path):
    cache = tmp_path / "cache"
    run(sources, cache)
    locks = list(cache.glob("kernels-*/lock"))
    for each in locks:
        os.utime(each, (0, 0))
    assert run(sources, cache)[1] == 1  # loaded, not compiled
    assert any(each.stat().st_mtime > 0 for each in locks)


def test_processes_that_need_it_at_the_same_time_compile_it_once(sources, tmp_path):
    runs = [Run(sources, tmp_path / "cache") for _ in range(3)]
    assert sorted(one.done() for one in runs) == [(30, 0), (30, 1), (30, 1)]


@pytest.mark.thorough
def test_what_two_kernels_call_is_compiled_once(sources, tmp_path):
    cache = tmp_path / "cache"
    assert run(sources, cache) == (30, 0)
    (sources / "other.py").write_text(OUTER.replace("outer", "other"))
    assert run(sources, cache, "other") == (30, 0)
    assert len(list(cache.rglob("*.twice-inner.nbi"))) == 1


def load(sources, name, monkeypatch):
    """Import a module of the temporary sources under a new name."""
    monkeypatch.syspath_prepend(str(sources))
    for other in ("constants", "inner", "outer"):
        monkeypatch.delitem(sys.modules, other, raising=False)
    spec = importlib.util.spec_from_file_location(name, sources / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, loaded)
    spec.loader.exec_module(loaded)
    return loaded


def test_a_cache_directory_that_cannot_be_made_costs_only_the_cache(sources, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GAS_CACHE", str(tmp_path / "file" / "cache"))
    assert compiled(load(sources, "outer", monkeypatch).outer)(1) == 30


def test_nor_does_one_that_cannot_be_written_to_move_the_cache_beside_the_sources(sources, tmp_path, monkeypatch):
    # numba's own way out is __pycache__, where a changed callee would go unnoticed.
    monkeypatch.setenv("GAS_CACHE", str(tmp_path / "cache"))
    outer = load(sources, "outer", monkeypatch).outer
    directory = cache_directory(outer)
    directory.parent.mkdir(parents=True)
    directory.write_text("")  # root may write into any directory, but not make one where a file is
    assert compiled(outer)(1) == 30
    assert not list(sources.rglob("*.nbi"))


def test_the_directory_is_named_by_gas_cache_else_by_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GAS_CACHE", str(tmp_path / "own"))
    name = cache_directory(place).name
    assert cache_directory(place).parent == tmp_path / "own"
    monkeypatch.delenv("GAS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory(place) == tmp_path / "xdg" / "gas" / name
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory(place) == Path.home() / ".cache" / "gas" / name


def test_a_constant_below_changes_the_directory_though_no_file_did(monkeypatch):
    import gas.profile.holes

    before = cache_directory(place)
    monkeypatch.setattr(gas.profile.holes, "NEVER", -2)
    assert cache_directory(place) != before


def test_a_marked_kernel_stays_the_plain_function():
    def square(x):
        return x * x

    assert kernel(square) is square
    assert isinstance(place, types.FunctionType)
    assert square(3) == 9


def test_kernels_that_a_kernel_calls_are_compiled_along():
    # `place` calls first_fit and take, which call others; machine code cannot call a plain function.
    machine_code = compiled(place)
    profile = empty_blocks(10, 0)
    assert [int(machine_code(profile, p, 100, 0)) for p in (6, 6, 4)] == [0, 100, 0]
    assert machine_code.nopython_signatures
    assert compiled(place) is machine_code


@kernel
def times(number, factor):
    return number * factor


@kernel
def passes_constants(number):
    return times(number, 3) + times(number, 4)


@pytest.fixture
def nothing_compiled(monkeypatch):
    monkeypatch.setattr(module, "_compiled", {})
    monkeypatch.setattr(module, "_inner", {})


def test_small_problems_are_answered_by_the_plain_function(nothing_compiled):
    assert fastest(earliest_fit, WORTH_COMPILING) is earliest_fit


def test_large_ones_by_machine_code_and_so_is_everything_once_it_is_at_hand(nothing_compiled):
    machine_code = fastest(earliest_fit, WORTH_COMPILING + 1)
    assert machine_code is not earliest_fit
    assert fastest(earliest_fit, 1) is machine_code


def test_a_large_kernel_is_compiled_only_where_that_pays_and_what_takes_so_long_is_said_once(
    nothing_compiled, monkeypatch
):
    said = []
    tell_of_compiling(said.append)
    monkeypatch.setattr(module, "is_ready", lambda kernel: False)
    assert fastest(earliest_fit, WORTH_WAITING, large="what fits") is earliest_fit
    assert said == []
    machine_code = fastest(earliest_fit, WORTH_WAITING + 1, large="what fits")
    assert machine_code is not earliest_fit
    assert fastest(place, WORTH_WAITING + 1, large="what fits") is not place
    assert said == ["first use: compiling what fits (up to half a minute)"]


def test_a_program_that_says_nothing_else_has_it_logged_once(monkeypatch, caplog):
    monkeypatch.setattr(module, "_telling", [module._log])
    monkeypatch.setattr(module, "is_ready", lambda kernel: False)
    for _ in range(2):
        announce(earliest_fit, "what fits")
    assert [(one.name, one.getMessage()) for one in caplog.records] == [
        ("gas.compiled", "first use: compiling what fits (up to half a minute)")
    ]


def test_what_is_kept_is_not_announced(monkeypatch, caplog):
    monkeypatch.setattr(module, "_telling", [module._log])
    monkeypatch.setattr(module, "is_ready", lambda kernel: True)
    announce(earliest_fit, "what fits")
    assert caplog.records == []


def test_a_large_kernel_that_is_kept_is_taken_as_any_other(nothing_compiled, monkeypatch):
    monkeypatch.setattr(module, "is_ready", lambda kernel: True)
    assert fastest(earliest_fit, WORTH_COMPILING + 1, large="what fits") is not earliest_fit


def test_while_only_ready_code_is_used_nothing_is_compiled(nothing_compiled, monkeypatch):
    monkeypatch.setattr(module, "is_ready", lambda kernel: False)
    assert fastest(place, 10**9) is not place
    with only_ready():
        assert fastest(earliest_fit, 10**9) is earliest_fit
        monkeypatch.setattr(module, "is_ready", lambda kernel: True)
        assert fastest(earliest_fit, 10**9) is not earliest_fit


def test_a_constant_that_is_passed_on_is_compiled_as_any_other_number(monkeypatch, tmp_path):
    monkeypatch.setenv("GAS_CACHE", str(tmp_path))
    machine_code = compiled(passes_constants)
    assert machine_code(3) == 3 * 3 + 4 * 3
    assert len(module._inner[times].signatures) == 1


def test_without_numba_large_problems_are_answered_too(nothing_compiled, monkeypatch):
    monkeypatch.setattr(module, "available", lambda: False)
    assert fastest(earliest_fit, 10**9) is earliest_fit


def test_numba_is_here_and_that_is_found_out_without_importing_it():
    assert available()
    code = "import sys; from gas.compiled import available; assert available(); assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_gas_and_planning_on_files_imports_nothing_heavy(tmp_path):
    application, availability = tmp_path / "lu.toml", tmp_path / "kth.json"
    application.write_text('[speedup]\nmodel = "nas"\nbenchmark = "LU"\nclass = "C"\n')
    frames = [{"start": 5, "end": 900, "free": 64}, {"start": 900, "end": None, "free": 100}]
    availability.write_text(
        json.dumps(
            {
                "schema": "gas.availability/1",
                "scheduler": "kth",
                "kind": "promise",
                "now": 5,
                "processors": 100,
                "version": "1",
                "frames": frames,
            }
        )
    )
    code = f"""
import sys
import time
import gas
assert gas.plan(gas.read_application({str(application)!r}), gas.read_availability({str(availability)!r})).best
heavy = ["numba", "scipy", "pandas", "pyarrow", "matplotlib", "fastapi", "uvicorn", "dask", "distributed", "requests"]
print([name for name in heavy if name in sys.modules])
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_kernels_answer_numpy_and_machine_integers_alike():
    profile = empty_profile(10, 0)
    for processors in (3, np.int64(3)):
        assert compiled(earliest_fit)(profile, processors, 5, 0) == earliest_fit(profile, processors, 5, 0) == 0


@pytest.mark.thorough
def test_settings_of_numba_in_the_current_folder_are_not_read(tmp_path):
    (tmp_path / ".numba_config.yaml").write_text("cache_locator_classes: planted.X\n")
    (tmp_path / "yaml.py").write_text("raise SystemExit('the folder was imported from')\n")
    program = (
        "import sys; sys.path.append('.'); from gas.compiled import _import_numba; _import_numba(); "
        "import numba.core.config as c; print(c._HAVE_YAML, 'yaml' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_threads_that_need_numba_at_the_same_time_wait_for_one_of_them_to_import_it(tmp_path):
    """All threads share numba's hidden settings: one thread showed them again while another was still importing."""
    for name in ("numba", "yaml"):
        (tmp_path / f"{name}.py").write_text("")
    program = """if True:
        import sys, threading, time
        from gas.compiled import _import_numba

        class Slow:
            def find_spec(name, *others):
                time.sleep(0.1)

        sys.path.insert(0, ".")
        sys.meta_path.insert(0, Slow)
        failed = []
        threading.excepthook = failed.append
        threads = [threading.Thread(target=_import_numba) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        import yaml
        print(len(failed), "numba" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["0", "True"], done.stderr


# What numba cannot compile although plain Python runs it; default tests call most kernels as plain functions.
UNKNOWN_TO_NUMBA = (
    ast.NamedExpr,
    ast.Try,
    ast.With,
    ast.Yield,
    ast.YieldFrom,
    ast.Lambda,
    ast.Match,
    ast.Dict,
    ast.DictComp,
    ast.JoinedStr,
    ast.Global,
    ast.Starred,
)
MAKE_ARRAYS = frozenset(
    [
        "arange",
        "array",
        "astype",
        "concatenate",
        "copy",
        "empty",
        "empty_like",
        "full",
        "nonzero",
        "ones",
        "repeat",
        "sort",
        "where",
        "zeros",
        "zeros_like",
    ]
)
LEAN = {"lean_kernel", "inlined_kernel"}


def marks(function: ast.FunctionDef) -> set[str]:
    return {mark.id for mark in function.decorator_list if isinstance(mark, ast.Name)}


def does_not_compile(function: ast.FunctionDef) -> list[str]:
    """Return the constructs in a kernel's source that machine code cannot have."""
    found = []
    for node in (inner for statement in function.body for inner in ast.walk(statement)):
        if isinstance(node, UNKNOWN_TO_NUMBA):
            found.append(f"{function.name}, line {node.lineno}: {type(node).__name__}")
        elif isinstance(node, ast.Call) and marks(function) & LEAN:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in MAKE_ARRAYS:
                found.append(f"{function.name}, line {node.lineno}: a lean kernel calls {called}")
    return found


def test_no_kernel_holds_what_machine_code_cannot():
    sources = Path(module.__file__).parent.parent
    kernels, wrong = 0, []
    for package in ("gas", "experiments", "speedup_models", "workloads"):
        for path in sorted((sources / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "kernel\n" not in text:
                continue
            for function in ast.walk(ast.parse(text)):
                if isinstance(function, ast.FunctionDef) and marks(function) & {"kernel", *LEAN}:
                    kernels += 1
                    wrong += [f"{path.relative_to(sources)}: {what}" for what in does_not_compile(function)]
    assert kernels > 200
    assert wrong == []


@pytest.mark.parametrize(
    ("mark", "body", "found"),
    [
        ("kernel", "if (first := row[0]) > 0:\n  return first", ["f, line 3: NamedExpr"]),
        ("kernel", "return row.copy()", []),
        ("lean_kernel", "return row.copy()[0]", ["f, line 3: a lean kernel calls copy"]),
        ("inlined_kernel", "return np.zeros(3)[0]", ["f, line 3: a lean kernel calls zeros"]),
    ],
)
def test_what_does_not_compile_is_found_in_its_source(mark, body, found):
    (function,) = ast.parse(f"@{mark}\ndef f(row):\n {body}").body
    assert does_not_compile(function) == found
