"""The build hook that puts the pages of the manual into the wheel; hatchling loads it from its file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "share/man/man1"


class ManualHook(BuildHookInterface[Any]):
    """Writes the pages before the wheel is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages and install them; not for an editable installation, which uses this folder."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="gas-manual-")
        program = Path(self.root, "gas", "manual", "__main__.py")
        command = [sys.executable, "-I", "-S", str(program), self._folder.name, self.metadata.version]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for page in sorted(Path(self._folder.name).iterdir()):
            build_data["shared_data"][str(page)] = f"{PLACE}/{page.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the pages: they are in the wheel."""
        if version != "editable":
            self._folder.cleanup()
