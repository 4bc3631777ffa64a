"""Options of sbatch are read where they stand as sbatch reads them."""

import pytest

from gas.endpoints.slurm.directives import Directive, Script, directives, from_variables, from_words
from gas.errors import BadInput


def found(text):
    return [(one.name, one.value) for one in directives(text, "job.sh")]


def test_lines_are_read_up_to_the_first_command():
    text = "#!/bin/sh\n# a comment\n\n#SBATCH -n 4\n   # indented\n#SBATCH --mem=2G\necho\n#SBATCH --hold\n"
    assert found(text) == [("ntasks", "4"), ("mem", "2G")]


def test_a_line_that_does_not_begin_with_the_mark_is_a_comment():
    assert found("#!/bin/sh\n #SBATCH -n 4\n##SBATCH -n 5\n# SBATCH -n 6\n#SBATCH -n 7\n") == [("ntasks", "7")]


def test_values_follow_in_every_way_that_getopt_takes():
    text = "#!/bin/sh\n#SBATCH -n16 -N 2 --cpus-per-task=4 --mem 8G -pa,b\n"
    assert found(text) == [
        ("ntasks", "16"), ("nodes", "2"), ("cpus-per-task", "4"), ("mem", "8G"), ("partition", "a,b"),
    ]  # fmt: skip


def test_letters_without_values_may_share_a_dash():
    assert found("#!/bin/sh\n#SBATCH -HOn4\n") == [("hold", None), ("overcommit", None), ("ntasks", "4")]


def test_values_that_may_be_left_out_stand_behind_an_equals_sign():
    assert found("#!/bin/sh\n#SBATCH --exclusive --nice --exclusive=user --nice=5\n") == [
        ("exclusive", None), ("nice", None), ("exclusive", "user"), ("nice", "5"),
    ]  # fmt: skip


def test_quotes_and_backslashes_keep_characters_and_a_hash_begins_a_comment():
    text = "#!/bin/sh\n#SBATCH --comment=\"two words # no comment\" -J a\\ b # -n 4\n#SBATCH -C 'a&b'\n"
    assert found(text) == [("comment", "two words # no comment"), ("job-name", "a b"), ("constraint", "a&b")]


def test_beginnings_of_names_will_do():
    assert found("#!/bin/sh\n#SBATCH --part=x --ntasks-per-n=3 --tasks-per-node=4\n") == [
        ("partition", "x"), ("ntasks-per-node", "3"), ("ntasks-per-node", "4"),
    ]  # fmt: skip


def test_an_option_of_a_newer_sbatch_is_kept():
    assert found("#!/bin/sh\n#SBATCH --quantum-bits=3\n") == [("quantum-bits", "3")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("--ntask-per-nod=4", "line 3: --ntask-per-nod is not an option of sbatch; did you mean --ntasks-per-node"),
        ("--gpus-per=4", "could mean any of --gpus-per-node, --gpus-per-socket, --gpus-per-task"),
        ("-n", "line 3: -n needs a value"),
        ("--mem", "line 3: --mem needs a value"),
        ("--hold=yes", "--hold takes no value"),
        ("-y 4", "'-y' has -y, which is not an option|-y, which is not an option of sbatch"),
        ("-N 4 nodes", "nodes.* is not an option of sbatch"),
        ("--comment='a", "the quotation mark ' is not closed"),
        ("hetjob", "another part of a heterogeneous job"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(line, problem):
    with pytest.raises(BadInput, match=problem) as error:
        list(directives(f"#!/bin/sh\n\n#SBATCH {line}\n", "job.sh"))
    assert "job.sh, line 3" in str(error.value)


def test_a_script_keeps_its_text_and_knows_where_each_option_stands():
    text = "#!/bin/bash\n#SBATCH -t 1:00:00\n./run\n"
    assert Script.of(text, "run.sh") == Script("run.sh", text, (Directive("time", "1:00:00", "run.sh, line 2"),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = 1\n", "begins with"),
        ("", "begins with"),
        ("#!/bin/sh\r\n", "DOS line ends"),
        ("#!/bin/sh\0", "null"),
    ],
)
def test_what_sbatch_takes_for_no_script_is_refused(text, problem):
    with pytest.raises(BadInput, match=f"job.sh: .*{problem}"):
        Script.of(text, "job.sh")


def test_words_of_a_command_line_are_read_alike():
    assert list(from_words(["--mem=4G", "-A", "x"], "--native")) == [
        Directive("mem", "4G", "--native"), Directive("account", "x", "--native"),
    ]  # fmt: skip


def test_of_the_variables_those_count_that_are_left_to_sbatch():
    variables = {"SBATCH_ACCOUNT": "x", "SBATCH_TIMELIMIT": "5", "SBATCH_NO_REQUEUE": "1", "HOME": "/"}
    variables |= {"SBATCH_CONSTRAINT": "a100", "SBATCH_EXCLUSIVE": "", "SBATCH_MEM_PER_NODE": "5G"}
    found = {one.shown for one in from_variables(variables)}
    assert found == {"--account=x", "--no-requeue", "--constraint=a100", "--exclusive", "--mem=5G"}


@pytest.mark.parametrize(
    ("value", "sets"), [("", True), ("yes", True), ("1", True), ("0", False), ("no", False), ("-0", False)]
)
def test_a_variable_sets_a_flag_by_nothing_yes_or_a_number(value, sets):
    assert bool(list(from_variables({"SBATCH_OVERCOMMIT": value}))) is sets


def test_the_partition_and_the_time_of_variables_go_before_those_of_a_script():
    script = Script.of("#!/bin/sh\n#SBATCH -p main -t 5\n", "job.sh")
    found = script.with_variables({"SBATCH_PARTITION": "gpu", "SBATCH_TIMELIMIT": "9"})
    assert (found.value("partition"), found.value("time"), found.text) == ("gpu", "9", script.text)
