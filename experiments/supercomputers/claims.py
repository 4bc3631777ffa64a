"""Claims about choosing among machines, submitting everywhere and coallocation, with verdicts over months."""

from __future__ import annotations

from experiments.framework.claims import Claim, decided_once
from experiments.framework.verdicts import above, below, decided_claim
from experiments.supercomputers.results import GAMES, SHARES, SPREAD, Results, applications_mean, rigid_jobs_mean

__all__ = ["claims"]


@decided_once
def claims(study: Results) -> list[Claim]:
    """Return the claims about the largest sets of machines (the paper has no figures of its own)."""
    every = SHARES[-1]
    found = [
        decided_claim(
            "Applications that choose among the machines have a shorter mean turn-around time than on their home "
            "machines",
            {"change": study.chosen()},
            below(0),
        )
    ]
    for game in GAMES:
        first = study.gained(game, SHARES[0])
        found += [
            decided_claim(f"{game.name}: the first user to deviate gains", {"gain": first}, above(0), unit=" s"),
            decided_claim(
                f"{game.name}: if all users deviate, the mean turn-around time of applications is longer",
                {"change": study.longer(game, every, applications_mean)},
                above(0),
            ),
            decided_claim(
                f"{game.name}: if all users deviate, the mean turn-around time of rigid jobs is longer",
                {"change": study.longer(game, every, rigid_jobs_mean)},
                above(0),
            ),
        ]
    found += [
        decided_claim(
            f"{SPREAD.name}: the first user who also takes several machines together gains",
            {"gain": study.gained(SPREAD, SHARES[0])},
            above(0),
            unit=" s",
        ),
        decided_claim(
            f"{SPREAD.name}: if all users take several machines, the mean turn-around time of applications is shorter",
            {"change": study.longer(SPREAD, every, applications_mean)},
            below(0),
        ),
        decided_claim(
            f"{SPREAD.name}: if all users take several machines, the mean turn-around time of rigid jobs is longer",
            {"change": study.longer(SPREAD, every, rigid_jobs_mean)},
            above(0),
        ),
    ]
    return found
