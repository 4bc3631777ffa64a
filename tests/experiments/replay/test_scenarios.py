"""The scenarios of a replay: one change at a time, and a message for each that is impossible."""

import pytest
from made_policies import GOOD

from experiments.replay.scenarios import Asked, scenarios
from gas.errors import BadInput
from workloads import LogError

LOG = "; MaxProcs: 10\n" + "".join(
    f"{number} {60 * number} 5 {100 + number} 2 -1 -1 2 200 -1 1 1 1 -1 -1 -1 -1 -1\n" for number in range(1, 9)
)


@pytest.fixture
def options(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    return lambda **asked: Asked(**asked).options(path)


def names(found):
    return [(run.name, run.processors, run.walltimes, run.moldable) for run in found]


def test_the_record_comes_first_then_each_policy_with_one_change_at_a_time(options):
    chosen = options(policy="easy,s3", machine="50%,12,10", walltimes="requested,corrected", moldable="30%,0")
    found, without = scenarios(chosen, [chosen.log])
    assert names(found) == [
        ("recorded", 10, "requested", 0),
        ("easy", 10, "requested", 0),
        ("easy", 5, "requested", 0),
        ("easy", 12, "requested", 0),
        ("easy", 10, "corrected", 0),
        *[("easy", 10, "requested", 30)] * 3,
        ("s3", 10, "requested", 0),
        ("s3", 5, "requested", 0),
        ("s3", 12, "requested", 0),
        *[("s3", 10, "requested", 30)] * 3,
    ]
    assert [run.seed for run in found if run.moldable] == [0, 1, 2] * 2
    assert without == ["s3 with corrected walltimes, which are defined for EASY only"]
    assert [run.is_base for run in found[:3]] == [True, True, False]


def test_a_policy_of_the_user_takes_part_and_is_computed_again_when_its_file_changes(options, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(GOOD)
    chosen = options(policy=f"{mine}:InOrder", machine="", walltimes="", moldable="20")
    (_, own), without = scenarios(chosen, [chosen.log])
    before = own.configuration
    assert before["own"]["named"] == f"{mine}:InOrder"
    assert without == ["InOrder with moldable jobs: it publishes no availability list"]
    mine.write_text(GOOD + "\n")
    assert own.configuration != before


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"policy": "eazy"}, "--policy eazy: is not known"),
        ({"walltimes": "better"}, "--walltimes better: is not known; known: requested, perfect"),
        ({"walltimes": "f=0.5"}, "--walltimes f=0.5"),
        ({"moldable": "half"}, "--moldable half: must be a share"),
        ({"moldable": "101%"}, "from 0% to 100%"),
    ],
)
def test_what_is_not_known_is_refused_before_anything_is_read(options, asked, message):
    with pytest.raises(BadInput, match=message):
        options(**asked)


def test_a_size_is_a_number_or_a_share_of_the_machine(options):
    for word in ("0%", "-5", "1e3", "nine"):
        with pytest.raises(BadInput, match=f"--machine {word}: must be a number of processors, or a share"):
            _ = options(machine=word).sizes


def test_a_selection_without_jobs_is_refused(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    chosen = Asked().options(path, None, "extend", "cpus", ("2001-01",))
    with pytest.raises(LogError, match="no job was submitted in 2001-01"):
        scenarios(chosen, [chosen.log])
