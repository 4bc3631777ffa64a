"""The application: its strictly read file; its allowed sizes; its run times and requests."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import constraints, models
from thorough import examples

from documents.fields import FieldError
from gas import Application, BadInput
from gas.reading import read_application
from speedup_models import Amdahl, Constraint, Downey, ModelError, Nas, Table

EXAMPLE = """
name = "lu.C"
[speedup]                  # exactly one model
model = "nas"              # nas | downey | amdahl | table | a plug-in's name
benchmark = "LU"
class = "C"
[processors]               # optional
constraint = "power-of-two"
min = 1
max = 128
[walltime]                 # optional
safety = 1.1
"""
AMDAHL = '[speedup]\nmodel = "amdahl"\nsequential_time = 100\nserial_fraction = 0.1\n'
TABLE = '[speedup]\nmodel = "table"\ntimes = { 16 = 812.0, 32 = 423.5 }\n'
DOWNEY = '[speedup]\nmodel = "downey"\nsequential_time = 100\nA = 8\nsigma = 0.5\n'


def read(tmp_path, content):
    path = tmp_path / "lu.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_application(path)


# ---------------------------------------------------------------------------------------------------- what is good


def test_a_table_of_timings_is_no_application_but_one_can_be_fitted_to_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("processors,seconds\n1,100\n")
    with pytest.raises(BadInput, match="t.csv: not TOML: .*; from a table of timings, gas fit .*t.csv makes an app"):
        read_application(path)


def test_the_example_of_the_design(tmp_path):
    application = read(tmp_path, EXAMPLE)
    assert application.name == "lu.C"
    assert application.model == Nas.packaged("LU", "C")
    assert application.constraint == Constraint("power-of-two", 1, 128)
    assert application.safety == 1.1


def test_what_is_left_out_has_defaults(tmp_path):
    application = read(tmp_path, AMDAHL)
    assert application.name == "lu"  # of the file
    assert application.constraint == Constraint("any")
    assert application.safety == 1.1


@pytest.mark.parametrize(
    ("text", "model"),
    [
        (AMDAHL, Amdahl(100, 0.1)),
        (DOWNEY, Downey(100, 8, 0.5)),
        (TABLE, Table.of({16: 812.0, 32: 423.5})),
        (TABLE + "interpolate = true\n", Table.of({16: 812.0, 32: 423.5}, interpolate=True)),
    ],
)
def test_the_model_is_the_one_named(tmp_path, text, model):
    assert read(tmp_path, text).model == model


def test_tables_of_another_document_are_read_alike(tmp_path):
    tables = {"speedup": {"model": "table", "times": {"16": 812.0, "32": 423.5}}, "walltime": {"safety": 2}}
    application = Application.from_tables(tables, "body")
    assert application == Application(Table.of({16: 812.0, 32: 423.5}), safety=2)
    assert Application.from_tables({"name": "lu", **tables}, "body", name="other").name == "lu"
    assert read(tmp_path, TABLE + "[walltime]\nsafety = 2\n") == Application.from_tables(tables, "body", name="lu")
    with pytest.raises(FieldError, match=r"^body \[walltime\] safety: 0 is below 1"):
        Application.from_tables({**tables, "walltime": {"safety": 0}}, "body")


# ---------------------------------------------------------------------------------------------------- what is bad

REFUSED = {
    # the whole
    "empty": ("", "lu.toml speedup: is missing; add it"),
    "no model": ("[speedup]\n", "lu.toml [speedup] model: is missing"),
    "a mistyped table": (
        AMDAHL + "[processor]\nmin = 2\n",
        'lu.toml: has no key "processor"; did you mean "processors"?',
    ),
    "a key of nobody": (f"color = 1\n{AMDAHL}", 'lu.toml: has no key "color"'),
    "a name that is none": (f"name = 5\n{AMDAHL}", "lu.toml name: 5 is not a string"),
    "an empty name": (f'name = ""\n{AMDAHL}', "lu.toml name: '' is not a string"),
    "speedup no table": ('speedup = "nas"\n', "lu.toml [speedup]: 'nas' is not a table"),
    "speedup twice": (AMDAHL + AMDAHL, "lu.toml: not TOML: Cannot declare ('speedup',) twice"),
    # models
    "a mistyped model": (
        '[speedup]\nmodel = "downy"\n',
        'lu.toml [speedup] model: "downy" is not known; did you mean "downey"?',
    ),
    "model no text": ("[speedup]\nmodel = 3\n", "lu.toml [speedup] model: 3 is not a string"),
    "a key missing": (
        '[speedup]\nmodel = "downey"\nA = 8\nsigma = 0\n',
        "lu.toml [speedup] sequential_time: is missing",
    ),
    "a mistyped key": (
        DOWNEY.replace("sigma", "sigm"),
        'lu.toml [speedup] sigma: is missing (is "sigm" meant for it?)',
    ),
    "a key of another model": (AMDAHL + "sigma = 1\n", 'lu.toml [speedup]: has no key "sigma"'),
    "negative time": (AMDAHL.replace("100", "-100"), "lu.toml [speedup] sequential_time: -100 must be more than 0"),
    "time in words": (AMDAHL.replace("100", '"100"'), "lu.toml [speedup] sequential_time: '100' is not a number"),
    "time true": (AMDAHL.replace("100", "true"), "lu.toml [speedup] sequential_time: True is not a number"),
    "time NaN": (AMDAHL.replace("100", "nan"), "lu.toml [speedup] sequential_time: nan is not a finite number"),
    "time infinite": (AMDAHL.replace("100", "inf"), "lu.toml [speedup] sequential_time: inf is not a finite number"),
    "time a date": (
        AMDAHL.replace("100", "2020-01-01"),
        "lu.toml [speedup] sequential_time: datetime.date(2020, 1, 1) is not",
    ),
    "huge time": (AMDAHL.replace("100", "1" + "0" * 400), "lu.toml [speedup] sequential_time: 1000000"),
    "fraction above 1": (AMDAHL.replace("0.1", "1.1"), "lu.toml [speedup] serial_fraction: 1.1 is above 1"),
    "A below 1": (DOWNEY.replace("A = 8", "A = 0.5"), "lu.toml [speedup] A: 0.5 is below 1"),
    "negative sigma": (DOWNEY.replace("0.5", "-0.5"), "lu.toml [speedup] sigma: -0.5 is below 0"),
    "unknown benchmark": (
        EXAMPLE.replace('"LU"', '"LV"'),
        'lu.toml [speedup] benchmark: "LV" is not known; known: BT, EP, LU, MG, SP',
    ),
    "unknown class": (EXAMPLE.replace('"C"', '"Z"'), 'lu.toml [speedup] class: "Z" is not known'),
    # tables of times
    "times no table": ('[speedup]\nmodel = "table"\ntimes = 5\n', "lu.toml [speedup] [times]: 5 is not a table"),
    "no times": ('[speedup]\nmodel = "table"\ntimes = {}\n', "lu.toml [speedup] [times]: is empty"),
    "a count in words": (TABLE.replace("16 =", "many ="), "lu.toml [speedup] [times]: 'many' is not a processor count"),
    "count 0": (TABLE.replace("16 =", "0 ="), "lu.toml [speedup] [times]: '0' is not a processor count"),
    "negative count": (TABLE.replace("16 =", "-16 ="), "lu.toml [speedup] [times]: '-16' is not a processor count"),
    "a count twice": (TABLE.replace("16 =", "032 ="), "lu.toml [speedup] [times]: '032' is not a processor count"),
    "huge count": (TABLE.replace("16 =", "9" * 20 + " ="), "is not a processor count"),
    "time zero": (TABLE.replace("812.0", "0"), "lu.toml [speedup] [times] 16: 0 must be more than 0"),
    "time a text": (TABLE.replace("812.0", '"1h"'), "lu.toml [speedup] [times] 16: '1h' is not a number"),
    "interpolate no boolean": (
        TABLE + "interpolate = 1\n",
        "lu.toml [speedup] interpolate: 1 is neither true nor false",
    ),
    # constraints
    "constraint unknown": (
        AMDAHL + '[processors]\nconstraint = "power of two"\n',
        'lu.toml [processors] constraint: "power of two" is not known; did you mean "power-of-two"?',
    ),
    "min 0": (AMDAHL + "[processors]\nmin = 0\n", "lu.toml [processors] min: 0 is below 1"),
    "min with a fraction": (
        AMDAHL + "[processors]\nmin = 1.5\n",
        "lu.toml [processors] min: 1.5 is not a whole number",
    ),
    "max huge": (AMDAHL + f"[processors]\nmax = {10**30}\n", "lu.toml [processors] max: 1000000"),
    "max below min": (AMDAHL + "[processors]\nmin = 5\nmax = 4\n", "lu.toml [processors]: at least 5 and at most 4"),
    "no count left": (
        AMDAHL + '[processors]\nconstraint = "power-of-two"\nmin = 5\nmax = 7\n',
        "[processors]: no count from 5 to 7 is a power of two; lower the minimum to 4 or raise the maximum to 8",
    ),
    "multiple missing": (
        AMDAHL + '[processors]\nconstraint = "multiple"\n',
        "lu.toml [processors] multiple: is missing",
    ),
    "multiple alone": (AMDAHL + "[processors]\nmultiple = 4\n", "lu.toml [processors] multiple: does not belong"),
    "list empty": (
        AMDAHL + '[processors]\nconstraint = "list"\nlist = []\n',
        "lu.toml [processors] list: [] is not a list of",
    ),
    "list of words": (
        AMDAHL + '[processors]\nconstraint = "list"\nlist = [4, "8"]\n',
        "lu.toml [processors] list[1]: '8' is not a whole number",
    ),
    "list twice": (
        AMDAHL + '[processors]\nconstraint = "list"\nlist = [4, 4]\n',
        "lu.toml [processors] list: names 4 more",
    ),
    # walltime
    "safety below 1": (AMDAHL + "[walltime]\nsafety = 0.9\n", "lu.toml [walltime] safety: 0.9 is below 1"),
    "safety huge": (AMDAHL + "[walltime]\nsafety = 1e6\n", "lu.toml [walltime] safety: 1000000.0 is above 1000"),
    "safety NaN": (AMDAHL + "[walltime]\nsafety = nan\n", "lu.toml [walltime] safety: nan is not a finite number"),
    "safety in words": (AMDAHL + '[walltime]\nsafety = "10%"\n', "lu.toml [walltime] safety: '10%' is not a number"),
    "a key mistyped": (
        AMDAHL + "[walltime]\nsaftey = 1.1\n",
        'lu.toml [walltime]: has no key "saftey"; did you mean "safety"?',
    ),
    # TOML itself
    "no TOML": ("name: lu\n", "lu.toml: not TOML: Expected '=' after a key in a key/value pair (at line 1, column 5)"),
    "cut short": ('name = "lu', "lu.toml: not TOML: Unterminated string"),
    "a key twice": ("name = 'a'\nname = 'b'\n", "lu.toml: not TOML: Cannot overwrite a value (at line 2, column 11)"),
    "an impossible date": ("x = 2021-02-30\n", "lu.toml: not TOML: Invalid date or datetime"),
    "not UTF-8": (b'name = "\xe9t\xe9"\n', "lu.toml: not UTF-8 text at byte 8"),
    "a null character": ("name = 'a\0'\n", "lu.toml: not TOML: "),
    "deep": ("x = " + "[" * 5000 + "]" * 5000, "lu.toml: not TOML: maximum recursion depth exceeded"),
    "deep inline tables": (
        "x = " + "{a=" * 5000 + "1" + "}" * 5000,
        "lu.toml: not TOML: maximum recursion depth exceeded",
    ),
    "deep keys that nobody knows": ("x" + ".a" * 3000 + " = 1\n" + AMDAHL, 'lu.toml: has no key "x"'),
    "deep keys under one that is known": (
        "name" + ".a" * 3000 + " = 1\n" + AMDAHL,
        "lu.toml name: ",
    ),
    "a line break in a value": (
        AMDAHL.replace('"amdahl"', '"am\\ndahl"'),
        "lu.toml [speedup] model: ",
    ),
    "a line break in a key": (
        AMDAHL + '"a\\nb" = 1\n',
        "lu.toml [speedup]: has no key ",
    ),
    "thousands of digits": (AMDAHL.replace("100", "9" * 5000), "lu.toml: not usable TOML: Exceeds the limit"),
    "thousands of hexadecimal digits": (
        AMDAHL.replace("100", "0x" + "f" * 5000),
        "lu.toml [speedup] sequential_time: a number of thousands of digits is too large a number",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_be_used_is_refused_where_it_cannot(tmp_path, text, message):
    with pytest.raises((BadInput, FieldError, ModelError)) as caught:
        read(tmp_path, text)
    said = str(caught.value)
    assert message in said
    assert said.startswith(str(tmp_path / "lu.toml"))
    assert len(said.splitlines()) == 1


def test_safety_is_checked_in_python_too():
    for safety in (0.99, math.nan, 1001):
        with pytest.raises(FieldError, match="safety"):
            Application(Amdahl(1, 0), safety=safety)


words = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x85"), max_size=6)
fragments = st.sampled_from(
    [
        "=",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "\n",
        ".",
        ",",
        "0",
        "-1",
        "1e400",
        "nan",
        "true",
        "name",
        "[speedup]",
        "#",
        "[processors]",
        "1979-05-27",
        "0x",
        "_",
        "'''",
        "\\",
        "\\n",
        "times",
        "interpolate",
    ]
)


@examples(600)
@given(
    st.sampled_from([EXAMPLE, AMDAHL, TABLE, DOWNEY]),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 12), words | fragments), min_size=1, max_size=3),
)
def test_a_file_damaged_anywhere_is_read_or_refused(tmp_path_factory, text, damages):
    for at, length, junk in damages:
        at %= len(text)
        text = text[:at] + junk + text[at + length :]
    path = tmp_path_factory.getbasetemp() / "damaged.toml"
    path.write_text(text, encoding="utf-8")
    try:
        application = read_application(path)
    except (BadInput, FieldError, ModelError) as error:
        said = str(error)
    else:
        assert application.safety >= 1
        return
    assert said.startswith(str(path))
    assert not set(said) & set("\r\n")


@examples(300)
@given(st.binary(max_size=60))
def test_any_bytes_at_all_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "junk.toml"
    path.write_bytes(data)
    with pytest.raises((BadInput, FieldError, ModelError)):  # forty bytes cannot be a model
        read_application(path)


# ------------------------------------------------------------------------------------------------ sizes and times


@examples(300)
@given(models(), constraints(), st.integers(1, 12))
def test_sizes_are_those_that_constraint_model_and_machine_allow(model, constraint, machine):
    application = Application(model, constraint)
    sizes = application.sizes(machine)
    assert sizes.dtype == np.int64
    assert sizes.tolist() == [
        n for n in range(1, machine + 1) if application.permits(n) and (model.sizes is None or n in model.sizes)
    ]
    own = model.constraint
    for n in range(1, machine + 1):
        assert application.permits(n) == (constraint.permits(n) and (own is None or own.permits(n)))


def test_each_constraint_says_in_words_what_it_refuses():
    application = Application(Nas.packaged("LU", "C"), Constraint("any", 4, 64))
    assert application.refusal(16) is None
    assert application.refusal(24) == "NAS LU class C takes only a power of two"
    assert application.refusal(2) == "below the application's min of 4"
    assert application.refusal(128) == "above the application's max of 64"
    assert Application(Table.of({6: 5}), Constraint("multiple", multiple=4)).refusal(6) == "not a multiple of 4"


def test_a_table_on_the_largest_machine_costs_nothing():
    assert Application(Table.of({16: 5, 2**31 - 1: 1})).sizes(2**31 - 1).tolist() == [16, 2**31 - 1]


@examples(500)
@given(st.integers(1, 2**27), st.integers(100, 1000).map(lambda n: Fraction(n, 100)) | st.just(Fraction(1000)))
def test_the_walltime_is_the_time_times_safety_rounded_up_in_exact_arithmetic(time, safety):
    # Up to four years of seconds; from 2**31 on, neighbouring floating-point numbers lie further apart than the
    # microsecond to which the product is rounded.
    walltime = Application(Amdahl(1, 0), safety=float(safety)).walltimes(np.array([time], np.int64))
    assert walltime.dtype == np.int64
    assert walltime.tolist() == [math.ceil(time * safety)]


@pytest.mark.parametrize(("time", "safety", "walltime"), [(50, 1.1, 55), (1, 1.1, 2), (7, 1, 7), (3, 1.000001, 4)])
def test_walltimes_by_hand(time, safety, walltime):
    assert Application(Amdahl(1, 0), safety=safety).walltimes(np.array([time])).tolist() == [walltime]


def test_execution_times_are_whole_seconds_of_at_least_one_and_0_where_there_is_none():
    application = Application(Table.of({2: 0.1, 4: 3.2, 8: 5.0000001}))
    assert application.execution_times(np.array([1, 2, 4, 8])).tolist() == [0, 1, 4, 5]


@given(st.integers(1, 2**30), st.sampled_from([0.5, 1, 1.2, 3, 7.3, 1000]))
def test_on_a_machine_k_times_as_fast_k_times_as_much_takes_as_long(seconds, speed):
    application = Application(Table.of({1: seconds * speed, 2: 0.5}))
    plain = application.execution_times(np.array([1, 2, 3]))
    assert plain.tolist() == application.execution_times(np.array([1, 2, 3]), 1.0).tolist()
    exact = max(1, math.ceil(round(int(plain[0]) / Fraction(str(speed)), 6)))
    fast = application.execution_times(np.array([1, 2, 3]), speed).tolist()
    assert fast == [exact, 1 if speed >= 1 else 2, 0]
    assert seconds <= fast[0] <= seconds + math.ceil(1 / speed)  # a second of the file is 1 / speed s there


def test_the_longest_times_on_the_slowest_machine_do_not_overflow():
    application = Application(Table.of({1: 2.0**53 - 1}), safety=1000)
    times = application.execution_times(np.array([1]), 0.001)
    assert application.walltimes(times)[0] >= times[0] >= 2**53 - 1
    assert len(application.requests(1, 0.001).sizes) == 0
