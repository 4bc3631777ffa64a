"""The lines of a replay's pictures: policies with equal results share a line, whose legend names them all."""

from types import SimpleNamespace

import numpy as np

from experiments.replay.pictures import distinct


def row(name, *waits):
    curves = {key: np.array(waits, float) for key in ("waits", "edges", "busy", "waiting")}
    return SimpleNamespace(run=SimpleNamespace(name=name), result=curves)


def test_equal_policies_are_one_line():
    rows = [row("recorded", 1, 2), row("easy", 3, 4), row("s3", 5, 6), row("conservative", 3, 4)]
    assert [(one.run.name, label) for one, label in distinct(rows)] == [
        ("recorded", "recorded"), ("easy", "easy = conservative"), ("s3", "s3"),
    ]  # fmt: skip
