import pytest

from documents.fields import FieldError, Fields, nearest


def fields(**table):
    return Fields(table, "app.toml, [speedup]")


def test_what_is_no_table_is_refused_by_its_place():
    with pytest.raises(FieldError, match=r"app.toml, \[speedup\]: 3 is not a table"):
        Fields(3, "app.toml, [speedup]")


def test_a_missing_key_names_the_key_that_may_be_meant_for_it():
    with pytest.raises(FieldError, match=r'sigma: is missing \(is "sigmma" meant for it\?\); add it'):
        fields(sigmma=1).number("sigma")


def test_a_key_nobody_asked_for_is_refused_with_the_nearest_right_one():
    table = fields(sigma=1, sigmaa=2)
    table.number("sigma")
    with pytest.raises(FieldError, match=r'has no key "sigmaa"; did you mean "sigma"\?'):
        table.done()


def test_absent_optional_keys_give_their_default_unchecked():
    table = fields()
    assert table.number("x", None, above=0) is None
    assert table.text("y", "z", choices=["a"]) == "z"
    assert table.integers("l", None, minimum=1, maximum=2) is None
    table.done()


@pytest.mark.parametrize("value", [True, "1", None, [1], {}])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(FieldError, match="is not a number"):
        fields(x=value).number("x")
    with pytest.raises(FieldError, match="is not a whole number"):
        fields(x=value).integer("x")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400])
def test_numbers_that_are_not_finite_are_refused(value):
    with pytest.raises(FieldError, match=r"not a finite number|too large a number"):
        fields(x=value).number("x")


def test_limits_are_named():
    with pytest.raises(FieldError, match="0 must be more than 0"):
        fields(x=0).number("x", above=0)
    with pytest.raises(FieldError, match=r"0\.5 is below 1, the minimum"):
        fields(x=0.5).number("x", minimum=1)
    with pytest.raises(FieldError, match="2 is above 1, the maximum"):
        fields(x=2).number("x", maximum=1)
    with pytest.raises(FieldError, match=r"x\[1\]: 9 is above 8"):
        fields(x=[1, 9]).integers("x", minimum=1, maximum=8)


def test_the_rest_of_a_table_is_handed_over_once():
    table = fields(model="mine", a=1, b=2)
    table.text("model")
    assert table.rest() == {"a": 1, "b": 2}
    table.done()


def test_nearest_ignores_case_and_lists_what_is_known_if_nothing_is_near():
    assert nearest("lu", ["LU", "MG"]) == '; did you mean "LU"?'
    assert nearest("qqqq", ["MG", "LU"]) == "; known: LU, MG"


def test_keys_and_words_of_others_are_shown_on_one_line():
    with pytest.raises(FieldError, match=r'is missing \(is "sig\\nma" meant for it\?\)'):
        fields(**{"sig\nma": 1}).number("sigma")
    assert "\n" not in nearest("sigma", ["sig\nma"])
