"""Show one seed again: ``PYTHONPATH=tests python -m simulated SEED``."""

import argparse
import sys

from simulated.world import FAULTS, simulate


def main() -> int:
    """Run a seed and print all that happened in it."""
    parser = argparse.ArgumentParser(prog="python -m simulated", description="Show a seed of the simulation again.")
    parser.add_argument("seed", type=int)
    parser.add_argument("--operations", type=int, default=200)
    parser.add_argument("--without", action="append", default=[], choices=sorted(FAULTS), help="a kind of fault")
    parser.add_argument("--quiet", action="store_true", help="nothing but the violations and the trace's hash")
    options = parser.parse_args()
    result = simulate(options.seed, options.operations, dict.fromkeys(options.without, False))
    if not options.quiet:
        print("\n".join(result.trace))
    print(f"seed {options.seed}: {len(result.violations)} violations, trace {result.digest}")
    return 1 if result.violations else 0


if __name__ == "__main__":
    sys.exit(main())
