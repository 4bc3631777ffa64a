"""What is compiled while the tests are imported: a process that runs statements until the tests end."""

import ahead
import pytest
from eventually import until

from gas.compiled import available

pytestmark = pytest.mark.skipif(not available(), reason="needs numba")


def test_statements_run_in_turn_in_another_process(tmp_path):
    made = tmp_path / "made"
    one = ahead.Ahead(f"file = open({str(made)!r}, 'w')", "file.write('both'); file.close()")
    assert one.process.wait(30) == 0
    assert made.read_text() == "both"
    one.pytest_unconfigure()


def test_what_takes_longer_than_the_tests_ends_with_them(tmp_path):
    begun = tmp_path / "begun"
    one = ahead.Ahead(f"open({str(begun)!r}, 'w')", "import time; time.sleep(60)")
    until(begun.exists)
    one.pytest_unconfigure()
    assert one.process.returncode < 0


def test_the_core_is_compiled_by_functions_that_there_are():
    for statement in ahead.CORE:
        before, _, call = statement.partition("; ")
        namespace = {}
        exec(before, namespace)
        assert callable(namespace[call.removesuffix("()")])
