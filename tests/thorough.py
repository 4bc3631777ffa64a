"""How much the tests try: a share by default, each test if GAS_EXAMPLES is "each" (CI), everything if it is "all".

A property is tried on made-up cases; a tenth of them finds plain errors at once; other repetitions run a third as
often. Tests marked `thorough` show in full what cheaper tests beside them show in part. By default, each module keeps
the tests that detect its faults. CI tries a sixth of the cases, and also runs each thorough test on one of its cases,
so that none decays unseen.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import settings

__all__ = ["ALL", "EACH", "USUAL", "Thorough", "examples", "rounds", "some"]

T = TypeVar("T")

ALL = os.environ.get("GAS_EXAMPLES") == "all"
"""Whether every example is tried."""

EACH = os.environ.get("GAS_EXAMPLES") == "each"
"""Whether each thorough test is run on at least one of its cases."""

USUAL = 100 if ALL else 34 if EACH else 20
"""The number of examples of a property that gives none."""

FEWEST = 4
"""The number of examples by default of a property that is tried on few in full, as each takes long."""


def rounds(count: int) -> int:
    """Return how often to repeat something repeated `count` times in full: a third, at least once."""
    return -(-count // (1 if ALL else 3))


def examples(count: int, **more: Any) -> settings:
    """Return the settings of a property tried on this many examples in full: a tenth, at least four (CI: a sixth)."""
    tried = count if ALL else -(-count // 6) if EACH else max(-(-count // 10), min(count, FEWEST))
    return settings(max_examples=tried, **more)


def some(values: Sequence[T], count: int) -> list[T]:
    """Return this many of the values, evenly spread and including the first; in full, all."""
    kept = {len(values) * i // count for i in range(count)}
    return [value for i, value in enumerate(values) if ALL or i in kept]


class Thorough:
    """Leaves out the tests marked `thorough` unless everything is tried, or the mark, the test or its module is named.

    ``@pytest.mark.thorough(but=3)`` keeps three cases of a parametrized test: the first, and others drawn from all,
    always the same; ``but=["svg"]`` keeps those cases. With "each", a test that keeps none gets one.
    """

    @pytest.hookimpl(tryfirst=True)  # so that other plug-ins do not see excluded tests
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if ALL or "thorough" in config.option.markexpr or any("::" in one for one in config.args):
            return
        modules = tuple(one for one in config.args if one.endswith(".py"))
        cases: defaultdict[str, list[str]] = defaultdict(list)
        for item in items:
            function, _, case = item.nodeid.partition("[")
            cases[function].append(case[:-1])
        chosen, left_out = [], []
        for item in items:
            function, _, case = item.nodeid.partition("[")
            mark = item.get_closest_marker("thorough")
            if (
                mark is None
                or function.partition("::")[0].endswith(modules)
                or any(item.get_closest_marker(name) for name in ("long", "live"))  # in no default run anyway
                or case[:-1] in kept(function, cases[function], mark.kwargs.get("but", 0))
            ):
                chosen.append(item)
            else:
                left_out.append(item)
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = chosen


def kept(function: str, cases: list[str], but: int | list[str]) -> list[str]:
    """Return the cases of a thorough test that are tried nevertheless."""
    if isinstance(but, int):
        return drawn(function, cases, max(but, int(EACH)))
    if missing := set(but) - set(cases):
        raise pytest.UsageError(f"{function} has no case {', '.join(sorted(missing))}")
    return but


def drawn(function: str, cases: list[str], count: int) -> list[str]:
    """Return this many cases: the first, and others drawn from all, always the same."""
    return [*cases[:1], *Random(function).sample(cases[1:], count - 1)] if 0 < count < len(cases) else cases[:count]
