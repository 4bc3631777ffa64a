"""Statements and their verdicts in words."""

from types import SimpleNamespace

import pytest

from experiments.framework.claims import Claim, decided_once, headline, verdict


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


def test_the_claims_of_a_study_are_decided_once_for_each_of_their_arguments():
    asked = []

    @decided_once
    def claims(study, opponent="own"):
        asked.append((study.name, opponent))
        return [Claim(f"{study.name} {opponent}", True, "")]

    one, other = SimpleNamespace(name="one"), SimpleNamespace(name="other")
    for _ in range(2):
        assert [claims(one)[0].text, claims(one, "all")[0].text, claims(other)[0].text] == [
            "one own", "one all", "other own",
        ]  # fmt: skip
    assert len(asked) == 3
