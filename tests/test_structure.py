"""The floor plan: imports point down, deciding code touches no clock, file, network or terminal, maps are true."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import gas

ROOT = Path(gas.__file__).parent.parent
PACKAGES = ("gas", "documents", "speedup_models", "workloads", "experiments")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

FLOORS = [
    {"documents"},
    {"speedup_models", "workloads"},
    {"gas.machine_code"},
    {"gas.errors", "gas.compiled", "gas.collector", "gas.printable", "gas.json_text"},
    {"gas.dask_workers", "gas.beside"},
    {"gas.times", "gas.heap", "gas.profile", "gas.resources", "gas.placeholders", "gas.report", "gas.intervals"},
    {"gas.walk"},
    {"gas.availability", "gas.application"},
    {"gas.planner", "gas.reading"},
    {"gas.reshaping", "gas.coallocation"},
    {"gas.s3", "gas.slurm"},
    {"gas.simulation"},
    {"gas.policies"},
    {"gas.prediction"},
    {"gas.endpoints", "gas.pictures"},
    {"gas.notebook"},
    {"gas.agent"},
    {"gas.workflows"},
    {"gas.service"},
    {"gas.guide"},
    {"gas.cli"},
    {"gas.bundle", "gas.manual"},
    {"experiments"},
]
"""From the bottom; a module imports only from its own package and from lower floors."""

PURE = [
    "gas.heap",
    "gas.profile",
    "gas.walk",
    "gas.availability",
    "gas.application",
    "gas.resources",
    "gas.placeholders",
    "gas.planner",
    "gas.coallocation",
    "gas.reshaping",
    "gas.s3",
    "gas.slurm",
    "gas.simulation",
    "gas.policies.view",
    "gas.prediction",
    "gas.errors",
]
OF_SLURM = (
    "notation", "resources", "configuration", "command_line", "scontrol_records", "details", "json_answers",
    "json_jobs", "json_machine", "stand_ins", "json_requests", "refusals", "rest_refusals",
    "interpretation", "availability", "submission", "records", "transport",
    "generation", "queue", "directives", "options", "sizing", "requested", "choices", "reasons", "setting_answers",
    "accounting_answers", "json_associations", "limit_records",
)  # fmt: skip
PURE += [f"gas.endpoints.slurm.{name}" for name in OF_SLURM]
PURE += [
    f"gas.endpoints.oar.{name}"
    for name in ("machine", "answers", "interpretation", "records", "submission", "transport")
]
PURE += ["gas.endpoints.wording", "gas.endpoints.records", "gas.endpoints.s3_queue"]
# They move bytes, say how long the event loop took, and share work among threads.
EDGES = ["gas.simulation.files", "gas.simulation.simulate", "gas.prediction.parts"]
ACTING = {
    "asyncio", "http", "logging", "os", "pathlib", "requests", "rich", "select", "shutil", "signal", "socket",
    "sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "typer", "urllib",
}  # fmt: skip

HEAVY = ("requests", "numba", "scipy", "pandas", "matplotlib", "fastapi", "uvicorn", "dask", "sqlite3")


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def statements(tree):
    """Return all statements below a node; expressions, which are most of a tree, contain none."""
    waiting, found = [tree], []
    while waiting:
        node = waiting.pop()
        found.append(node)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, part, [])
            waiting += below if isinstance(below, list) else []
    return found


@cache
def read(path):
    """Return a module's imports, its private names, and its docstrings' unknown names; parsing takes longest."""
    text = path.read_text()
    tree = ast.parse(text)
    return imports_in(tree), private_names_used(tree) if SUSPICIOUS.search(text) else set(), unknown_names(tree)


def imports_in(tree):
    """Return the import statements of a module, each with whether only types need it."""
    found = statements(tree)
    for_types = {
        id(one)
        for node in found
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for one in node.body
    }
    return [(node, id(node) in for_types) for node in found if isinstance(node, ast.Import | ast.ImportFrom)]


@cache
def imported_by(path):
    found = []
    for node, _ in read(path)[0]:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        else:
            assert node.level == 0, "imports are absolute"
            found.append(node.module)
            if node.module in ("gas", *PACKAGES):
                found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def floor(module):
    for height, modules in enumerate(FLOORS):
        for one in modules:
            if module == one or module.startswith(f"{one}."):
                return height, one
    return None


def test_imports_point_down():
    wrong = []
    for path in MODULES:
        own = name_of(path)
        if own in ("gas", "gas.__main__"):
            continue
        assert floor(own) is not None, f"{own} is on no floor"
        height, package = floor(own)
        for imported in imported_by(path):
            below, where = floor(imported) or (-1, None)
            if imported == "gas":
                wrong.append(f"{own} imports the package's front door; give the module")
            elif where != package and below >= height:
                wrong.append(f"{own} imports {imported}, which is not below it")
    assert not wrong


def in_circles(imports):
    """Return the modules left after repeatedly removing those that import none of the rest, or that none imports."""
    left = {name: set(below) for name, below in imports.items()}
    while left:
        imported = set().union(*left.values())
        ends = {name for name, below in left.items() if name not in imported or not below & left.keys()}
        if not ends:
            break
        left = {name: below - ends for name, below in left.items() if name not in ends}
    return sorted(left)


def test_no_circle_of_imports_within_a_package():
    """Imports in functions count too; those for types alone do not run."""
    names = {name_of(path) for path in MODULES}
    found = {}
    for path in MODULES:
        imported = set()
        for node, for_types in read(path)[0]:
            aliases = {alias.name for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                modules = {f"{node.module}.{name}" for name in aliases}
                aliases = modules if modules <= names else {node.module, *modules}
            imported |= set() if for_types else aliases
        found[name_of(path)] = (imported & names) - {name_of(path)}
    # A plan's explanation is read when one is asked for: planning on a file imports one module less.
    assert in_circles(found) == ["gas.cli.candidates", "gas.cli.plan"]


def test_a_circle_is_found():
    assert in_circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == ["b", "c"]


PUBLIC_ALL_THE_SAME = {"_exit", "_replace", "_asdict", "_fields", "_make"}
"""Names of the standard library that are meant for everybody."""


def private(name):
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC_ALL_THE_SAME


SUSPICIOUS = re.compile(r"(?<!\bself)(?<!\bcls)\._[a-z]|(?:\bimport|,)\s*\(?\s*_[a-z]", re.IGNORECASE)
"""A possible private name of another module; without one, a module's expressions need not be searched."""


