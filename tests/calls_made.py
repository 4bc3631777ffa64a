"""Functions of a module, which jobs find by name."""

import os
import sys
import threading


class Sealed(Exception):
    """An error to which nothing can be added."""

    def add_note(self, note):
        raise RuntimeError("sealed")

    def __setattr__(self, name, value):
        raise RuntimeError("sealed")


class Local(Exception):
    """An error that only its own process can make."""

    def __init__(self, one, two):
        super().__init__(one)


def size(processors, *, environment=False):
    return os.environ["GAS_PROCESSORS"] if environment else processors


def fail(kind):
    print("about to fail")
    if kind == "exit":
        sys.exit(3)
    if kind == "kill":
        os._exit(9)
    if kind == "value":
        return threading.Lock()
    if kind == "local":
        raise Local("only here", 2)
    if kind == "sealed":
        raise Sealed("nothing to add")
    raise ValueError(f"no such {kind}")
