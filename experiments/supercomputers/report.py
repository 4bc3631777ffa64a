"""The report of the study of several supercomputers: choosing, submitting everywhere, and the charge for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.framework.claims import summary_section
from experiments.framework.items import Compared, items_section
from experiments.framework.ledger import Result
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.verdicts import BY_INTERVALS, LEVEL, Part, sign
from experiments.moldable.machines import STRATEGIES
from experiments.supercomputers.charge import charge_section
from experiments.supercomputers.claims import claims
from experiments.supercomputers.pictures import draw_temptation
from experiments.supercomputers.results import (
    BASE,
    FULL_SEEDS,
    GAMES,
    PAY,
    SHARES,
    SPREAD,
    Game,
    Options,
    Results,
    Setting,
    applications_mean,
    break_even,
    mean_of,
    pooled,
    rigid_jobs_mean,
    rigid_mean_of,
)
from gas.intervals import Interval
from gas.printable import many
from gas.report.blocks import (
    Block,
    Column,
    Picture,
    Report,
    Section,
    Table,
    Text,
    fewer,
    heads,
    not_the_full,
)

__all__ = ["banner", "supercomputers_report"]

_ABOUT = (
    "Each machine runs a month of its own log under S³. NAS benchmarks of about the same processor time replace a "
    "share of the jobs of each log; these are the applications. An application arrives when the job that it replaces "
    "was submitted, reads the availability lists of all machines, and can run on any of them. The other jobs are rigid "
    "and stay on their machine. The machines share one clock: when an application starts on one machine, its other "
    "submissions are withdrawn at that instant. The paper proposes to charge for further submissions, so that "
    "submitting everywhere does not pay (W. Cirne and F. Berman, Application Scheduling over Supercomputers: A "
    "Proposal, technical report, UC San Diego, 1999, sections 6.1 and 6.2 ii); it has no figures of its own."
)
_STRATEGIES = {
    "home-static": "its static request, to its home machine (the machine of the job that it replaces)",
    "home": "Gas's request, to the home machine",
    "choose-static": "its static request, to the machine that promises the earliest end",
    "everywhere-static": "its static request, to every machine, like users who do not read availability lists",
    "choose": "Gas's request, to the machine where it ends first according to all lists",
    "everywhere": "to every machine, Gas's request for that machine",
    "hedge": (
        "as `choose`; if that request has to wait, also a request to every other machine: Gas's choice of those with "
        "an execution time that is not longer, so the first to start ends no later than the chosen one would have"
    ),
    "coallocate": (
        "either the request of `choose` or parts on several machines that start together, whichever ends first; each "
        "part is reserved, and backfilling does not move it"
    ),
}
_SPREAD = (
    "An application that also considers several machines together takes them if they promise an earlier end than any "
    "single machine. Its parts are reserved for the common start. No promise to another job gets later, but the parts "
    "never move to an earlier start, whereas a single request does when others end early. As above, each application "
    "is simulated twice from its arrival on, with and without several machines; those that end later lose by it."
)
_FIRST = (
    "Of several submissions, the first to start runs. If some can start at once, only the one of them that ends first "
    "is submitted."
)
_GAIN = (
    "An application deviates if it submits everywhere, or hedges, although all agreed to choose one machine. The gain "
    "is how much sooner it then ends, averaged over the applications. In each run, a random share of the applications "
    "deviates. Each application is simulated twice from its arrival on, deviating and not; nothing else differs. ± is "
    "half the width of a 90% interval over months, with all seeds pooled. Waiting applications are those that no "
    "machine could start at once; the others submit only one request in any case. Changes are relative to the same "
    "runs in which no user deviates. The last column compares the mean turn-around times of the two groups in one run, "
    "so it also differs by chance."
)


def banner(study: Results) -> str:
    """Return what a restricted study leaves out; empty for the full one."""
    options = study.options
    seeds = fewer(options.seeds, FULL_SEEDS, "seed")
    months = fewer(options.months, Options().months, "month", " of each log")
    others = "" if options.others else "other settings were not run"
    return not_the_full([*study.missing, *study.left_out, seeds, months, others])


def supercomputers_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    sections = (
        summary_section(claims(study), caption=BY_INTERVALS),
        _what(study),
        _same(study),
        _temptation(study),
        charge_section(study),
        _spread(study),
        _machines(study),
        *_settings(study),
        method_section("experiments.supercomputers", "Limits"),
        items_section("supercomputers", "supercomputers", _compared(study), every=False),
        origin_section(study.logs, origin),
    )
    return Report("Several supercomputers: choosing, or submitting everywhere", _lead(study), sections, banner(study))


def _compared(study: Results) -> dict[str, Compared]:
    """Return the claims on each of the paper's questions."""
    judged = claims(study)
    together = tuple(claim for claim in judged if claim.text.startswith(SPREAD.name))
    one = tuple(claim for claim in judged if claim not in together)
    return {
        "Section 6.1: several supercomputers": Compared((), claims=one),
        "Section 6.1: coallocation": Compared((), claims=together),
    }


