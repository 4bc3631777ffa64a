"""Statements and their verdicts in words."""

import pytest

from experiments.framework.claims import Claim, headline, verdict


def test_the_headline_counts_each_kind_of_verdict():
    found = [
        *[Claim("", True, "")] * 2,
        Claim("", False, ""),
        Claim("", None, "", untested="not resolved"),
        Claim("", None, "", untested="not judged"),
        Claim("", None, "", reported=True),
    ]
    assert headline(found) == (
        "Of 6 statements, 2 hold, 1 does not, 1 is not resolved, 1 is not judged, 1 is reported."
    )
    assert headline(found[:1]) == "Of 1 statement, 1 holds."
    assert headline([]) == "No statement was tested."


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        (Claim("", None, "", reported=True), "reported"),
        (Claim("", None, "", untested="not judged"), "not judged"),
        (Claim("", False, ""), "no"),
    ],
)
def test_tables_show_the_verdict_of_the_headline(claim, shown):
    assert verdict(claim).text == claim.verdict == shown
