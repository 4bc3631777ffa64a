"""``python -m gas`` is the program `gas`."""

from gas.cli.main import main

main()
