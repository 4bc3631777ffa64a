"""Programs linked from parts: they answer as the plain kernels do, and nothing is lowered twice."""

import re
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary
from numpy.typing import NDArray

from gas import compiled as module
from gas.compiled import compiled, kernel, lean_kernel, shared


@lean_kernel
def leaf(x):
    return 100 // x


@lean_kernel
def middle(x):
    return leaf(x) + leaf(x + 1)


@kernel
def upper(x):
    return middle(x) + 1


@kernel
def other(x):
    return 2 * middle(x) + leaf(x)


@kernel
def largest(numbers):
    return np.sort(numbers)[-1] + leaf(10)  # code of numba's own, and of a part


@kernel
def says(x):
    print("x is", x)
    return x


@kernel
def asks(x):
    return says(x) + 1


@kernel
def begins_with(target, source):
    target[:2] = source[:]


@shared
@lean_kernel
def large(x):
    return leaf(x) + 1


@kernel
def between(x):
    return large(x) + large(x + 1)


@kernel
def uses(x):
    return between(x) * 2


@kernel
def uses_too(x):
    return large(x) * 3


@pytest.fixture
def anew(monkeypatch, tmp_path):
    """Return a function that makes this process forget all machine code, like a new one with an empty cache."""
    monkeypatch.setenv("GAS_CACHE", str(tmp_path))

    def forget():
        monkeypatch.setattr(module, "_compiled", {})
        monkeypatch.setattr(module, "_inner", {})

    forget()
    return forget


def files(folder):
    return sorted(path.name.split(".")[-3].removesuffix("-inner") for path in folder.rglob("*.nbc"))


def hits(function):
    return sum(module._inner[function].stats.cache_hits.values())


code_of = attrgetter("library")


@pytest.mark.thorough
def test_a_program_answers_as_the_plain_kernel_and_so_does_it_when_it_is_loaded(anew):
    for _ in range(2):
        assert compiled(upper)(7) == upper(7) == 27
        assert compiled(largest)(np.array([3, 9, 4])) == 19
        anew()


def test_parts_are_kept_with_all_that_they_reach_for_the_next_program(anew, tmp_path):
    assert compiled(upper)(7) == upper(7)
    assert files(tmp_path) == ["leaf", "middle", "upper"]
    for path in tmp_path.rglob("*.leaf-inner.*"):  # `middle` holds what it needs of it
        path.unlink()
    anew()
    assert compiled(other)(7) == other(7)
    assert hits(middle) == 1
    assert files(tmp_path) == ["leaf", "middle", "other", "upper"]  # and `leaf` was lowered again, for `other`
    anew()
    assert compiled(other)(3) == other(3)
    assert module._inner[middle].stats.cache_hits == {}  # a program that is loaded needs no parts


def test_a_part_has_no_machine_code_of_its_own_and_a_program_no_entry_but_its_own(anew):
    compiled(upper)(7)
    (part,) = module._inner[middle].overloads.values()
    assert code_of(part)._compiled_object is None
    (program,) = compiled(upper).overloads.values()
    called = {
        function.name for function in code_of(program).get_defined_functions() if function.linkage.name == "external"
    }
    assert called
    assert all("upper" in name for name in called)


def test_what_a_part_raises_reaches_the_caller(anew):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            compiled(upper)(-1)
        anew()


def test_a_part_finds_its_constants_also_when_it_is_loaded(anew, capfd, tmp_path):
    for _ in range(2):
        assert compiled(asks)(4) == 5
        assert capfd.readouterr().out == "x is 4\n"
        for path in tmp_path.rglob("*.asks.*"):
            path.unlink()  # so that the part is loaded, and the program made anew
        anew()


def referred_to(function):
    """Return the kernels that a kernel's program calls instead of inlining."""
    from gas.machine_code import referred

    (overload,) = compiled(function).overloads.values()
    assert [one.name for one in code_of(overload)._final_module.functions if "leaf" in one.name] == []
    return [one.name for one in referred(code_of(overload))]


def test_a_shared_kernel_stands_once_and_those_that_call_it_hold_no_copy_of_it(anew):
    for _ in range(2):
        assert compiled(uses)(7) == uses(7) == 56
        assert compiled(uses_too)(7) == uses_too(7) == 45
        assert compiled(large)(7) == large(7) == 15
        assert referred_to(uses) == referred_to(uses_too) == ["large"]
        assert large not in module._inner
        anew()


