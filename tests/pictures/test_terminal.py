import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_endpoints import node_list

from gas import Application, AvailabilityList, BadInput, Candidate, plan
from gas.pictures.terminal import (
    LOWEST,
    NARROWEST,
    availability_picture,
    least_free,
    readable_horizon,
    request_text,
    tick_text,
    time_ticks,
)
from speedup_models.table import Table

# The worked example of Cirne and Berman, Fig. 4.4: B, 20 processors from 7 to 10, is the best.
PAPER = AvailabilityList.of([0, 1, 5, 6, 7, 11], [5, 10, 0, 10, 20, 40])
B = Candidate("machine", 20, 3, 3, 7, "promise")
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def picture(availability=PAPER, width=20, height=8, colour=False, **options):
    return availability_picture(availability, width=width, height=height, colour=colour, **options)


def rows(text, height):
    """Return the lines of the machine without the text left of the axis."""
    return [re.split("[┤│|+]", line, maxsplit=1)[1] for line in text.split("\n")[:height]]


@st.composite
def availability_lists(draw):
    machine = draw(st.integers(1, 2**31 - 1) | st.integers(1, 200))
    now = draw(st.integers(0, 2**40))
    count = draw(st.integers(1, 12))
    steps = draw(st.lists(st.integers(1, draw(st.sampled_from([3, 1000, 10**8]))), min_size=count, max_size=count))
    free = draw(st.lists(st.integers(0, machine), min_size=count, max_size=count))
    kept = [i for i in range(count) if i == 0 or free[i] != free[i - 1]]
    starts = now + np.cumsum([0, *steps[1:]])
    return AvailabilityList.of(starts[kept], [free[i] for i in kept], processors=machine)


@st.composite
def scenes(draw):
    """A list and the candidates of some application on it."""
    availability = draw(availability_lists())
    sizes = st.integers(1, availability.processors)
    times = draw(st.dictionaries(sizes, st.integers(1, 10**6), min_size=1, max_size=6))
    return availability, plan(Application(Table.of(times)), availability)


# ---------------------------------------------------------------------------------------------------------- picture


def test_the_papers_example_in_one_column_a_second():
    # 40 processors on 8 lines are 5 a line; 17 columns for 17 seconds; heights of 1, 2, 0, 2, 4 and 8 lines.
    assert picture(horizon=17, best=B).split("\n") == [
        "40┤           ██████",
        "  │           ██████",
        "  │           ██████",
        "  │           ██████",
        "20┤       ▒▒▒███████",
        "  │       ▒▒▒███████",
        "  │ ████ █▒▒▒███████",
        "  │█████ █▒▒▒███████",
        " 0└┬─────────┬──────",
        "   now     +10s",
        "▒ 20 processors",
    ]


def test_the_same_in_ascii():
    text = picture(horizon=17, best=B, ascii=True)
    assert text.isascii()
    assert text.split("\n")[4:9] == [
        "20+       ###:::::::",
        "  |       ###:::::::",
        "  | :::: :###:::::::",
        "  |::::: :###:::::::",
        " 0++---------+------",
    ]


@pytest.mark.parametrize(
    ("free", "column"),
    [
        (0, "    "),
        (1, "   ▁"),  # a quarter of an eighth, but not nothing
        (8, "   ▂"),  # a quarter of a line
        (31, "   ▇"),  # rounded down
        (32, "   █"),
        (80, " ▄██"),  # two and a half lines
        (127, "▇███"),  # only the whole machine reaches the top
        (128, "████"),
    ],
)
def test_heights_are_in_eighths_of_a_line(free, column):
    # 128 processors on 4 lines: 32 a line, 4 an eighth.
    text = picture(AvailabilityList.of([0], [free], processors=128), height=4)
    assert [(row[:1] or " ") for row in rows(text, 4)] == list(column)


def test_a_column_is_as_high_as_what_stays_free_throughout_it():
    # 18 columns of 10 s; in the third the machine is busy for one second.
    availability = AvailabilityList.of([0, 25, 26], [8, 2, 8])
    assert rows(picture(availability, height=4, horizon=180), 4) == [
        "██ ███████████████",
        "██ ███████████████",
        "██ ███████████████",
        "██████████████████",
    ]


