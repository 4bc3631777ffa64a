"""Policies by name: those of Gas, plug-ins and files."""

import re

import pytest
from made_policies import GOOD, install

from gas.errors import BadInput
from gas.policies.finding import OwnPolicy, find_policies, plug_ins
from gas.simulation.schedule import POLICIES


@pytest.fixture
def file(tmp_path):
    """Return a name for a policy written to a file."""

    def write(text, name="mine.py"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def made(word):
    (found,) = find_policies([word])
    return found.make()


def test_those_of_gas_are_found_by_name_each_once():
    assert find_policies(["s3, easy", "s3"]) == ["s3", "easy"]
    assert find_policies(["all"]) == list(POLICIES)


def test_an_unknown_one_is_refused_with_the_nearest_known_one():
    with pytest.raises(BadInput, match="conservativ: is not known.*conservative"):
        find_policies(["easy,conservativ"])
    with pytest.raises(BadInput, match="is empty"):
        find_policies([","])


def test_an_unknown_one_names_the_known_ones_once():
    with pytest.raises(BadInput) as refused:
        find_policies(["sjf"])
    assert all(re.findall(rf"(?<![\w-]){policy}(?![\w-])", str(refused.value)) == [policy] for policy in POLICIES)
    assert "all" in str(refused.value)
    assert "./FILE.py:CLASS" in str(refused.value)


def test_a_file_names_a_class_or_has_one(file):
    path = file(GOOD)
    assert find_policies([f"easy,{path}:InOrder"]) == ["easy", OwnPolicy("InOrder", f"{path}:InOrder")]
    assert type(made(f"{path}:InOrder")).__name__ == "InOrder"
    assert type(made(path)).__name__ == "InOrder"
    assert OwnPolicy("mine", path).source()["path"] == path


def test_a_file_may_import_its_neighbours(file):
    file("LIMIT = 3", "neighbour_of_a_policy.py")
    assert made(file("from neighbour_of_a_policy import LIMIT\n" + GOOD)) is not None


FILES = {
    "no class": ("x = 1", "", "the file has none; give one as .*mine.py:CLASS"),
    "two classes": (GOOD + GOOD.replace("InOrder", "Other"), "", "the file has 2: InOrder, Other"),
    "another class": (GOOD, ":InOder", 'the file has no class InOder; did you mean "InOrder"'),
    "a fault": ("import no_such_module", "", "cannot be loaded: ModuleNotFoundError: .*mine.py, line 1"),
    "no Python": ("class", "", "cannot be loaded: SyntaxError"),
    "an end": ("raise SystemExit(0)", "", "cannot be loaded: SystemExit: 0"),
    "arguments": (GOOD + "    def __init__(self, weight): ...", "", "Gas calls it without arguments.*weight"),
}


@pytest.mark.parametrize("fault", FILES)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(file, fault):
    text, wanted, message = FILES[fault]
    with pytest.raises(BadInput, match=message) as refused:
        made(file(text) + wanted)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused_at_once(tmp_path):
    with pytest.raises(BadInput, match="mine.py cannot be read: No such file"):
        find_policies([str(tmp_path / "mine.py:SJF")])


def test_names_stay_apart(file):
    path = file(GOOD)
    with pytest.raises(BadInput, match="are both called InOrder"):
        find_policies([f"{path}:InOrder", file(GOOD, "other.py") + ":InOrder"])
    with pytest.raises(BadInput, match="would have the name easy of a policy of Gas"):
        find_policies([file(GOOD, "easy.py")])


def test_a_plug_in_is_found_by_its_name_and_a_broken_one_breaks_no_other(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch)
    assert [point.name for point in plug_ins()] == ["broken", "in-order", "leaving"]  # Gas's names are reserved
    assert type(made("in-order")).__name__ == "InOrder"
    with pytest.raises(BadInput, match="no_such_module_of_a_test:Policy cannot be loaded: ModuleNotFoundError"):
        made("broken")
    assert find_policies(["easy"]) == ["easy"]
