"""Compiling kernels with numba, on demand, in one place.

A *kernel* is a plain function on arrays, marked by `kernel` and nothing else: called as it stands it is ordinary
Python. `compiled` returns the same source as machine code. Nothing here imports numba before the first `compiled`.

Two traps are closed here:

* A plain function called from a compiled one does not compile, so `compiled` compiles, with a kernel, every kernel
  that it reaches.
* numba's file cache checks only the file of the function itself and would keep serving machine code that contains an
  older version of a callee from another file. The name of the cache directory therefore contains a hash of every source
  file (and every constant) that the kernel reaches, and the homes of the records that it is given. The location of
  these files does not matter: all checkouts and installations of the same sources share their machine code.

Machine code releases the GIL, so other threads run meanwhile: the caller of a kernel must ensure that no other thread
changes its arrays.

Processes that need the same machine code at the same time (workers of a study, two services) take turns: the first
one compiles, the others load its result.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import importlib.util
import platform
import shutil
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from gas.machine_code import Standing

__all__ = [
    "WORTH_COMPILING",
    "WORTH_WAITING",
    "announce",
    "available",
    "cache_directory",
    "compiled",
    "fastest",
    "inlined_kernel",
    "kernel",
    "lean_kernel",
    "only_ready",
    "shared",
    "tell_of_compiling",
]

F = TypeVar("F", bound=Callable[..., Any])

_compiled: dict[types.FunctionType, Any] = {}  # kernels called from Python
_inner: dict[types.FunctionType, Any] = {}  # kernels called only by other kernels
_turn: list[Path] = []  # directories whose locks this process holds
_making = threading.RLock()  # one thread at a time imports numba and builds dispatchers


def kernel(function: F) -> F:
    """Mark a function on arrays as a kernel that `compiled` may compile; it stays a plain function."""
    function.__gas_kernel__ = True  # type: ignore[attr-defined]
    return function


def lean_kernel(function: F) -> F:
    """Mark a kernel that creates no arrays and returns none.

    Its machine code has no reference counting by numba, which takes most of the time of a small function on several
    arrays: counts are atomic, and every call and loop would change the counts of all its arrays.
    """
    function.__gas_lean__ = True  # type: ignore[attr-defined]
    return kernel(function)


def inlined_kernel(function: F) -> F:
    """Mark a lean kernel to be inlined into its caller: a kernel that is called often, but from one place only.

    Passing a few arrays as arguments takes dozens of words. Inlining a kernel at several places slows down compiling.
    """
    function.__gas_inlined__ = True  # type: ignore[attr-defined]
    return lean_kernel(function)


def shared(function: F) -> F:
    """Mark a large kernel that Python and several kernels call: there is one copy of its machine code, which all call.

    Otherwise each caller would contain its own copy, and compile it again. Calls must pass all arguments.
    """
    function.__gas_shared__ = True  # type: ignore[attr-defined]
    return function


def available() -> bool:
    """Return whether numba is installed (the extra `sim` or `server`), without importing it."""
    return importlib.util.find_spec("numba") is not None


def compiled(function: F) -> F:
    """Return the kernel as machine code, together with every kernel that it calls.

    The first call for a version of the sources compiles (seconds); later ones load from the cache directory.

    Raises
    ------
    ImportError
        numba is not installed; check with `available` before.
    """
    plain = cast(types.FunctionType, function)
    if plain not in _compiled:
        with _making:
            if plain not in _compiled:
                _compiled[plain] = _compile(plain)
    return cast(F, _compiled[plain])


def cache_directory(function: Callable[..., Any]) -> Path:
    """Return the directory of the machine code for this version of the kernel's sources.

    It is named by the hash, in ``$GAS_CACHE``, else in ``gas`` in ``$XDG_CACHE_HOME`` (``~/.cache``). Raises `NoHome`
    if no variable names a place and the user has no home directory.
    """
    from documents.home import cache_folder

    return cache_folder() / f"kernels-{sources_digest(function)}"


def sources_digest(function: Callable[..., Any]) -> str:
    """Return the digest that identifies this version of the kernel's sources."""
    digest = hashlib.sha256()
    digest.update(f"{sys.version}|{platform.machine()}|{_numba_version()}".encode())
    digest.update(_source(str(Path(__file__).with_name("machine_code.py"))))
    kernels = sorted(_reached(cast(types.FunctionType, function)), key=lambda k: (k.__module__, k.__name__))
    for module, path in sorted({(k.__module__, k.__code__.co_filename) for k in kernels}):
        digest.update(module.encode() + b"\0" + _source(path))
    for reached in kernels:  # a constant may come from a module that holds no kernel
        for name, value in sorted(_globals_used(reached), key=lambda used: used[0]):
            if isinstance(value, (bool, int, float, str, tuple)):
                digest.update(f"{reached.__module__}.{name}={value!r}".encode())
    digest.update("".join(sorted(_records_of(kernels))).encode())
    return digest.hexdigest()[:20]


