"""`experiments` holds one command, what studies share, and a package for each study, which knows no other study."""

import ast
from functools import cache
from pathlib import Path

import pytest
from test_structure import imports_in

import experiments

FOLDER = Path(experiments.__file__).parent
FILES = {
    path.relative_to(FOLDER).as_posix(): path.read_text() if path.suffix == ".py" else ""
    for path in FOLDER.rglob("*")
    if path.is_file() and path.parent.name != "__pycache__"
}
ALONE = {"__init__.py", "cli.py", "py.typed"}
SHARED = {"framework", "moldable", "published"}
MAY_IMPORT = {"framework": {"framework", "published"}, "published": {"published"}, "moldable": SHARED}
"""Packages that the shared ones import; a study imports these and itself."""

COMMANDS = ("cli.py", "framework/options.py")
"""What makes a study's command; its own options are in its study.py."""


@cache
def parsed(text):
    return ast.parse(text)


@cache
def imported(text):
    """Return the packages of `experiments` that a module imports, and other modules."""
    found = set()
    for node, _ in imports_in(parsed(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    calls = {ast.unparse(node.func) for node in ast.walk(parsed(text)) if isinstance(node, ast.Call)}
    found |= {"at run time" for call in calls if call.rpartition(".")[2] in ("import_module", "__import__")}
    return {name.split(".")[1] if name.startswith("experiments.") else name for name in found}


def functions(text):
    return [node for node in parsed(text).body if isinstance(node, ast.FunctionDef)]


def code_lines(function):
    """Return the number of lines of a function without its docstring, which is the help of its command."""
    first = function.body[0]
    help = first.end_lineno - first.lineno + 1 if ast.get_docstring(function) else 0
    return function.end_lineno - function.lineno + 1 - help


def faults(files):
    """Return the departures from the layout."""
    found = []
    packages = {name.partition("/")[0] for name in files if "/" in name}
    found += [f"{name} stands alone" for name in files if "/" not in name and name not in ALONE]
    for package in sorted(packages - SHARED):
        found += [
            f"{package} has no {name}" for name in ("__init__.py", "study.py") if f"{package}/{name}" not in files
        ]
    lines = sum(len(files[name].splitlines()) for name in COMMANDS)
    for name, text in files.items():
        package, _, rest = name.partition("/")
        if not rest or not name.endswith(".py"):
            continue
        known = imported(text) & {*packages, "at run time"}
        if strange := known - MAY_IMPORT.get(package, {package, *SHARED}):
            found.append(f"{name} imports {', '.join(sorted(strange))}")
        is_study = rest == "study.py" and package not in SHARED
        if any(one.split(".")[0] == "typer" for one in imported(text)) and not (is_study or name in COMMANDS):
            found.append(f"{name} makes a command of its own")
        if is_study:
            own = functions(text)
            if [one.name for one in own] != [f"{package}_options"]:
                found.append(f"{name} holds more than options")
            if f'STUDY = Study(\n    "{package}",\n' not in text:
                found.append(f"{name} defines no study {package}")
            lines += sum(map(code_lines, own))
    return found + ([f"commands have {lines} lines"] if lines >= 400 else [])


def test_the_layout_is_kept():
    assert faults(FILES) == []


MORE = "\n".join(f"A{number} = {number}" for number in range(400))


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("old.py", "", "old.py stands alone"),
        ("figures.csv", "", "figures.csv stands alone"),
        ("data/one.csv", "", "data has no __init__.py"),
        ("helpers/__init__.py", "", "helpers has no study.py"),
        ("walk/run.py", "import experiments.power.run", "walk/run.py imports power"),
        ("walk/run.py", "from experiments import power", "walk/run.py imports power"),
        ("walk/run.py", "def f():\n    from experiments.power.run import x", "walk/run.py imports power"),
        ("walk/run.py", "importlib.import_module('experiments.power')", "walk/run.py imports at run time"),
        ("framework/ledger.py", "from experiments.walk.run import x", "framework/ledger.py imports walk"),
        ("framework/ledger.py", "import experiments.moldable.terms", "framework/ledger.py imports moldable"),
        ("moldable/terms.py", "import experiments.walk", "moldable/terms.py imports walk"),
        ("published/__init__.py", "import experiments.framework.logs", "published/__init__.py imports framework"),
        ("walk/run.py", "from typer import Option", "walk/run.py makes a command of its own"),
        ("walk/study.py", FILES["walk/study.py"] + "def f(): pass\n", "walk/study.py holds more than options"),
        ("walk/study.py", FILES["power/study.py"], "walk/study.py holds more than options"),
        ("walk/study.py", FILES["walk/study.py"].replace('"walk"', '"x"'), "walk/study.py defines no study walk"),
        ("cli.py", FILES["cli.py"] + MORE, "commands have"),
    ],
)  # fmt: skip
def test_each_departure_from_it_is_found(name, text, fault):
    assert any(one.startswith(fault) for one in faults(FILES | {name: text}))
