"""``python -m gas`` is the program `gas`, and imports nothing from the current folder either.

Python puts that folder first into its path. What Python has imported before this module runs, only ``python -P -m gas``
keeps from it.
"""

import os
import sys

if not sys.flags.safe_path and sys.path:
    try:
        here = os.path.realpath(sys.path[0]) == os.path.realpath(os.getcwd())  # noqa: PTH109
    except OSError:  # there is no such folder any more
        here = True
    if here and os.path.dirname(os.path.dirname(os.path.realpath(__file__))) != os.path.realpath(sys.path[0]):  # noqa: PTH120
        del sys.path[0]

from gas.cli.main import main

main()