@functools.cache
def _source(path: str) -> bytes:
    """Return the contents of a file; cached, as many kernels share a file."""
    return Path(path).read_bytes()


def is_ready(function: Callable[..., Any]) -> bool:
    """Return whether machine code of this version of the kernel is in the cache, so that a call does not wait."""
    plain = cast(types.FunctionType, function)
    if plain in _compiled:
        return True
    with contextlib.suppress(OSError):  # a folder above it is not accessible to the user, or does not exist
        return (cache_directory(plain) / f"{_file_name(plain)}.nbi").exists()
    return False


def _file_name(function: types.FunctionType, *, inner: bool = False) -> str:
    """Return the prefix of the names of a kernel's files in the cache."""
    return f"{function.__module__}.{function.__qualname__}".replace("<locals>", "") + ("-inner" if inner else "")


@functools.cache
def _numba_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("numba")
    except PackageNotFoundError:
        return "none"


def _globals_used(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    codes = [function.__code__]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]  # of a comprehension
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]


def _callees(function: types.FunctionType) -> list[tuple[str, types.FunctionType]]:
    return [
        (name, value)
        for name, value in _globals_used(function)
        if isinstance(value, types.FunctionType) and getattr(value, "__gas_kernel__", False)
    ]


def _records_of(kernels: Iterable[types.FunctionType]) -> set[str]:
    """Return the home and the fields of every record (`NamedTuple`) among the parameters, also of nested records.

    numba's files name records by their homes. If a record has moved, files that name it cannot be read.
    """
    found: set[str] = set()
    waiting = [(kind, kernel.__globals__) for kernel in kernels for kind in kernel.__annotations__.values()]
    while waiting:
        kind, names = waiting.pop()
        kind = getattr(kind, "__forward_arg__", kind)
        record = names.get(kind) if isinstance(kind, str) else kind
        if not (isinstance(record, type) and hasattr(record, "_fields")):
            continue
        text = f"{record.__module__}.{record.__qualname__}{record._fields}"
        if text not in found:
            found.add(text)
            waiting += [(field, vars(sys.modules[record.__module__])) for field in record.__annotations__.values()]
    return found


def _reached(function: types.FunctionType) -> set[types.FunctionType]:
    found: set[types.FunctionType] = set()
    waiting = [function]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += [callee for _, callee in _callees(current)]
    return found


def _import_numba() -> None:
    """Import numba without the settings that it reads from ``.numba_config.yaml`` in the current folder.

    They may name modules to import, and the folder may belong to anybody.
    """
    with _making:  # otherwise one thread would restore what another hides
        if "numba" in sys.modules:
            return
        hidden = sys.modules.get("yaml")
        sys.modules["yaml"] = None  # type: ignore[assignment]  # then numba reads no such file: importing yaml fails
        try:
            import numba  # noqa: F401
        finally:
            if hidden is None:
                del sys.modules["yaml"]
            else:
                sys.modules["yaml"] = hidden


def _compile(function: types.FunctionType, *, inner: bool = False) -> Any:
    """Return the machine code of a kernel, compiled or loaded at its first call; `inner`: called by other kernels."""
    _import_numba()
    from gas.machine_code import file_cache, part, program

    namespace = dict(function.__globals__)
    # Each callee has the directory of its own sources: the first of its callers types and lowers it, once.
    namespace.update({name: _called(callee) for name, callee in _callees(function)})
    clone = types.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    clone.__module__, clone.__qualname__ = function.__module__, function.__qualname__
    options: dict[str, Any] = {"_nrt": False} if getattr(function, "__gas_lean__", False) else {}
    if getattr(function, "__gas_inlined__", False):
        options["forceinline"] = True
    dispatcher: Any = (part if inner else program)(clone, options)
    with contextlib.suppress(OSError):  # no writable place: compile in every process
        directory = cache_directory(function)
        make(directory)
        name = _file_name(function, inner=inner)
        dispatcher._cache = file_cache(clone, directory, name, _overload_of, of_part=inner)
        dispatcher.compile = _in_turn(dispatcher.compile, directory)
    if getattr(function, "__gas_shared__", False):
        dispatcher.compile = _standing(dispatcher, function)
    return dispatcher


def _standing(dispatcher: Any, function: types.FunctionType) -> Callable[[Any], Any]:
    """Return a function that compiles a signature of a shared kernel and makes callers refer to its code."""
    from gas.machine_code import stand

    compile_or_load = dispatcher.compile

    def compile_and_stand(signature: Any) -> Any:
        entry = compile_or_load(signature)
        for overload in dispatcher.overloads.values():
            stand(function, overload)
        return entry

    return compile_and_stand