def private_names_used(tree):
    """Return names of other modules that begin with an underscore."""
    nodes = list(ast.walk(tree))
    imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    reached = {
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in own
        if ast.unparse(node.value) not in ("self", "cls")
    }
    return reached | {name for name in imported if private(name)}


def test_no_module_uses_a_private_name_of_another():
    used = {name_of(path): read(path)[1] for path in MODULES}
    assert {name: names for name, names in used.items() if names} == {
        "gas.workflows.psij": {"self._executor._set_job_status"}  # PSI/J's own, which it asks executors to call
    }


@pytest.mark.parametrize("package", ["documents", "speedup_models", "workloads"])
def test_the_ground_floor_knows_nothing_of_the_others(package):
    others = {*PACKAGES} - {package, "documents"}
    for path in (ROOT / package).rglob("*.py"):
        assert not {name.split(".")[0] for name in imported_by(path)} & others, path


@pytest.mark.thorough
def test_a_study_takes_three_or_four_files_and_no_copied_lines():
    assert {path.name for path in (ROOT / "experiments" / "walk").glob("*.py")} == {
        "__init__.py", "report.py", "run.py", "study.py",
    }  # fmt: skip
    standing = {}
    for path in sorted((ROOT / "experiments").rglob("*.py")):
        lines = code_of(path)
        for place in range(len(lines) - COPIED + 1):
            run = tuple(line for _, line in lines[place : place + COPIED])
            first, number = standing.setdefault(run, (path, lines[place][0]))
            assert first == path, f"{path}:{lines[place][0]} repeats {first}:{number}"


COPIED = 6
"""Lines that no two modules of `experiments` share to the letter, imports and lone brackets apart."""


