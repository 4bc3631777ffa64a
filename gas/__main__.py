"""``python -m gas`` runs the program `gas`, and like it imports nothing from the current folder.

Python puts that folder first in its path. For modules that Python imports before this one, only ``python -P -m gas``
prevents it.
"""

import os
import sys

if not sys.flags.safe_path and sys.path:
    try:
        here = os.path.realpath(sys.path[0]) == os.path.realpath(os.getcwd())  # noqa: PTH109
    except OSError:  # the current folder no longer exists
        here = True
    if here and os.path.dirname(os.path.dirname(os.path.realpath(__file__))) != os.path.realpath(sys.path[0]):  # noqa: PTH120
        del sys.path[0]

from gas.cli.main import main

main()