def _overload_of(standing: Standing) -> Any:
    """Return the compiled form of a shared kernel."""
    dispatcher: Any = compiled(getattr(sys.modules[standing.module], standing.name))
    dispatcher.compile(standing.types)
    return dispatcher.overloads[standing.types]


def _called(function: types.FunctionType) -> Any:
    """Return the code of a kernel for calls by another kernel."""
    if getattr(function, "__gas_shared__", False):
        return compiled(function)
    if function not in _inner:
        _inner[function] = _compile(function, inner=True)
    return _inner[function]


def make(directory: Path) -> None:
    """Make a directory for machine code.

    Raises
    ------
    OSError
        It cannot be made or written to.
    """
    if not directory.exists():  # a source has changed, or the release: the time to remove old code
        forget_unused(directory.parent, time.time())
    directory.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=directory).close()
    (directory / "lock").touch()  # marks it as used from now on, even if its first call comes later


UNUSED_DAYS = 90
"""Days without use after which machine code is removed."""


def forget_unused(home: Path, now: float) -> None:
    """Remove the machine code of sources that have not been used for `UNUSED_DAYS`; each change of one leaves some.

    Parameters
    ----------
    now
        Epoch seconds.
    """
    for directory in home.glob("kernels-*"):
        with contextlib.suppress(OSError):  # another process is removing it, or it belongs to another user
            lock = directory / "lock"  # written at each use
            used = (lock if lock.exists() else directory).stat().st_mtime
            if used < now - UNUSED_DAYS * 86400:
                shutil.rmtree(directory)


def _in_turn(compile_or_load: Callable[[Any], Any], directory: Path) -> Callable[[Any], Any]:
    """Return a function that compiles or loads a signature while no other process does so in this directory.

    Literal types of constant arguments become general types: numba would compile a function anew for each constant.
    """
    from numba.core import types as numba_types
    from numba.core.compiler_lock import global_compiler_lock

    from gas.machine_code import sooner

    general: Callable[[Any], Any] = numba_types.unliteral

    def in_turn(signature: Any) -> Any:
        if isinstance(signature, tuple):
            signature = tuple(general(one) for one in signature)
        with global_compiler_lock, sooner(), contextlib.ExitStack() as held:
            if directory not in _turn:  # a kernel waits only for its callees, so there is no deadlock
                with contextlib.suppress(OSError):  # a file system without locks: every process compiles
                    directory.mkdir(exist_ok=True)  # another process may have removed it as unused
                    lock = held.enter_context((directory / "lock").open("w"))
                    fcntl.flock(lock, fcntl.LOCK_EX)
                _turn.append(directory)
                held.callback(_turn.pop)
            return compile_or_load(signature)

    return in_turn


WORTH_COMPILING = 400_000
"""Steps from which machine code is worth the import of numba: about half a second of plain Python."""


WORTH_WAITING = 4_000_000
"""Steps from which a large kernel is worth compiling first: some seconds of plain Python."""


def _log(text: str) -> None:
    import logging

    logging.getLogger("gas.compiled").warning("%s", text)


_telling: list[Callable[[str], None]] = [_log]
"""Reports that a large kernel is being compiled. By default, for use as a library, it is logged once."""


def tell_of_compiling(say: Callable[[str], None]) -> None:
    """Set the function that reports, once, that a large kernel is about to be compiled for the first time."""
    _telling[:] = [say]


def announce(function: Callable[..., Any], what: str) -> None:
    """Report, once, that a large kernel is being compiled, unless its machine code is cached."""
    if _telling and not is_ready(function):
        for say in _telling:
            say(f"first use: compiling {what} (up to half a minute)")
        _telling.clear()


_compiles: ContextVar[bool] = ContextVar("_compiles", default=True)


@contextlib.contextmanager
def only_ready() -> Iterator[None]:
    """Within this block, `fastest` compiles nothing: code that is not in the cache runs in plain Python."""
    before = _compiles.set(False)
    try:
        yield
    finally:
        _compiles.reset(before)


def fastest(function: F, steps: int, *, large: str = "") -> F:
    """Return the form of a kernel that answers soonest: compiled if it is cached or the problem is large.

    A large kernel, which takes up to half a minute to compile, is compiled only from `WORTH_WAITING` steps on; `large`
    describes it in the report that comes before. Within `only_ready`, nothing is compiled.
    """
    if function in _compiled:
        return compiled(function)
    if steps <= WORTH_COMPILING or not available() or not (_compiles.get() or is_ready(function)):
        return function
    if large and not is_ready(function):
        if steps <= WORTH_WAITING:
            return function
        announce(function, large)
    return compiled(function)