def test_a_best_candidate_shorter_than_a_column_is_seen():
    availability = AvailabilityList.of([0], [8])
    best = Candidate("machine", 1, 1, 1, 80_000, "promise")
    text = picture(availability, height=4, horizon=180_000, best=best)
    assert rows(text, 4) == ["█" * 18, "█" * 18, "█" * 18, "████████▒█████████"]


def test_a_best_candidate_behind_the_horizon_is_not_drawn_and_said_to_be_outside():
    text = picture(width=70, horizon=7, best=B)
    assert "▒" not in text
    assert text.endswith("best: 20 processors, starts in 7s, finishes in 10s (outside)")


def test_a_best_candidate_of_another_scheduler_is_none():
    other = Candidate("elsewhere", 20, 3, 3, 7, "promise")
    assert picture(best=other, candidates=[other, B]) == picture(candidates=[B])


def test_colour_tells_the_best_candidate_from_what_is_free_around_it():
    # 8 lines for 64: the best, 20 processors, is two and a half lines high, and all 64 are free behind it.
    availability = AvailabilityList.of([0], [64])
    best = Candidate("machine", 20, 100, 100, 0, "promise")
    text = picture(availability, horizon=170, best=best, colour=True)
    lines = rows(text, 8)
    assert lines[7] == "\x1b[33m██████████\x1b[0m\x1b[36m███████\x1b[0m"
    assert lines[5] == "\x1b[33;46m▄▄▄▄▄▄▄▄▄▄\x1b[0m\x1b[36m███████\x1b[0m"
    assert lines[4] == "\x1b[36m█████████████████\x1b[0m"


def test_no_escapes_without_colour_and_no_foreign_letters_with_ascii():
    assert "\x1b" not in picture(best=B)
    assert "\x1b" in picture(best=B, colour=True)
    coloured = picture(best=B, colour=True, ascii=True)
    assert coloured.isascii()
    assert ESCAPES.sub("", coloured) == picture(best=B, ascii=True)


def test_the_legend_says_as_much_as_has_room():
    # The best turn-around time is 10 s, so six times that is shown, and the last change lies behind.
    tail = AvailabilityList.of([0, 1, 5, 6, 7, 10**6], [5, 10, 0, 10, 20, 40])
    assert [picture(tail, width=w, best=B).split("\n")[-1] for w in (110, 70, 40, 30, 20)] == [
        "█ free (still changes until +11d13h, not shown)  ▒ best: 20 processors, starts in 7s, finishes in 10s",
        "█ free  ▒ best: 20 processors, starts in 7s, finishes in 10s",
        "█ free  ▒ 20 processors, +7s to +10s",
        "▒ 20 processors, +7s to +10s",
        "▒ 20 processors",
    ]
    assert picture(tail, width=60).split("\n")[-1] == "█ free during the whole column"


@given(scenes(), st.integers(NARROWEST, 200), st.integers(LOWEST, 30), st.booleans(), st.booleans())
def test_never_wider_or_higher_than_asked_for(scene, width, height, colour, ascii):
    availability, made = scene
    text = availability_picture(
        availability,
        width=width,
        height=height,
        colour=colour,
        candidates=made.candidates,
        best=made.best,
        ascii=ascii,
    )
    lines = ESCAPES.sub("", text).split("\n")
    assert len(lines) == height + 3
    assert max(map(len, lines)) <= width
    assert not ascii or text.isascii()
    if not colour or ascii:
        drawn = "".join(rows(text, height))
        assert ("#" if ascii else "▒") in drawn if made.best else not set("#▒") & set(drawn)


@given(availability_lists(), st.integers(1, 10**9), st.integers(1, 60))
def test_the_least_of_a_column_is_the_least_of_its_seconds(availability, span, columns):
    found = least_free(availability, availability.now, span, columns)
    frames = availability.frames
    for c in range(columns):  # in units of 1/columns of a second, so that all is whole
        begin, end = c * span, (c + 1) * span
        assert found[c] == min(
            f.free
            for f in frames
            if (f.start - availability.now) * columns < end
            and (f.end is None or (f.end - availability.now) * columns > begin)
        )


def test_a_hundred_thousand_frames_are_fine():
    starts = np.arange(100_000)
    free = np.where(starts % 2, 90, 100)
    text = picture(AvailabilityList.of(starts, free, processors=100), width=80, height=10, horizon=100_000)
    assert rows(text, 10)[0] == ""  # in every column ten processors are missing now and then
    assert rows(text, 10)[1] == "█" * 76


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": NARROWEST - 1}, "width 19: a picture needs at least 20 columns"),
        ({"width": 80, "height": 1}, "height 1: a picture needs at least 2 lines"),
        ({"width": 80, "horizon": 0}, "horizon 0: must be at least 1 s"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, words):
    with pytest.raises(BadInput, match=words):
        availability_picture(PAPER, colour=False, **options)


