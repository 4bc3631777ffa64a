"""Machine code of kernels: *parts*, which only other kernels call, linked into *programs*, which Python calls.

numba optimises and translates each function on its own, together with all that it reaches, so that what stands deep
below is worked on again for each of its callers. A part is only typed and lowered. A program links the parts that it
reaches and is optimised and translated once, as a whole. Nothing but its entry is called from outside, so what a
part does not need of a state of dozens of words is not passed to it: the code gets faster, too.

A program that other kernels call as well, and that is marked as shared, stands in memory once: they refer to it by its
symbol instead of holding a copy, and are small themselves. What is kept of them names what they refer to, which is
loaded first.

Imports numba; `gas.compiled` imports this module when it compiles.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
from numba.core import caching
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, compile_result
from numba.core.types.functions import BaseFunction
from numba.extending import overload
from numba.np import arrayobj

__all__ = ["Standing", "file_cache", "part", "program", "referred", "sooner", "stand"]

_MANGLED = "_ZN"
"""How the names of functions that numba has compiled begin."""

_code_of = attrgetter("library")
"""The code in what numba returns of a compiled function."""


def program(function: types.FunctionType, options: dict[str, Any]) -> Any:
    """Return numba's dispatcher of a kernel that Python calls."""
    options = options | {"no_cfunc_wrapper": True, "nogil": True, "pipeline_class": _ProgramCompiler}
    return numba.njit(**options)(function)


def part(function: types.FunctionType, options: dict[str, Any]) -> Any:
    """Return numba's dispatcher of a kernel that only others call: it goes without what translates Python's objects."""
    options = options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    options |= {"nogil": True, "pipeline_class": _PartCompiler}
    return numba.njit(**options)(function)


def _other_shape(source: Any, target: Any) -> None:
    """Stand in for what numba calls where a slice is assigned an array of another shape."""


@overload(_other_shape)
def _raise_other_shape(source: Any, target: Any) -> Any:
    def raise_it(source: Any, target: Any) -> None:
        raise ValueError("cannot assign an array of another shape to a slice")

    return raise_it


@contextlib.contextmanager
def sooner() -> Iterator[None]:
    """Compile within this block without what takes numba long and changes no machine code that is kept."""
    with _replaced(arrayobj, _ITS_NAME, _other_shape), _replaced(BaseFunction, _TYPING, _typed_once):
        yield


@contextlib.contextmanager
def _replaced(owner: Any, name: str, by: Any) -> Iterator[None]:
    theirs = getattr(owner, name, None)  # None in releases that have no such name
    if theirs is not None:
        setattr(owner, name, by)
    try:
        yield
    finally:
        if theirs is not None:
            setattr(owner, name, theirs)


_ITS_NAME = "raise_with_shape_context"
"""What numba calls with the two shapes: each process would first compile all that writes numbers into strings."""

_TYPING = "get_call_type"
_its_typing: Any = getattr(BaseFunction, _TYPING, None)


