"""The dependencies of a result: every module that computes it, its data, and the libraries; no report, no picture."""

import shutil
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from thorough import some

import experiments
from experiments import cli
from experiments.framework import dependencies
from experiments.framework.dependencies import LIBRARIES, PACKAGES, installed, reached, version_of

ROOT = Path(experiments.__file__).parent.parent
RUNS = {name: import_module(f"experiments.{name}.study").STUDY.run for name in (*cli.names(), "replay")}
VERSIONS = """
import sys
from importlib import import_module
from experiments.framework.dependencies import version_of
runs = [import_module(f"experiments.{name}.study").STUDY.run for name in sys.argv[1:]]
for line in sys.stdin:
    path, _, kind = line.rstrip().partition(" ")
    before = open(path, "rb").read()
    open(path, "ab").write(b"\\n")
    print(*map(version_of, runs), flush=True)
    open(path, "wb").write(before)
"""


def edited(tmp_path, studies, names):
    """Return the versions of studies in a copy of the sources: unedited, and with each of some files edited."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package)  # bytecode too, and when each was changed
    unread = tmp_path / "unread"
    unread.touch()
    files = [unread, *(tmp_path / name for name in names)]
    done = subprocess.run(
        [sys.executable, "-c", VERSIONS, *studies], cwd=tmp_path, input="".join(f"{file}\n" for file in files),
        env={"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, *others = [tuple(line.split()) for line in done.stdout.splitlines()]
    assert len(others) == len(names)
    return first, dict(zip(names, others, strict=True))


def module_of(run):
    return run.func.__module__ if isinstance(run, partial) else run.__module__


def relative(path):
    return path.relative_to(ROOT).as_posix()


def test_an_edit_in_any_module_that_a_run_reaches_changes_its_version_and_no_other(tmp_path):
    studies = some(sorted(RUNS), 2)
    reach = [{relative(path) for path in reached([module_of(RUNS[name])]).values()} for name in studies]
    names = some(sorted(set().union(*reach)), 5)
    first, changed = edited(tmp_path, studies, names)
    for number, files in enumerate(reach):
        assert {name for name in names if changed[name][number] != first[number]} == files.intersection(names)


@pytest.mark.thorough
def test_an_edit_in_a_report_a_picture_or_a_page_of_the_guide_leaves_the_version(tmp_path):
    names = ["experiments/power/report.py", "experiments/power/pictures.py", "experiments/power/study.py",
             "experiments/power/claims.py", "gas/report/report.html.jinja", "gas/pictures/__init__.py",
             "gas/cli/main.py", "gas/guide/security.md"]  # fmt: skip
    names = some(names, 4)
    first, changed = edited(tmp_path, ["power", "prediction"], names)
    assert changed == dict.fromkeys(names, first)


@pytest.mark.parametrize("study", RUNS)
def test_what_the_search_consists_of_is_reached_by_every_study(study):
    found = reached([module_of(RUNS[study])])
    search = {"gas.profile.flat", "gas.profile.gaps", "gas.times", "gas.compiled", "gas.availability"}
    engine = set() if study == "conditional" else {"gas.simulation.simulate", "gas.simulation.engine"}
    rigid = study in ("backfilling", "conditional", "estimates", "priorities", "walltime")
    assert search | engine | (set() if rigid else {"gas.planner"}) <= found.keys()
    assert not [name for name in found if name.endswith("report") or "pictures" in name or name.startswith("gas.cli")]


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize("study", RUNS)
def test_all_that_is_imported_when_a_study_is_computed_is_reached(study):
    module = module_of(RUNS[study])
    program = f"import sys, {module}\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    imported = {name for name in done.stdout.split() if name.partition(".")[0] in PACKAGES}
    assert imported <= reached([module]).keys()


def test_libraries_that_compute_are_counted_and_others_are_known():
    """Numba brings its own llvmlite; logs, whose contents count, are read by pyarrow and fetched by pooch and requests.

    The others compute no numbers.
    """
    found = set()
    for run in RUNS.values():
        for name, path in reached([module_of(run)]).items():
            if path.suffix == ".py":
                found |= {one.partition(".")[0] for one in dependencies._imported(path, name)}
    others = {"lazy_loader", "llvmlite", "pooch", "pyarrow", "requests", "sortedcontainers", "threadpoolctl"}
    known = {"sklearn" if name == "scikit-learn" else name for name in LIBRARIES}
    assert found - sys.stdlib_module_names - {*PACKAGES} == known | others


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a package whose only module reads a table and imports others when it is called."""
    folder = tmp_path / "pretended"
    (folder / "tables").mkdir(parents=True)
    (folder / "part").mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "part" / "__init__.py").write_text("")
    (folder / "part" / "late.py").write_text("from . import beside\n")
    (folder / "part" / "beside.py").write_text("import pretended.run\n")
    (folder / "typed.py").write_text("")
    (folder / "tables" / "one.csv").write_text("1\n")
    (folder / "page.md").write_text("")
    (folder / "run.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pretended import typed\n"
        "def run():\n    from pretended.part.late import nothing\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))  # after the module was written: finders cache the contents of folders
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "pretended"]:
        del sys.modules[name]