def _text(found: Interval | None) -> str:
    return "-" if found is None else found.text()


def _shown(part: Part, digits: int = 0) -> str:
    found = part(LEVEL)
    return "-" if found is None else found.text(digits)


def _lead(study: Results) -> str:
    choose, home = study.of_all("choose"), study.of_all("home")
    words = [
        f"With {study.most} machines, applications that choose one machine by the availability lists have a mean "
        f"turn-around time of {mean_of(choose, 'mean'):,.0f} s; on their home machines, it is "
        f"{mean_of(home, 'mean'):,.0f} s. Now users deviate from this rule: they submit to every machine "
        "(everywhere), or to further machines if the first request has to wait (hedged).",
        *(_verdict(study, game) for game in GAMES),
        "If all users deviate, the mean turn-around time of applications changes by "
        + ", ".join(f"{_shown(study.longer(game, SHARES[-1], applications_mean), 1)}% ({game.name})" for game in GAMES)
        + "; that of rigid jobs, in the same order, by "
        + ", ".join(f"{_shown(study.longer(game, SHARES[-1], rigid_jobs_mean), 1)}%" for game in GAMES)
        + ".",
        f"If all users take several machines together where these promise an earlier end, mean turn-around times "
        f"change by {_shown(study.longer(SPREAD, SHARES[-1], applications_mean), 1)}% (applications) and "
        f"{_shown(study.longer(SPREAD, SHARES[-1], rigid_jobs_mean), 1)}% (rigid jobs).",
    ]
    return " ".join(words)


def _verdict(study: Results, game: Game) -> str:
    """Return in a sentence whether deviating gains anything, and the charge that cancels the gain."""
    charges = {currency: [break_even(study.of_game(game, share), currency) for share in SHARES] for currency in PAY}
    gains = [pooled(study.of_game(game, share), "mean") for share in SHARES]
    resolved = sign(study.gained(game, SHARES[0]))
    if resolved <= 0:
        gained = study.gained(game, SHARES[0])(LEVEL)
        few = gained is None or gained.half_width is None
        verdict = "so no charge is needed" if resolved else "not resolved"
        return (
            f"“{game.name}”: the first user to deviate ends {_sooner(gained)} on average ({verdict}"
            f"{': too few months for an interval' if few else ''}), and "
            f"{_sooner(study.gained(game, SHARES[0], 'waiting')(LEVEL))} if the application had to wait."
        )
    seconds, shares = ([max(charge, 0.0) for charge in of_shares] for of_shares in charges.values())
    return (
        f"“{game.name}”: a user who deviates gains {gains[0]:,.0f} s if no other user does, and {gains[-1]:,.0f} s if "
        "all do. "
        f"A charge of {min(seconds):,.0f} to {max(seconds):,.0f} s for each further submission, or of "
        f"{100 * min(shares):,.0f} to {100 * max(shares):,.0f}% of the run's execution time, cancels the gain."
    )


def _sooner(gain: Interval | None) -> str:
    if gain is None:
        return "-"
    return f"{gain.text()} s sooner" if gain.mean >= 0 else f"{Interval(-gain.mean, gain.half_width).text()} s later"


def _what(study: Results) -> Section:
    rows = tuple((name, _STRATEGIES[name]) for name in STRATEGIES)
    columns = (Column("strategy", left=True), Column("what an application submits", left=True))
    sets = "; ".join(" + ".join(map(str, places)) for places in study.together)
    return Section(
        "What is compared", (Text(_ABOUT), Table(columns, rows), Text(_FIRST), Text(f"Machines and months: {sets}."))
    )