def code_of(path):
    """Return the significant lines of a module, with their numbers."""
    text = path.read_text()
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {number for node in imports for number in range(node.lineno, node.end_lineno + 1)}
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if number not in imported]
    return [(number, line) for number, line in lines if len(line) > 3 and not line.startswith("#")]


def test_nothing_imports_experiments():
    for path in MODULES:
        if not name_of(path).startswith("experiments"):
            assert not any(name.split(".")[0] == "experiments" for name in imported_by(path)), path


def test_deciding_code_acts_on_nothing():
    deciding = [path for path in MODULES if name_of(path).startswith(tuple(PURE)) and name_of(path) not in EDGES]
    acts = {name_of(path): {name.split(".")[0] for name in imported_by(path)} & ACTING for path in deciding}
    assert not {name: imported for name, imported in acts.items() if imported}


def test_each_package_docstring_maps_its_modules():
    for package in (
        "gas.agent",
        "gas.bundle",
        "gas.cli",
        "gas.endpoints",
        "gas.endpoints.oar",
        "gas.endpoints.slurm",
        "gas.guide",
        "gas.notebook",
        "gas.manual",
        "gas.pictures",
        "gas.policies",
        "gas.profile",
        "gas.s3",
        "gas.service",
        "gas.simulation",
        "gas.slurm",
        "gas.workflows",
        "documents",
        "experiments",
        *sorted(f"experiments.{path.parent.name}" for path in (ROOT / "experiments").glob("*/__init__.py")),
        "speedup_models",
        "workloads",
    ):
        documentation = importlib.import_module(package).__doc__
        folder = ROOT / Path(*package.split("."))
        for module in (m.name for m in pkgutil.iter_modules([str(folder)])):
            assert re.search(rf"\b{module}\b", documentation), f"{package} does not say what {module} is"


def explained(function):
    """Return the parameters that a function's docstring explains."""
    documentation = ast.get_docstring(function) or ""
    _, _, section = documentation.partition("Parameters\n----------\n")
    section = re.split(r"\n\n\w+\n-{3,}", section)[0]
    return [name for line in section.splitlines() if line[:1].strip() for name in line.split(", ")]


def unknown_names(tree):
    """Return the functions whose docstrings explain parameters that they do not have, with these."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.args.kwarg is None:
            every = (*node.args.posonlyargs, *node.args.args, node.args.vararg, *node.args.kwonlyargs)
            if unknown := set(explained(node)) - {one.arg for one in every if one is not None}:
                found[node.name] = unknown
    return found


def test_docstrings_explain_parameters_by_their_names():
    assert {path: names for path in MODULES if (names := read(path)[2])} == {}


@pytest.mark.parametrize("path", sorted((ROOT / "gas" / "agent").glob("*.py")), ids=name_of)
def test_the_agent_knows_no_terminal(path):
    assert not {name.split(".")[0] for name in imported_by(path)} & {"rich", "sys", "typer"}
    calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not {"print", "input"} & set(calls)


@pytest.mark.parametrize("package", ["agent", "cli", "workflows"])
def test_what_an_endpoint_can_do_is_said_by_its_class(package):
    for path in (ROOT / "gas" / package).glob("*.py"):
        if name_of(path) in ("gas.cli.main", "gas.cli.logs"):  # errors of other libraries
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "getattr"):
                _, name, *_ = node.args
                assert not isinstance(name, ast.Constant), f"{path.name} {node.lineno}: {ast.unparse(node)}"


OF_AGENTS = {"agent.plan", "agent.submit", "agent_for(Work(application), [endpoint]).submit",
             "agent_for(work, [where]).reshape", "client.submit"}  # fmt: skip
"""Calls that plan or act: an agent's, and that which hands a part of a backtest to Dask."""

ACTS = {"gas.cli.serve"}
"""A command that is a service: it waits for its own end."""


@pytest.mark.parametrize("path", sorted((ROOT / "gas" / "cli").glob("*.py")), ids=name_of)
def test_the_command_line_decides_nothing(path):
    known = set(imported_by(path))
    assert not known & {"gas.planner.plan", "gas.agent.polling", "gas.endpoints.asking", "gas.reshaping", "gas.s3"}
    calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)}
    methods = {call.rpartition(".")[2] for call in calls if "." in call}
    if name_of(path) not in ACTS:
        assert "sleep" not in methods, "what is waited for, and how long, is the agent's"
    assert not calls & {"plan", "gather"}
    acting = {"plan", "probe", "reserve", "reshape", "submit"}
    assert {call for call in calls if call.rpartition(".")[2] in acting and "." in call} <= OF_AGENTS