def names(package, module="pretended.run"):
    return sorted(reached([module], packages=["pretended"]))


WHEREVER = """
class One:
    async def two(self):
        for _ in ():
            import pretended.m0
        else:
            import pretended.m1
        while True:
            with open(""):
                import pretended.m2
        match 1:
            case 1:
                import pretended.m3
        if 1:
            import pretended.m4
        elif 2:
            import pretended.m5
        try:
            import pretended.m6
        except ImportError:
            import pretended.m7
        else:
            import pretended.m8
        finally:
            import pretended.m9
"""


def test_imports_count_wherever_they_stand(package):
    for n in range(10):
        (package / f"m{n}.py").write_text("")
    (package / "run.py").write_text(WHEREVER)
    assert {f"pretended.m{n}" for n in range(10)} <= reached(["pretended.run"], packages=["pretended"]).keys()


def test_imports_within_functions_count_those_for_type_checkers_do_not(package):
    assert names(package) == [
        "pretended", "pretended.part", "pretended.part.beside", "pretended.part.late", "pretended.run",
        "pretended/tables/one.csv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ("from pretended.part import name", True),
        ("from pretended.part import *", True),
        ("import pretended.part", True),
        ("from pretended import part", True),
        ("from pretended.part import late", False),
        ("import pretended.part.late", False),
    ],
)
def test_what_a_package_imports_on_demand_counts_where_it_is_named(package, imports, expected):
    (package / "part" / "__init__.pyi").write_text("from ..typed import name as name\n")
    dependencies._of_stub.cache_clear()
    (package / "user.py").write_text(f"{imports}\n")
    found = names(package, "pretended.user")
    assert "pretended.part" in found
    assert ("pretended.typed" in found) is expected


@pytest.mark.parametrize("study", RUNS)
def test_a_study_does_not_depend_on_all_that_gas_exports(study):
    found = reached([module_of(RUNS[study])])
    assert not [name for name in found if name.startswith(("gas.agent", "gas.endpoints", "gas.service"))]


def test_a_module_that_is_not_there_is_an_error(package):
    with pytest.raises(ModuleNotFoundError, match="pretended.none"):
        names(package, "pretended.none")


@pytest.mark.thorough
def test_the_version_is_that_of_the_function_whatever_it_was_given_already():
    assert (
        version_of(partial(partial(RUNS["power"], 1), files={}))
        == version_of(RUNS["power"])
        != version_of(RUNS["walk"])
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_version_follows_that_of_each_library(monkeypatch, library):
    before, known = version_of(RUNS["power"]), dependencies.version
    monkeypatch.setattr(dependencies, "version", lambda name: "0.0" if name == library else known(name))
    assert version_of(RUNS["power"]) != before


def test_the_version_follows_that_of_python(monkeypatch):
    before = version_of(RUNS["power"])
    monkeypatch.setattr(sys, "version_info", SimpleNamespace(major=3, minor=99))
    assert version_of(RUNS["power"]) != before


def test_libraries_that_are_not_installed_are_left_out():
    assert [one.split()[0] for one in installed(["numpy", "no-such-library"])] == ["numpy"]