def _same(study: Results) -> Section:
    sites = [place.site.trace for place in study.together[0]]
    rows = []
    for strategy in STRATEGIES:
        found = study.of_all(strategy)
        applications = _applications(found)
        rows.append(
            (
                strategy,
                _text(study.mean_over_months(strategy)),
                f"{np.mean([one['median'] for one in found]):,.0f}",
                f"{sum(one['submissions'] for one in found) / applications:.2f}",
                f"{sum(one['processor_seconds'] for one in found) / applications / 3600:,.1f}",
                f"{100 * mean_of(found, 'sooner_than_promised'):.1f}%",
                f"{100 * mean_of(found, 'later_than_promised'):.1f}%",
                f"{100 * mean_of(found, 'away_from_home'):.0f}%",
                f"{rigid_mean_of(found):,.0f}",
                *(f"{np.mean([one['machines'][i]['rigid_mean'] for one in found]):,.0f}" for i in range(len(sites))),
            )
        )
    columns = (
        Column("all users", left=True),
        *heads("mean", "median", group="applications (s)"),
        *heads("submissions", "processor-hours", group="per application"),
        *heads("sooner", "later", group="ended … than promised"),
        Column("ran on another machine"),
        Column("all", "mean of rigid jobs (s)"),
        *(Column(site, "mean of rigid jobs (s)") for site in sites),
    )
    found = study.of_all("choose")
    ratios = [ratio for one in found for ratio in one["load_ratios"]]
    caption = (
        f"Turn-around times; {many(len(found), 'run')} of {study.most} machines for each strategy, "
        f"{sum(one['applications'] for one in found):,} applications. ± is half the width of a 90% interval over "
        "months. The promise is the earliest end that was promised to any submission of an application when it was "
        f"submitted. With static requests, the load is {_range(ratios)} times that of the "
        "original logs."
    )
    return Section("All applications use the same strategy", (Table(columns, tuple(rows), caption),))


def _temptation(study: Results) -> Section:
    rows = []
    for game in GAMES:
        for share in SHARES:
            found = study.of_game(game, share)
            groups = [one["mean_others"] - one["mean_some"] for one in found if 0 < one["some"] < one["applications"]]
            rows.append(
                (
                    f"{game.name}: {game.some} instead of {game.others}" if share == SHARES[0] else "",
                    f"{share}%",
                    _shown(study.gained(game, share)),
                    _shown(study.gained(game, share, "waiting")),
                    f"{100 * sum(one['waiting'] for one in found) / sum(one['applications'] for one in found):.0f}%",
                    f"{100 * pooled(found, 'sooner', 'waiting'):.0f}%",
                    f"{100 * pooled(found, 'later', 'waiting'):.0f}%",
                    f"{pooled(found, 'extra'):.2f}",
                    f"{mean_of(found, 'mean'):,.0f}",
                    "" if share == SHARES[0] else f"{_shown(study.longer(game, share, applications_mean), 1)}%",
                    f"{rigid_mean_of(found):,.0f}",
                    "" if share == SHARES[0] else f"{_shown(study.longer(game, share, rigid_jobs_mean), 1)}%",
                    f"{np.mean(groups):,.0f}" if groups else "",
                )
            )
    columns = (
        Column("deviation", left=True),
        Column("share that deviates"),
        *heads("all", "waiting", group="gain (s)"),
        Column("waiting applications"),
        *heads("sooner", "later", group="of the waiting ones, end"),
        Column("submissions beyond the first"),
        *heads("applications", "change", "rigid jobs", "change", group="mean turn-around time (s)"),
        Column("not deviating − deviating, same run (s)"),
    )
    blocks: tuple[Block, ...] = (
        Text(_GAIN),
        Picture(
            "supercomputers-temptation",
            draw_temptation(
                {
                    game.name: (
                        [_known(study.gained(game, share)) for share in SHARES],
                        [_known(study.longer(game, share, applications_mean)) for share in SHARES],
                        [_known(study.longer(game, share, rigid_jobs_mean)) for share in SHARES],
                    )
                    for game in GAMES
                }
            ),
            "Over the share of applications that deviate: the gain of one of them, and the change of the mean "
            "turn-around times of all jobs against runs in which no user deviates; with 90% intervals.",
        ),
        Table(columns, tuple(rows)),
    )
    return Section("Submitting everywhere: gain for one user, cost for all", blocks)


