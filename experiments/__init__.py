"""Studies on logs (the next issues); found by the command line through the `gas.commands` entry points."""
