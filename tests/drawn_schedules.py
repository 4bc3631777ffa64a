"""Schedules and a log to draw, and the texts of a picture."""

import xml.etree.ElementTree as ET

import numpy as np
from schedules import schedule_of

from workloads import Log
from workloads.header import Header

DAY = 86400
HEADER = Header.of(
    [
        ("Computer", "Abacus 4"),
        ("Installation", "Institute of Sums"),
        ("Acknowledge", "Ada and Charles"),
        ("UnixStartTime", 843480031),
        ("TimeZoneString", "Europe/Stockholm"),
    ]
)
LOG = Log.from_columns({"submit": [0.0]}, header=HEADER, name="abacus.swf.gz")


def made(policy, seed=3, jobs=60, machine=16, **more):
    """A schedule in order of submission, first come first served, with some backfilling by hand."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 40_000, jobs))
    rows, now = [], 0
    for i, at in enumerate(submit.tolist()):
        now = max(now, at)
        run = int(rng.integers(60, 900))
        rows.append((at, int(rng.integers(1, 3 if i % 3 else machine + 1)), now, now + run))
        now += run
    return schedule_of(rows, machine=machine, user=(np.arange(jobs) % 5).tolist(), policy=policy, **more)


def passing():
    return schedule_of([(0, 3, 0, 100), (5, 4, 100, 200), (10, 1, 10, 60)], machine=4, user=[1, 2, 3], policy="easy")


def svg_texts(path):
    """Texts of a picture; the SVG writer draws letters as paths and leaves the text in a comment."""
    parser = ET.XMLParser(target=ET.TreeBuilder(insert_comments=True))
    return [node.text.strip() for node in ET.parse(path, parser).getroot().iter(ET.Comment)]
