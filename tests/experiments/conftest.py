"""Made-up logs under the names of real ones, so that a whole study runs in seconds; pictures as figures."""

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from made_once import made_once

from workloads import Header, write_swf
from workloads.estimates import uniform_factor
from workloads.lublin import generate

LOGS = {
    "KTH-SP2-1996-2.1-cln": ("1996-09-25", "Europe/Stockholm", 100, "Lars Made-Up"),
    "CTC-SP2-1996-3.1-cln": ("1996-07-05", "US/Eastern", 512, "Dan <Made> & Up"),
    "LANL-CM5-1994-4.1-cln": ("1994-10-10", "US/Mountain", 1024, "Curt Made-Up"),
}
"""Name: first day, zone, processors that the study takes, whom to thank."""


def made_log(path, name, *, jobs=500, days=75, seed=1):
    first, zone, processors, thanks = LOGS[name]
    generator = np.random.default_rng(seed)
    log = generate(jobs, processors, generator=generator, load=0.8)
    slower = days * 86400 / log.submit[-1]  # as many processors in use, but slower
    run_time = np.trunc(log.run_time * slower)
    begin = datetime.fromisoformat(first).replace(tzinfo=ZoneInfo(zone))
    header = Header.of(
        [
            ("Version", "2.2"), ("Computer", "made up"), ("Acknowledge", thanks),
            ("UnixStartTime", int(begin.timestamp())), ("TimeZoneString", zone), ("MaxProcs", processors),
        ]
    )  # fmt: skip
    changed = log.with_columns(
        submit=np.trunc(log.submit * slower),
        run_time=run_time,
        requested_time=uniform_factor(run_time, 4, generator),
    )
    write_swf(changed.with_header(header), path / f"{name}.swf.gz")


@pytest.fixture(scope="session")
def made_logs(tmp_path_factory):
    def make(folder):
        for seed, name in enumerate(LOGS):
            made_log(folder, name, seed=seed)

    return made_once(tmp_path_factory, "traces", make)


@pytest.fixture
def as_figures(monkeypatch):
    """Turn what a module draws into a figure, laid out, instead of an SVG file."""

    def as_figure(size, draw):
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        figure.draw_without_rendering()
        return figure

    def of(module):
        monkeypatch.setattr(module, "as_svg", as_figure)
        return module

    return of


def pytest_itemcollected(item):
    """Tests that need a whole study are thorough: it takes seconds."""
    if "reported" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.thorough)