WRITERS = {"gas.cli.tables", "gas.cli.main", "gas.cli.pager", "gas.cli.progress"}
"""Where text leaves the command line; names from elsewhere are made harmless there."""


@pytest.mark.parametrize("path", sorted((ROOT / "gas" / "cli").glob("*.py")), ids=name_of)
def test_commands_write_through_one_module(path):
    if name_of(path) in WRITERS:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in ("print", "Console", "typer.echo", "click.echo"), f"line {node.lineno}: {called}"
            assert not re.match(r"sys\.(stdout|stderr)(\.buffer)?\.write", called), f"line {node.lineno}: {called}"


STUBS = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("__init__.pyi"))


@pytest.mark.parametrize("path", STUBS, ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_a_package_exports_the_names_in_its_stub_and_imports_them_on_demand(path):
    package = importlib.import_module(".".join(path.parent.relative_to(ROOT).parts))
    named = [
        alias.asname
        for node in ast.parse(path.read_text()).body
        for alias in node.names  # type checkers take a name for exported where it is imported as itself
        if alias.asname == alias.name
    ]
    assert named
    assert sorted(named) == package.__all__
    for name in named:
        assert not isinstance(getattr(package, name), type(package)), f"{name} is a module"


def test_planning_on_a_file_imports_nothing_heavy(tmp_path):
    (tmp_path / "a.toml").write_text('[speedup]\nmodel = "nas"\nbenchmark = "LU"\nclass = "C"\n')
    (tmp_path / "list.json").write_text(
        '{"schema": "gas.availability/1", "scheduler": "x", "kind": "promise", "now": 0, "processors": 64,'
        ' "version": "1", "frames": [{"start": 0, "end": null, "free": 64}]}'
    )
    program = (
        "import sys\nfrom gas.cli.main import run\n"
        "assert run(['plan', 'a.toml', '-a', 'list.json', '--stale-ok']) == 0\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])\n"
        f"print(sum(name.partition('.')[0] in {PACKAGES!r} for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    *_, heavy, own = done.stdout.splitlines()
    assert heavy == "[]", done.stdout + done.stderr
    assert int(own) < 40, "homes are on network file systems, where each module takes its time"


# ------------------------------------------------------------------------------------------------------ sizes and tests

WITHOUT_TESTS = {
    "gas/endpoints/endpoint.py": "protocols; the tests of each endpoint show that it keeps them",
    "gas/endpoints/oar/machine.py": "records without rules; its readers are tested",
    "gas/slurm/rows.py": "arrays of kernels; the kernels are tested",
}
"""Modules of more than 150 lines that need no test file of their own, and why."""

LONG = {
    "gas/endpoints/slurm/endpoint.py": "one class of many short methods, which its protocol asks for",
    "gas/endpoints/slurm/options.py": "the table of sbatch's options",
    "gas/planner.py": "the records of a plan, and the one function that makes it",
    "gas/service/wrapper.py": "runs as one file, beside each job, with the standard library alone",
}
"""Modules of more than 450 lines, and why they are one."""


def length(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def own_tests(path):
    """Return the test file of a module: tests/slurm/test_cycle.py of gas/slurm/cycle.py."""
    *folders, name = path.relative_to(ROOT).with_suffix("").parts
    if name == "__init__":
        name = folders.pop()
    return ROOT.joinpath("tests", *(folders[1:] if folders[:1] == ["gas"] else folders), f"test_{name}.py")


def test_every_module_of_more_than_150_lines_has_its_test_file_by_name():
    missing = {str(path.relative_to(ROOT)) for path in MODULES if length(path) > 150 and not own_tests(path).exists()}
    assert missing == set(WITHOUT_TESTS)


def test_no_module_has_more_than_450_lines():
    assert {str(path.relative_to(ROOT)) for path in MODULES if length(path) > 450} == set(LONG)
