"""Quotas are read like by OAR's scheduler; a job that would exceed one starts when others have ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.endpoints.oar.quotas import Held, JobNames, Quota, Quotas, exceeded_in, quotas_of
from gas.errors import BadInput
from gas.profile.flat import NEVER

ANN = JobNames("default", "p", (), "ann")
SECURITY = 60


def rules(text):
    return quotas_of(text, "scheduler_quotas.conf")


def held(user, resources, start, walltime, queue="default", project="p", kinds=()):
    return Held(JobNames(queue, project, kinds, user), resources, start, walltime)


def admitted(text, there, resources, walltime, start=0, asked=ANN):
    return Quotas.of(rules(text), asked, there, SECURITY).admitted(start, resources, walltime)


def holding(text, asked=ANN):
    return {str(quota) for quota in Quotas.of(rules(text), asked, (), SECURITY).rules}


def test_a_file_of_comments_has_none():
    assert rules("# nothing\n\n#$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'john'} = [80,10,100] ;\n") == ()


def test_rules_are_read_in_all_the_ways_in_which_perl_writes_them():
    found = rules(
        """$Gantt_quotas->{'*'}->{"*"}->{'besteffort'}->{'/'} = [150, 35, 0.5] ;   # comment
        $Gantt_quotas -> {default}->{'p-1'}->{'*'}->{'*'} = 100;
        $Gantt_quotas->{'*'}->{'*'}->{'*'}->{'ann'} = [8, -1];"""
    )
    assert found == (
        Quota("*", "*", "besteffort", "/", 150, 35, 0.5),
        Quota("default", "p-1", "*", "*", 100),
        Quota("*", "*", "*", "ann", 8),
    )


@pytest.mark.parametrize("text", ["my $n = 4;", "$Gantt_quotas->{'*'} = 4;", "foreach my $u (@users) { }", "oops"])
def test_a_file_with_more_of_perl_is_not_understood(text):
    with pytest.raises(BadInput, match="not of the form"):
        rules(text)


def test_a_quota_that_a_jobs_message_names_is_known():
    message = "No enough matching resources (quota_exceeded:Gantt_quotas->{*}->{*}->{*}->{ann}=[12,1,0.50]>[8,2,-1])"
    assert exceeded_in(["R=4 (Karma=0.000,quota_ok)", message]) == (Quota("*", "*", "*", "ann", 8, 2),)


def test_a_job_waits_until_enough_of_its_users_has_ended():
    text = "$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'ann'} = [8, -1, -1];"
    there = (held("ann", 6, 0, 1000), held("bob", 50, 0, 9000))
    assert admitted(text, there, 2, 100) == 0
    assert admitted(text, there, 3, 100) == 1000 + SECURITY + 1
    assert admitted(text, there, 9, 100) == NEVER


def test_a_job_that_comes_while_it_runs_counts():
    text = "$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'ann'} = [8, -1, -1];"
    there = (held("ann", 6, 500, 1000),)
    assert admitted(text, there, 4, 500 - SECURITY) == 0
    assert admitted(text, there, 4, 501 - SECURITY) == 1500 + SECURITY + 1


def test_a_number_of_jobs_holds_whatever_their_size():
    text = "$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'/'} = [-1, 2, -1];"
    there = (held("ann", 1, 0, 300), held("ann", 1, 0, 700), held("bob", 1, 0, 9000))
    assert admitted(text, there, 1, 10) == 300 + SECURITY + 1


def test_resource_hours_get_less_while_jobs_run():
    """Of ann's 4 hours 2 x 2 are in use at first; half an hour later, when bob's job ends, 3 would be."""
    text = "$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'ann'} = [-1, -1, 4];"
    first, other = held("ann", 2, 0, 2 * 3600), held("bob", 1, 0, 1800)
    assert admitted(text, (other, first), 1, 3600) == 1800 + SECURITY + 1
    assert admitted(text, (first,), 1, 3600, start=1800) == 1800
    assert admitted(text, (), 4, 3600) == 0
    assert admitted(text, (), 5, 3600) == NEVER


def test_a_step_within_another_begins_with_the_hours_of_that_ones_start():
    """As counted by OAR: where bob's job comes later, the step at its end still has ann's initial remainder."""
    text = "$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'ann'} = [-1, -1, 4];"
    first, other = held("ann", 2, 0, 2 * 3600), held("bob", 1, 0, 1800)
    assert admitted(text, (first, other), 1, 3600) == 2 * 3600 + SECURITY + 1


def test_a_more_specific_rule_takes_the_place_of_a_general_one():
    general = "$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'*'} = [8, -1, -1];\n"
    each = "$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'/'} = [4, -1, -1];\n"
    own = "$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'ann'} = [2, -1, -1];\n"
    of_queue = "$Gantt_quotas->{'default'}->{'*'}->{'*'}->{'*'} = [16, -1, -1];\n"
    of_project = "$Gantt_quotas->{'*'}->{'p'}->{'*'}->{'*'} = [12, -1, -1];\n"
    of_kind = "$Gantt_quotas->{'*'}->{'*'}->{'deploy'}->{'*'} = [1, -1, -1];\n"
    first, second = "{*}->{*}->{*}->{*} = [8, -1, -1]", "{*}->{*}->{*}->{/} = [4, -1, -1]"
    assert holding(general + each) == {first, second}
    assert holding(general + each + own) == {"{*}->{*}->{*}->{ann} = [2, -1, -1]"}
    assert holding(general + of_queue) == {"{default}->{*}->{*}->{*} = [16, -1, -1]"}
    assert holding(general + of_project) == {"{*}->{p}->{*}->{*} = [12, -1, -1]"}
    assert holding(general + of_kind) == {first}
    assert holding(general + of_kind, JobNames("default", "p", ("deploy",), "ann")) == {
        "{*}->{*}->{deploy}->{*} = [1, -1, -1]"
    }


def test_each_by_itself_and_all_together_count_differently():
    there = (held("ann", 3, 0, 100), held("bob", 3, 0, 200))
    assert admitted("$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'*'} = [8, -1, -1];", there, 3, 10) == 100 + SECURITY + 1
    assert admitted("$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'/'} = [8, -1, -1];", there, 3, 10) == 0
    in_another = (held("ann", 6, 0, 100, project="q"),)
    assert admitted("$Gantt_quotas->{'*'}->{'/'}->{'*'}->{'/'} = [8, -1, -1];", in_another, 3, 10) == 0
    assert admitted("$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'/'} = [8, -1, -1];", in_another, 3, 10) == 161


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 40), st.integers(1, 30)), max_size=6),
    st.integers(1, 8),
    st.integers(1, 30),
    st.integers(0, 50),
)
def test_no_earlier_start_keeps_a_quota_of_resources_and_jobs(jobs, resources, walltime, start):
    """Compared with trying every second."""
    there = tuple(held("ann", *one) for one in jobs)
    text = "$Gantt_quotas->{'*'}->{'*'}->{'*'}->{'ann'} = [8, 3, -1];"

    def keeps(begin):
        for second in range(begin, begin + walltime + SECURITY):
            now = [one for one in there if one.start <= second < one.start + one.walltime + SECURITY + 1]
            if sum(one.resources for one in now) + resources > 8 or len(now) >= 3:
                return False
        return True

    wanted = next(begin for begin in range(start, 1000) if keeps(begin))
    assert admitted(text, there, resources, walltime, start) == wanted