def _spread(study: Results) -> Section:
    rows = []
    for setting in (BASE, *study.boundaries):
        for share in (SHARES[0], SHARES[-1]):
            found = study.of_game(SPREAD, share, setting)
            rows.append(
                (
                    f"{100 * (setting.boundary - 1):.0f}%" if share == SHARES[0] else "",
                    "one" if share == SHARES[0] else "all",
                    _shown(study.gained(SPREAD, share, setting=setting)),
                    _shown(study.gained(SPREAD, share, "waiting", setting)),
                    f"{100 * pooled(found, 'sooner'):.1f}%",
                    f"{100 * pooled(found, 'later'):.1f}%",
                    f"{pooled(found, 'extra'):.2f}",
                    *(
                        ("", "", "", "")
                        if share == SHARES[0]
                        else (
                            f"{100 * mean_of(found, 'together'):.1f}%",
                            f"{_shown(study.longer(SPREAD, share, applications_mean, setting), 1)}%",
                            f"{_shown(study.longer(SPREAD, share, rigid_jobs_mean, setting), 1)}%",
                            f"{sum(one['processor_seconds'] for one in found) / _applications(found) / 3600:,.1f}",
                        )
                    ),
                )
            )
    columns = (
        Column("longer on several machines", left=True),
        Column("who coallocates", left=True),
        *heads("all", "waiting", group="gain (s)"),
        *heads("sooner", "later", group="of applications, end"),
        Column("parts beyond the first"),
        Column("ran on several machines"),
        *heads("applications", "rigid jobs", group="change of the mean"),
        Column("processor-hours per application"),
    )
    return Section("Several machines together", (Text(_SPREAD), Table(columns, tuple(rows))))


def _applications(found: Sequence[Result]) -> int:
    return sum(one["applications"] for one in found)


def _known(part: Part) -> Interval:
    return part(LEVEL) or Interval(0.0, None)


def _range(values: Sequence[float]) -> str:
    least, most = (f"{of(values):.3f}" for of in (min, max))
    return least if least == most else f"{least} to {most}"


def _gain(results: Sequence[Result]) -> float:
    """Return the mean gain of one application over the seeds of the same months; 0 if none deviates."""
    return float(np.mean([one["gain"]["all"]["mean"] or 0.0 for one in results]))


def _machines(study: Results) -> Section:
    rows = []
    for places in study.together:
        choose, home = study.of_all("choose", places), study.of_all("home", places)
        rows.append(
            (
                " + ".join(map(str, places)),
                f"{mean_of(home, 'mean'):,.0f}",
                f"{mean_of(choose, 'mean'):,.0f}",
                *(
                    f"{_gain(study.of_game(game, share, places=places)):,.0f}"
                    for game in GAMES
                    for share in (SHARES[0], SHARES[-1])
                ),
                *(
                    f"{100 * np.mean([one['machines'][i]['utilization'] for one in choose]):.0f}%"
                    if i < len(places)
                    else ""
                    for i in range(study.most)
                ),
            )
        )
    columns = (
        Column("machines and months", left=True),
        *heads("home", "choose", group="applications' mean (s)"),
        *(Column(f"{share}%", f"gain (s), {game.name}") for game in GAMES for share in (SHARES[0], SHARES[-1])),
        *(Column(("first", "second", "third", "fourth")[i], "utilization") for i in range(study.most)),
    )
    caption = (
        "Mean gain of one application if no other deviates (0%) and if all others do (100%). A row has one month of "
        "each log, so it has no interval."
    )
    return Section("Machines and months", (Table(columns, tuple(rows), caption),))


def _settings(study: Results) -> list[Section]:
    if not study.settings:
        return []
    places = list(dict.fromkeys(run.places for run in study.runs if run.setting in study.settings))
    rows = []
    for setting in (BASE, *study.settings):
        for game in GAMES:
            none, every = (_of_setting(study, game, share, setting, places) for share in (SHARES[0], SHARES[-1]))
            rows.append(
                (
                    setting.name if game == GAMES[0] else "",
                    game.name,
                    f"{pooled(none, 'mean'):,.0f}",
                    f"{pooled(every, 'mean'):,.0f}",
                    f"{break_even(none, 'seconds'):,.0f}",
                    f"{100 * break_even(none, 'share'):,.1f}%",
                    f"{mean_of(none, 'mean'):,.0f}",
                    f"{mean_of(every, 'mean'):,.0f}",
                    f"{rigid_mean_of(none):,.0f}",
                    f"{rigid_mean_of(every):,.0f}",
                )
            )
    columns = (
        *heads("setting", "deviation", left=True),
        *heads("no users", "all users", group="gain (s) if … deviate"),
        *heads("s", "of the run", group="break-even charge if no user deviates"),
        *heads("no users", "all users", group="applications' mean (s) if … deviate"),
        *heads("no users", "all users", group="rigid jobs' mean (s) if … deviate"),
    )
    caption = f"One seed, {'; '.join(' + '.join(map(str, one)) for one in places)}."
    return [Section("Other settings", (Table(columns, tuple(rows), caption),))]


def _of_setting(study: Results, game: Game, share: int, setting: Setting, places: Sequence[Any]) -> list[Result]:
    found = []
    for one in places:
        results = study.of_game(game, share, setting, one)
        found += results[:1]  # the first seed, as in the other settings
    return found
