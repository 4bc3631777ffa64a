"""The options of a plan, which `gas plan` and `gas submit` share: contradictions, and values out of range."""

import pytest
from made_histories import AWAY, history


@pytest.fixture
def tenth(tmp_path):
    """A history of users who use a tenth of their walltimes."""
    return history(tmp_path / "tenth.swf", 0.1)


def test_standard_input_is_not_both_the_application_and_the_history(gas):
    for command in (("plan",), ("submit", "--simulate")):
        result = gas(*command, "-", "-e", AWAY, "--predict", "-")
        assert (result.code, "standard input is already the application" in result.err) == (2, True)


@pytest.mark.parametrize("options", [("--risk", "90%"), ("--sure", "90%"), ("--samples", "10"), ("--seed", "1")])
def test_options_of_predictions_need_a_history(gas, app, options):
    result = gas("plan", app, "-e", AWAY, *options)
    assert (result.code, "applies to predictions; add --predict auto" in result.err) == (2, True)


@pytest.mark.parametrize("risk", ["0%", "100%", "90", "1.5", "much", "-5%", "nan"])
def test_a_risk_lies_between_0_and_100_percent(gas, app, tenth, risk):
    result = gas("plan", app, "-e", AWAY, "--predict", tenth, f"--risk={risk}")
    assert (result.code, "--risk" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("risk", "told"),
    [
        ("90", "write 90% or 0.9"),
        ("0%", "must be above 0% and below 100%"),
        ("100%", "must be above 0% and below 100%"),
        ("1", "must be above 0% and below 100%"),
    ],
)
def test_a_risk_out_of_range_is_told_the_way_out(gas, app, tenth, risk, told):
    assert told in gas("plan", app, "-e", AWAY, "--predict", tenth, "--risk", risk).err


@pytest.mark.parametrize("samples", ["0", "10001", "-3"])
def test_samples_have_bounds(gas, app, tenth, samples):
    result = gas("plan", app, "-e", AWAY, "--predict", tenth, f"--samples={samples}")
    assert (result.code, f"gas: --samples {samples}: must be from 1 to 10,000" in result.err) == (2, True)
