"""Statements and their verdicts in words."""

from experiments.framework.claims import Claim, headline


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