def test_a_part_that_is_loaded_refers_to_the_shared_kernel_too(anew, tmp_path):
    compiled(uses)(7)
    for path in tmp_path.rglob("*.uses.*"):
        path.unlink()
    anew()
    assert compiled(uses)(3) == uses(3)
    assert hits(between) == 1
    assert referred_to(uses) == ["large"]


def test_what_refers_to_a_shared_kernel_that_was_compiled_again_is_compiled_again(anew, tmp_path):
    compiled(uses_too)(7)
    for path in tmp_path.rglob("*.large.*"):
        path.unlink()
    anew()
    assert compiled(uses_too)(7) == uses_too(7)
    assert not compiled(uses_too).stats.cache_hits
    anew()
    assert compiled(uses_too)(7) == uses_too(7)
    assert sum(compiled(uses_too).stats.cache_hits.values()) == 1


TABLE = np.arange(200_000)


@kernel
def looked_up(i):
    return TABLE[i]


@kernel
def looks_up(i):
    return looked_up(i) + 1


def test_what_names_an_address_of_this_process_is_not_kept(anew, tmp_path, recwarn):
    assert compiled(looks_up)(5) == 6
    assert files(tmp_path) == []
    assert "dynamic globals" in str(recwarn.pop().message)


def test_an_array_of_another_shape_is_an_error_whose_words_take_no_compiling(anew):
    """Numba's own message names both shapes, for which it compiles strings, for seconds in each process."""
    target = np.zeros(3, np.int64)
    compiled(begins_with)(target, np.array([1, 2]))
    assert target.tolist() == [1, 2, 0]
    with pytest.raises(ValueError, match=r"^cannot assign an array of another shape to a slice$"):
        compiled(begins_with)(target, np.arange(3))
    (overload,) = compiled(begins_with).overloads.values()
    assert "unicode" not in code_of(overload).get_llvm_str()


@kernel
def adds(x, y):
    z = x * y
    z = z * y
    z = z * x
    return leaf(z * z)


def test_what_an_operator_means_is_asked_once_and_numba_is_as_it_was_afterwards(anew, monkeypatch):
    from numba import int64
    from numba.core.types.functions import BaseFunction

    from gas import machine_code

    its_own, asked = machine_code._its_typing, []

    def count(function, context, args, kws):
        if args == (int64, int64):
            asked.append(function)
        return its_own(function, context, args, kws)

    monkeypatch.setattr(machine_code, "_its_typing", count)
    assert compiled(adds)(2, 1) == adds(2, 1) == 6
    assert len(asked) == len(set(asked)) <= 2  # the product, and the division unless an earlier test has asked
    assert BaseFunction.get_call_type is its_own


class Place(NamedTuple):
    number: int
    kept: NDArray[np.int64]
    other: NDArray[np.int64]


class State(NamedTuple):
    """A record in a record."""

    place: Place
    limits: NDArray[np.int64]


@lean_kernel
def through_blocks(state, steps):
    """Use a record in several blocks, and variables that are assigned in a branch or in a loop only."""
    found, later = 0, 0
    for step in range(steps):
        if step > 1:
            found += later * 10  # of the previous turn
        if step % 2 == 0:
            place, weight = state.place, step
            place.kept[step % 3] += weight
        else:
            weight = 3 * state.place.number
        later = weight + state.limits[step % 2]
        found += state.place.kept[0] - state.place.other[1]
    return found + later


@lean_kernel
def calls(state, steps):
    return through_blocks(state, steps) + 1


def test_a_record_of_several_blocks_is_not_loaded_again_for_each_of_its_fields(anew, monkeypatch):
    lowered, add = [], JITCodeLibrary.add_ir_module

    def add_and_note(code, made):
        if code.name.endswith("through_blocks"):
            lowered.append(str(made))
        add(code, made)

    monkeypatch.setattr(JITCodeLibrary, "add_ir_module", add_and_note)

    def state():
        kept, other = np.arange(3), np.arange(5, 7)
        return State(Place(4, kept, other), np.array([8, 9]))

    plain, machine = state(), state()
    assert compiled(calls)(machine, 5) == calls(plain, 5)
    assert machine.place.kept.tolist() == plain.place.kept.tolist()
    (text,) = lowered
    assert not re.findall(r"= (?:load|extractvalue|insertvalue) {{?i64, {i8\*.*", text)  # of a Place, or of a State
