import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.fields import FieldError, Fields
from gas.application import Application
from speedup_models.amdahl import Amdahl
from speedup_models.constraints import Constraint
from speedup_models.model import ModelError, execution_times, processor_counts
from speedup_models.registry import model_from_table


@dataclass
class Answers:
    """A model that gives prescribed answers."""

    answers: list
    name: str = "answers"
    constraint: None = None
    sizes: None = None
    asked: list = field(default_factory=list)

    def seconds(self, processors):
        self.asked.append(processors)
        return np.array(self.answers)


def times(*answers):
    return execution_times(Answers(list(answers)), np.arange(1, len(answers) + 1)).tolist()


def test_times_are_rounded_up_to_whole_seconds_of_at_least_one():
    assert times(0.0, 1e-9, 0.4, 1.0, 1.01, 59.5, 60.0) == [1, 1, 1, 1, 2, 60, 60]


def test_the_last_digits_noise_costs_no_second():
    assert 50 * 1.1 != 55  # 55.00000000000001
    assert times(50 * 1.1, 0.1 + 0.2 + 0.7, 55.000001, 55.0000004, 54.9999999) == [55, 1, 56, 55, 55]


@given(st.integers(1, 2**32), st.sampled_from([-1, 0, 1]))
def test_a_whole_second_give_or_take_an_ulp_is_that_second(seconds, ulps):
    value = float(seconds) + ulps * np.spacing(float(seconds))
    expected = seconds if np.spacing(float(seconds)) < 4e-7 else None
    assert expected is None or times(value) == [expected]


@given(st.integers(1, 2**53 - 1))
def test_whole_seconds_stay_what_they_are_up_to_the_longest(seconds):
    assert times(float(seconds)) == [seconds]


def test_rounding_to_microseconds_makes_no_noise_of_its_own():
    assert np.ceil(np.round(1751551629233693.0, 6)) != 1751551629233693
    assert times(1751551629233693.0) == [1751551629233693]


def test_no_answer_is_zero():
    assert times(np.nan, 3.0) == [0, 3]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (2.0**53, r"answers: 9\.0072e\+15 s on 2 processors is not below 2\*\*53 s"),
        (np.inf, "inf s on 2 processors is not below"),
        (-1.0, "-1 s on 2 processors is below 0"),
        (-np.inf, "-inf s on 2 processors is below 0"),
    ],
)
def test_times_that_cannot_be_are_refused_with_count_and_value(answer, message):
    with pytest.raises(ModelError, match=message):
        times(1.0, answer)


def test_a_model_that_gives_another_number_of_times_is_refused():
    with pytest.raises(ModelError, match=r"times of shape \(2,\) for counts of shape \(3,\)"):
        execution_times(Answers([1.0, 2.0]), [1, 2, 3])


def test_a_models_own_failure_names_the_model():
    class Failing(Answers):
        def seconds(self, processors):
            raise ZeroDivisionError("division\nby zero")

    with pytest.raises(ModelError, match="answers: gives no execution times: ZeroDivisionError: division by zero"):
        execution_times(Failing([]), [1])


def test_models_are_asked_for_int64_counts():
    model = Answers([1.0, 2.0])
    execution_times(model, [4, 8])
    assert model.asked[0].dtype == np.int64


def test_no_counts_have_no_times():
    result = execution_times(Amdahl(10, 0), [])
    assert result.size == 0
    assert result.dtype == np.int64


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([4, 0], "0 processors: a count is at least 1"),
        ([-4], "-4 processors"),
        ([1.0], "whole numbers, not float64"),
        ([True], "whole numbers, not bool"),
        (np.array([2**63], dtype=np.uint64), r"below 2\*\*63"),
    ],
)
def test_what_is_no_processor_count_is_refused(counts, message):
    with pytest.raises(ModelError, match=message):
        processor_counts(counts)


def read(**table):
    return model_from_table(Fields(table, "app.toml [speedup]"))


def test_a_table_without_a_model_is_refused():
    with pytest.raises(FieldError, match=r"app.toml \[speedup\] model: is missing"):
        read(benchmark="LU")


@pytest.mark.parametrize(
    ("name", "hint"), [("downy", 'did you mean "downey"'), ("x", "known: amdahl, downey, goodput, layouts, nas, table")]
)
def test_an_unknown_model_is_refused_with_the_known_ones(name, hint):
    with pytest.raises(FieldError, match=f'model: "{name}" is not known; {hint}'):
        read(model=name)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install distributions with speed-up models for the duration of a test."""

    def install(distribution, entry_points, modules):
        folder = tmp_path / distribution
        info = folder / f"{distribution}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in entry_points.items())
        (info / "entry_points.txt").write_text(f"[gas.speedup_models]\n{lines}")
        for name, source in modules.items():
            (folder / f"{name}.py").write_text(source)
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.syspath_prepend(folder)

    return install


ROOF = """
from dataclasses import dataclass
from speedup_models import Constraint

@dataclass
class Roof:
    work: float
    name = "roof"
    constraint = Constraint("multiple", multiple=4)
    sizes = None

    def seconds(self, processors):
        return self.work / processors

def make(keys):
    if set(keys) != {"work"}:
        raise ValueError(f"takes work, not {sorted(keys)}")
    return Roof(**keys)
