"""Tests are in the layer of what they use: by names at any depth, and watched when they run."""

import subprocess

import pytest
from layers import Layers

from gas.times import parse_duration


class Helper:
    def method(self):
        return self.run_it()

    @staticmethod
    def run_it():
        return subprocess.run(["true"])


def computes():
    return parse_duration("1h", "x")


def by_a_class():
    return Helper()


def by_a_function():
    return by_a_class()


def by_an_import_of_its_own():
    import socket

    return socket


def by_a_fixture(request):
    return request.getfixturevalue("s3")


@pytest.mark.parametrize(
    "function", [by_a_class, by_a_function, by_an_import_of_its_own, by_a_fixture, Helper.run_it, Helper().method]
)
def test_what_names_a_process_at_any_depth_acts(function):
    assert Layers().reaches(function)


@pytest.mark.parametrize("function", [computes, Layers.pytest_sessionstart, int])
def test_what_computes_is_pure(function):
    assert not Layers().reaches(function)


class Item:
    nodeid = "test"

    def __init__(self, *marks):
        self.marks = marks

    def get_closest_marker(self, name):
        return name if name in self.marks else None


def run(item, events, *, strict=True):
    layers = Layers(strict=strict)
    call = layers.pytest_runtest_call(item)
    next(call)
    for event in events:
        layers._notice(event, ())
    try:
        call.send(7)
    except StopIteration as ended:
        return ended.value


def test_a_pure_test_that_starts_a_process_fails_and_is_named_the_way_out():
    with pytest.raises(pytest.fail.Exception, match=r"caused subprocess\.Popen: mark it `process`"):
        run(Item("pure"), ["open", "subprocess.Popen"])


@pytest.mark.parametrize(
    ("mark", "events"), [("pure", ["open"]), ("process", ["subprocess.Popen"]), ("live", ["os.fork"])]
)
def test_other_tests_do_as_they_like(mark, events):
    assert run(Item(mark), events) == 7


def test_where_all_layers_run_it_does_no_harm():
    assert run(Item("pure"), ["subprocess.Popen"], strict=False) == 7
