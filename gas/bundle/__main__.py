"""``python -m gas.bundle executable FILE`` and ``python -m gas.bundle wheelhouse FOLDER``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gas.errors import GasError, outcome_of


def main(arguments: list[str] | None = None) -> int:
    """Build the requested bundle; errors are one line, as in all commands."""
    parser = argparse.ArgumentParser(prog="python -m gas.bundle", description="Gas for login nodes.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    executable = kinds.add_parser("executable", help="one executable file that needs no Python")
    executable.add_argument("file", type=Path, help="file to write, such as gas-linux-x86_64")
    wheelhouse = kinds.add_parser("wheelhouse", help="a folder of wheels, for pip without network")
    wheelhouse.add_argument("folder", type=Path, help="folder for the wheels")
    wheelhouse.add_argument(
        "--extras", default="", help="such as server,plot,data (default: what planning and submitting need)"
    )
    wheelhouse.add_argument("--python", default="3.11", help="version of Python on the login node (default: 3.11)")
    asked = parser.parse_args(arguments)
    try:
        if asked.kind == "executable":
            from gas.bundle.executable import build

            print(f"{asked.file}: {build(asked.file) / 1e6:.1f} MB")
        else:
            from gas.bundle.wheelhouse import fill

            wheels = fill(asked.folder, extras=asked.extras, python=asked.python)
            print(f"{asked.folder}: {len(wheels)} wheels, {sum(one.stat().st_size for one in wheels) / 1e6:.0f} MB")
    except (GasError, OSError) as problem:
        print(f"gas.bundle: {problem}", file=sys.stderr)
        outcome = outcome_of(problem)
        return outcome.exit_code if outcome else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