"""


def test_a_plug_in_gets_the_remaining_keys_and_makes_the_model(install):
    install("roofs", {"roof": "gas_test_roof:make"}, {"gas_test_roof": ROOF})
    model = read(model="roof", work=240.0)
    assert model.constraint == Constraint("multiple", multiple=4)
    assert execution_times(model, [4, 8]).tolist() == [60, 30]


RACK = """
import numpy as np

class Rack:
    name = "rack"
    constraint = sizes = layouts = None
    devices = ("a100", "h100")

    def __init__(self, work):
        self.work = work

    def seconds_on(self, sizes, layouts):
        fast = np.array([2.0 if one.device == "h100" else 1.0 for one in layouts])
        return self.work / sizes / fast + np.array([5.0 * (one.nodes - 1) for one in layouts])

def make(keys):
    return Rack(**keys)
"""


def test_a_plug_in_may_go_by_size_shape_and_device(install):
    install("racks", {"rack": "gas_test_rack:make"}, {"gas_test_rack": RACK})
    tables = {"unit": "gpus", "speedup": {"model": "rack", "work": 400.0}, "resources": {"gpus_per_node": [2, 4]}}
    app = Application.from_tables(tables, "app.toml")
    assert app.devices == ("a100", "h100")
    layouts = app.layouts(4, {"a100": 4, "h100": 4})
    assert [str(one) for one in layouts] == ["1x4 a100", "2x2 a100", "1x4 h100", "2x2 h100"]
    assert app.execution_times(np.full(4, 4), layouts=layouts).tolist() == [100, 105, 50, 55]
    with pytest.raises(ModelError, match="rack: its times depend on nodes and GPUs per node"):
        app.execution_times(np.array([4]))


def test_a_plug_ins_refusal_names_it_and_the_place(install):
    install("roofs", {"roof": "gas_test_roof:make"}, {"gas_test_roof": ROOF})
    with pytest.raises(
        FieldError,
        match=r'app.toml \[speedup\] model: plug-in "roof" \(gas_test_roof:make of roofs\) refuses these keys: '
        r"ValueError: takes work, not \['wrok'\]",
    ):
        read(model="roof", wrok=240.0)


def test_a_broken_plug_in_names_itself_and_disturbs_nobody_else(install):
    broken = {"gas_test_broken": "import no_such_module_anywhere"}
    install("broken", {"broken": "gas_test_broken:make", "absent": "gas_test_nowhere:make"}, broken)
    install("roofs", {"roof": "gas_test_roof:make"}, {"gas_test_roof": ROOF})
    assert read(model="roof", work=1.0).name == "roof"
    assert read(model="amdahl", sequential_time=1, serial_fraction=0) == Amdahl(1, 0)
    with pytest.raises(FieldError, match=r'plug-in "broken" \(.* of broken\) cannot be loaded: ModuleNotFoundError'):
        read(model="broken")
    with pytest.raises(FieldError, match=r'plug-in "absent" .* cannot be loaded: .*gas_test_nowhere'):
        read(model="absent")


def test_plug_ins_show_among_the_known_models_without_being_loaded(install):
    install("broken", {"broken": "gas_test_broken:make"}, {"gas_test_broken": "raise SystemExit('loaded')"})
    with pytest.raises(FieldError, match=r'"brokken" is not known; did you mean "broken"'):
        read(model="brokken")


def test_a_plug_in_cannot_take_the_name_of_a_built_in_model(install):
    install("thief", {"amdahl": "gas_test_thief:make"}, {"gas_test_thief": "raise SystemExit('loaded')"})
    assert read(model="amdahl", sequential_time=1, serial_fraction=0) == Amdahl(1, 0)


def test_two_plug_ins_of_one_name_are_refused(install):
    install("roofs", {"roof": "gas_test_roof:make"}, {"gas_test_roof": ROOF})
    install("others", {"roof": "gas_test_other:make"}, {"gas_test_other": ROOF})
    with pytest.raises(
        FieldError, match="is registered 2 times; keep one of gas_test_other:make of others; gas_test_roof"
    ):
        read(model="roof")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("make = lambda keys: 42", "returns 42, which is not a speed-up model: .*no attribute 'name'"),
        ("make = 42", "refuses these keys: TypeError: 'int' object is not callable"),
        (ROOF.replace('name = "roof"', "name = None"), "its name None is not a string"),
        (ROOF.replace("sizes = None", "sizes = [4]"), r"its sizes \[4\] are neither None nor a tuple"),
        (ROOF.replace("sizes = None", "sizes = (8, 4)"), "do not ascend"),
        (ROOF.replace("sizes = None", "sizes = (0,)"), "whole numbers of at least 1"),
        (
            ROOF.replace("def seconds", "def second"),
            r"it has neither a method seconds\(processors\) nor seconds_on\(sizes, layouts\)",
        ),
        (RACK.replace("devices =", "device ="), "it has seconds_on, which needs devices and layouts too"),
        (ROOF.replace("Constraint(", "dict(").replace('"multiple", ', ""), "neither a Constraint nor None"),
    ],
)
def test_what_is_no_speed_up_model_is_refused(install, body, problem):
    install("strange", {"strange": "gas_test_strange:make"}, {"gas_test_strange": body})
    with pytest.raises(FieldError, match=f'plug-in "strange" .*{problem}'):
        read(model="strange", work=1.0)


def test_importing_the_package_brings_in_neither_scipy_nor_matplotlib():
    code = (
        "import sys, speedup_models.fitting;"
        "print({'scipy', 'matplotlib', 'pandas'} & {name.split('.')[0] for name in sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