def _typed_once(function: Any, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    """Return the signature of a function for these types of arguments, found once for a built-in one.

    numba tries all that an operator may mean, for dates and strings too, at each place where one stands: a sixth of the
    time of a large kernel. What another compiled function stands for is asked anew, as its machine code depends on the
    caller's options.
    """
    if kws or getattr(function.typing_key, "__module__", None) not in ("_operator", "builtins"):
        return _its_typing(function, context, args, kws)
    known = function.__dict__.setdefault("_known_signatures", {})
    found = known.get(args)
    if found is None:
        found = _its_typing(function, context, args, kws)
        if not any(found.args in getattr(one, "_compiled_overloads", ()) for one in function.templates):
            known[args] = found
    return found


class _Part(JITCodeLibrary):
    """The code of one function, as it was lowered, and of what it calls."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.environments: dict[str, Any] = {}

    def finalize(self) -> None:
        self._finalize_dynamic_globals()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"
        self._shared_module = self._final_module
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, as for what is not defined: there is nothing that Python could call."""
        return 0

    @property
    def codegen(self) -> _Part:
        """Who is given the environment: it is set where the program stands in memory."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Note an environment, the constants that the code may refer to."""
        self.environments[name] = environment

    def reached(self) -> list[Any]:
        """Return this and all libraries that it reaches, parts or not."""
        return _reached([self])

    def saved(self) -> list[bytes]:
        """Return the code, its own first, as it is written to the cache."""
        self._ensure_finalized()
        held = [library for library in self.reached() if not _standing(library)]
        return list(dict.fromkeys(library.serialize_using_bitcode()[-1] for library in held))

    @classmethod
    def loaded(cls, codegen: Any, name: str, codes: list[bytes]) -> _Part:
        """Return what was saved."""
        self = cls(codegen, name)
        self._final_module = llvm.parse_bitcode(codes[0])
        self._linking_libraries = [cls.loaded(codegen, name, [code]) for code in codes[1:]]
        self._ensure_finalized()
        return self


class _Program(JITCodeLibrary):
    """The code of a kernel and of all that it reaches."""

    def finalize(self) -> None:
        reached = _reached(self._linking_libraries)
        self._linking_libraries = [library for library in reached if not _standing(library)]
        super().finalize()
        self._linking_libraries = reached  # what it refers to stays as long as this does
        codegen: Any = self.codegen
        defined = {variable.name for variable in self._final_module.global_variables}
        for library in self._linking_libraries:
            if isinstance(library, _Part):
                for name in library.environments.keys() & defined:
                    codegen.set_env(name, library.environments[name])

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == llvm.Linkage.linkonce_odr and function.name.startswith(_MANGLED):
                function.linkage = "internal"
        super()._optimize_final_module()


class Standing(NamedTuple):
    """How a program that stands in memory once is found: its kernel, the types of its arguments, its symbol."""

    module: str
    name: str
    types: tuple[Any, ...]
    symbol: str


def stand(function: types.FunctionType, overload: Any) -> None:
    """Have the program of a kernel referred to by others, rather than copied."""
    its = overload.signature.args, overload.fndesc.mangled_name
    _code_of(overload).standing = Standing(function.__module__, function.__qualname__, *its)


def _standing(library: Any) -> Standing | None:
    """Return how a library is found again, None if those that call it hold it."""
    return getattr(library, "standing", None)


def referred(library: Any) -> list[Standing]:
    """Return what a library refers to."""
    return [standing for other in _reached(library._linking_libraries) if (standing := _standing(other))]


def _reached(libraries: list[Any]) -> list[Any]:
    found = list(dict.fromkeys(libraries))
    for library in found:  # grows
        if isinstance(library, _Part):
            found += [other for other in dict.fromkeys(library._linking_libraries) if other not in found]
    return found


class _PartCompiler(Compiler):
    kind: type[JITCodeLibrary] = _Part

    def define_pipelines(self) -> Any:
        state = self.state
        code = self.kind(state.targetctx.codegen(), state.func_id.func_qualname)
        code.enable_object_caching()
        state["library"] = code
        return super().define_pipelines()


class _ProgramCompiler(_PartCompiler):
    kind = _Program


def file_cache(
    function: types.FunctionType,
    directory: Path,
    file_name: str,
    overload_of: Callable[[Standing], Any],
    *,
    of_part: bool,
) -> Any:
    """Return numba's file cache, but in this directory only: its name says all that the machine code depends on.

    `overload_of` compiles or loads a program that stands in memory once.

    numba's own asks where the source file stands and, in releases before 0.68, when it was last written, and where it
    cannot write, goes on to ``__pycache__``, whose files do not notice that a callee has changed.
    """

    class Locator(caching.UserProvidedCacheLocator):
        def __init__(self, function: types.FunctionType) -> None:
            self._py_file = function.__code__.co_filename  # for a warning

        def get_cache_path(self) -> str:
            return str(directory)

        def get_source_stamp(self) -> str:
            return directory.name

        def get_disambiguator(self) -> str:
            return ""  # names differ within a module

    class Files(_Files, *([_PartFiles] if of_part else [])):  # type: ignore[misc]
        def overload_of(self, standing: Standing) -> Any:
            return overload_of(standing)

        def __init__(self, function: types.FunctionType) -> None:
            self._locator = Locator(function)
            self._lineno = function.__code__.co_firstlineno
            self._filename_base = file_name

    class Cache(caching.FunctionCache):
        _impl_class = Files

    return Cache(function)


class _Files(caching.CompileResultCacheImpl):
    """What is written of a part or program, before it the programs that it refers to."""

    def overload_of(self, standing: Standing) -> Any:
        """Compile or load a program that is referred to."""
        raise NotImplementedError

    def reduce(self, compiled: Any) -> Any:
        return referred(_code_of(compiled)), super().reduce(compiled)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return what was saved, or None if what it refers to has another symbol since: it was compiled anew."""
        standing, own = payload
        others = [self.overload_of(one) for one in standing]
        if [one.fndesc.mangled_name for one in others] != [one.symbol for one in standing]:
            return None
        compiled = super().rebuild(target_context, own)
        _code_of(compiled)._linking_libraries += map(_code_of, others)
        return compiled


class _PartFiles(caching.CompileResultCacheImpl):
    """What is written of a part."""

    def reduce(self, compiled: Any) -> Any:
        compiled.fndesc.typemap = compiled.fndesc.calltypes = None  # large, and only used while it was lowered
        code = _code_of(compiled)
        parts = [each for each in code.reached() if isinstance(each, _Part)]
        environments = [each for one in parts for each in one.environments.values() if each.can_cache()]
        return code.saved(), compiled.fndesc, compiled.environment, compiled.signature, environments

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        codes, fndesc, environment, signature, environments = payload
        library = _Part.loaded(target_context.codegen(), fndesc.qualname, codes)
        for each in environments:
            library.set_env(each.env_name, each)
        return compile_result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=environment,
            entry_point=target_context.get_executable(library, fndesc, environment),
            fndesc=fndesc,
            signature=signature,
            objectmode=False,
            lifted=(),
        )

    def check_cachable(self, compiled: Any) -> bool:
        return not any(each.has_dynamic_globals for each in _code_of(compiled).reached())
