"""The program `gas`: its entry point, and how errors become exit codes.

Every expected error is one line on standard error and an exit code (`gas.errors.ERRORS`). This module imports almost
nothing, so that an interruption while the commands are imported (a good part of a second) also ends without a
traceback.
"""

from __future__ import annotations

import os
import sys

from gas.printable import as_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

__all__ = ["main", "run"]


def run(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code; errors are printed on standard error."""
    try:
        from gas.cli.commands import app

        code = app(args=arguments, prog_name="gas", standalone_mode=False)
        if code == 130:
            return _failed("interrupted", 130)
        return code if isinstance(code, int) else 0
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):  # typer exits with 1 at a broken pipe
            _unwritable(sys.stdout)
            return 0
        return leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    except BrokenPipeError:  # the reader of the output has closed it
        _unwritable(sys.stdout)
        return 0
    except OSError as error:
        import errno

        from gas.errors import outcome_of

        _unwritable(sys.stdout)
        if not error.filename and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            return _failed(f"the output cannot be written: {error.strerror}", 1)
        outcome = outcome_of(error)
        where = f"{error.filename}: " if error.filename else ""
        return _failed(f"{where}{error.strerror or error}", outcome.exit_code if outcome else 1)
    except Exception as error:
        if _lost:
            return _failed("interrupted", 130)
        from gas.errors import outcome_of

        outcome = outcome_of(error)
        if outcome is not None:
            return _failed(f"{error}{_elsewhere(error)}", outcome.exit_code)
        if type(error).__name__ == "NoArgsIsHelpError":
            print(str(error), file=sys.stderr)
            return 2
        if hasattr(error, "format_message"):  # typer's errors about the command line itself
            return _failed(_usage(error), 2)
        if type(error).__name__ == "Abort":
            return _failed("interrupted", 130)
        if os.environ.get("GAS_DEBUG"):
            raise
        if "_GAS_COMPLETE" in os.environ and isinstance(error, (KeyError, ValueError)):
            return _failed("COMP_WORDS and COMP_CWORD must be set as a shell sets them for completion", 2)
        if isinstance(error, ModuleNotFoundError) and (way_out := _elsewhere(error)):
            return _failed(f"this needs {error.name}{way_out}", 1)
        return _failed(
            f"internal error ({type(error).__name__}: {error}); please report it with the output of the same command "
            "under GAS_DEBUG=1",
            1,
        )


def _elsewhere(error: Exception) -> str:
    """Return where to get a part missing in the one-file Gas; empty for other errors and other installations."""
    if getattr(sys, "frozen", False) and any(words in str(error) for words in ("pip install", "No module named")):
        return "; the one-file Gas does not contain it: install Gas with pip (gas guide login-nodes)"
    return ""


def _failed(message: str, code: int) -> int:
    """Print an error as one line; if this is impossible, the exit code still reports it."""
    try:  # contextlib would take time to import
        print(f"gas: {as_line(' '.join(message.split()))}", file=sys.stderr, flush=True)
    except OSError:
        return code
    return code


def _unwritable(stream: TextIO) -> str:
    """Return why a stream is not writable, and discard its buffer; empty if it is writable.

    Otherwise Python would write the buffer again at exit, fail, and change the exit code to 120.
    """
    try:
        stream.flush()
    except OSError as problem:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        return problem.strerror or str(problem)
    return ""


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "gas"
    message = str(error.format_message()).rstrip(". ").replace("Value error, ", "")
    said, should_be, wanted = message.partition("Input should be ")
    if should_be:  # newer versions of typer leave validation to pydantic, whose message does not name the value
        problems: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
        value = f"{str(problems[0]['input'])[:40]!r} " if problems else ""
        wanted = wanted.partition(", unable to parse")[0].replace("valid integer", "whole number")
        message = f"{said}{value}must be {wanted.replace('valid number', 'number')}"
    return f"{message} (see {command} --help)"


def main() -> None:
    """Entry point of the console script."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # None if the parent process closed it
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115
    if "utf" not in (sys.stdout.encoding or "").lower():
        _speak_otherwise(sys.stdout)
    try:
        import signal

        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # it is ignored under nohup
            signal.signal(signal.SIGHUP, _hung_up)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        sys.unraisablehook = _raise_again
        code = run()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a Ctrl-C from here on ends the program silently
    except KeyboardInterrupt:
        code = _failed("interrupted", 130)
    if problem := _unwritable(sys.stdout):
        code = code or _failed(f"standard output cannot be written ({problem})", 1)
    _unwritable(sys.stderr)
    sys.exit(code)


def _speak_otherwise(stream: Any) -> None:
    """Let a stream replace characters that its encoding lacks, as in a locale without UTF-8, instead of failing.

    Standard error writes escapes already.
    """
    import codecs

    from gas.printable import in_other_words

    codecs.register_error("gas.in_other_words", in_other_words)
    stream.reconfigure(errors="gas.in_other_words")


def _hung_up(number: int, frame: object) -> None:
    """Interrupt the program, once: a closing terminal and its shell each send this signal."""
    import signal

    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _raise_again(lost: sys.UnraisableHookArgs) -> None:
    """Raise an interruption again that Python dropped because it occurred in a callback from C.

    The compiler of the kernels has many such callbacks, and fails in odd ways if one is interrupted.
    """
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    import signal

    _lost.append(True)
    signal.setitimer(signal.ITIMER_REAL, 0.05)


_lost: list[bool] = []
"""Not empty after an interruption was dropped."""
