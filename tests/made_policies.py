"""Policies as third parties might write them: plug-ins (`install`) and files."""

from __future__ import annotations

from pathlib import Path

GOOD = """
class InOrder:
    def start(self, machine):
        first = machine.waiting[0]
        return [first] if first.processors <= machine.free else []
"""

ENTRY_POINTS = """[gas.policies]
in-order = policies_of_a_test:InOrder
broken = no_such_module_of_a_test:Policy
leaving = policies_of_a_test:Leaving
easy = policies_of_a_test:InOrder
"""

LEAVING = """
import os
class Leaving:
    def start(self, machine):
        if machine.now > 0:
            os._exit(0)
        return list(machine.waiting)
"""


def install(folder: Path, monkeypatch) -> None:
    """Register policies as plug-ins, in this process and in processes it starts."""
    site = folder / "policies"
    metadata = site / "made_policies-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: made-policies\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    (site / "policies_of_a_test.py").write_text(GOOD + LEAVING)
    monkeypatch.syspath_prepend(site)
