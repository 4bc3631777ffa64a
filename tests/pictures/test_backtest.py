import pytest
from made_up import busy_log

from gas.errors import BadInput
from gas.pictures.backtest import draw_backtest
from gas.prediction.backtest import Outcome

OUTCOMES = [
    Outcome(
        i,
        3600 * i,
        60 * i,
        50.0 * i,
        0,
        3000,
        0,
        2000,
        weight=0.5,
        simulated=0.0,
        learnt=None,
        planned=4000,
        similar=None,
        waiting=1,
        samples=100,
        held_from=0.9 if i <= 50 else 1.0,
        raw_held_from=1.0,
    )
    for i in range(80)
]


def test_the_same_outcomes_give_the_same_bytes(tmp_path):
    log = busy_log(10, 8, seed=1)
    for name in ("a.svg", "b.svg"):
        draw_backtest(OUTCOMES, tmp_path / name, log=log)
    picture = (tmp_path / "a.svg").read_bytes()
    assert picture == (tmp_path / "b.svg").read_bytes()
    assert b"80 predicted waits" in picture
    assert b"in its 90% interval: 64%" in picture


def test_a_single_outcome_is_drawn_and_none_is_an_error(tmp_path):
    log = busy_log(10, 8, seed=1)
    draw_backtest(OUTCOMES[:1], tmp_path / "one.png", log=log)
    assert (tmp_path / "one.png").stat().st_size > 5_000
    with pytest.raises(BadInput, match="no prediction to draw"):
        draw_backtest([], tmp_path / "none.png", log=log)