# ---------------------------------------------------------------------------------------------------------- horizon


def test_everything_is_shown_when_it_is_not_long():
    # C, 30 processors from 11 to 13, finishes last; a tenth more, rounded up.
    candidates = plan(Application(Table.of({10: 5, 20: 3, 30: 2}), safety=1), PAPER).candidates
    assert readable_horizon([PAPER], 0, candidates, B) == 15


def test_a_long_tail_of_a_list_is_left_out():
    # 96 of 100 are free from 4000 on; the rest after twelve days.
    tail = AvailabilityList.of([0, 4000, 86400 * 12], [30, 96, 100])
    assert readable_horizon([tail], 0) == 4400
    assert readable_horizon([AvailabilityList.of([0, 4000, 86400 * 12], [30, 94, 100])], 0) == 86400 * 12 * 11 // 10


def test_a_list_without_end_of_its_tail_does_not_hide_the_best_candidate():
    # Only after twelve days is most of the machine free; the best has finished after 100 s.
    busy = AvailabilityList.of([0, 86400 * 12], [30, 100])
    best = Candidate("machine", 30, 100, 100, 0, "promise")
    assert readable_horizon([busy], 0, [best], best) == 660


def test_candidates_that_finish_much_later_than_the_best_are_left_out():
    idle = AvailabilityList.of([0], [100])
    best, second, last = (Candidate("machine", p, t, t, 0, "promise") for p, t in ((64, 100), (32, 300), (1, 5000)))
    assert readable_horizon([idle], 0, [best, second, last], best) == 330


def test_an_idle_machine_is_shown_for_an_hour():
    assert readable_horizon([AvailabilityList.of([50], [100])], 50) == 3600


def test_several_lists_share_the_horizon_of_the_slowest():
    quick, slow = (AvailabilityList.of([0, t], [0, 100], scheduler=str(t)) for t in (1000, 1500))
    assert readable_horizon([quick, slow], 0) == 1650


@given(scenes())
def test_the_best_candidate_always_lies_within_the_horizon(scene):
    availability, made = scene
    if made.best is not None:
        horizon = readable_horizon([availability], made.now, made.candidates, made.best)
        assert made.best.finish - made.now <= horizon


# ------------------------------------------------------------------------------------------------------------ words


@pytest.mark.parametrize(
    ("span", "most", "labels"),
    [
        (15, 3, ["now", "+5s", "+10s"]),
        (3600, 5, ["now", "+15m", "+30m", "+45m"]),
        (5400, 4, ["now", "+30m", "+1h"]),
        (2 * 86400, 5, ["now", "+12h", "+1d", "+1d12h"]),
        (3 * 365 * 86400, 3, ["now", "+1y", "+2y"]),
        (10, 1, ["now"]),
    ],
)
def test_ticks_stand_at_round_times(span, most, labels):
    assert [tick_text(t) for t in time_ticks(span, most)] == labels


@given(st.integers(1, 2**53), st.integers(1, 40))
def test_ticks_begin_now_and_are_no_more_than_asked_for(span, most):
    ticks = time_ticks(span, most)
    assert ticks[0] == 0
    assert 1 <= len(ticks) <= most
    assert ticks[-1] < span


def test_a_request_in_words():
    assert request_text(Candidate("s", 64, 1000, 905, 720, "promise"), 0) == (
        "64 processors, starts in 12m00s, finishes in 27m05s"
    )
    assert request_text(Candidate("s", 1, 1000, 60, 0, "promise"), 0) == "1 processor, starts now, finishes in 1m00s"


def test_a_short_request_far_ahead_does_not_seem_to_take_no_time():
    assert request_text(Candidate("s", 8, 330, 300, 86400, "promise"), 0) == (
        "8 processors, starts in 1d00h, finishes 5m00s later"
    )


def test_of_nodes_the_counts_are_drawn():
    nodes = node_list(1000)
    best = plan(Application(Table.of({1: 150}), safety=1), nodes).best
    assert best.start == 1100
    assert picture(nodes, width=60, best=best) == picture(nodes.counts, width=60, best=best)
