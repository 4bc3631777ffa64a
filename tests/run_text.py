"""Run the text of a program as `python -c` does: the script behind `warm.RUN` when nothing is forked."""

import sys

if __name__ == "__main__":
    del sys.path[0]  # this folder: `python -m gas` does not have it
    text, sys.argv = sys.argv[1], ["-c", *sys.argv[2:]]
    exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
