"""Machine code of kernels: *parts*, which only other kernels call, linked into *programs*, which Python calls.

numba optimises and translates each function separately, with all its callees, so that code deep in the call graph is
processed again for each of its callers. A part is only typed and lowered. A program links the parts that it reaches and
is optimised and translated once, as a whole. Only its entry is called from outside, so a part gets only those words of
a large state that it needs, which makes the code faster, too.

A program that is marked as shared and also called by other kernels is in memory once: callers refer to it by its symbol
instead of containing a copy, and stay small. The cached code of a caller names the programs to which it refers; they
are loaded first.

Imports numba; `gas.compiled` imports this module when it compiles.
"""

from __future__ import annotations

import contextlib
import types
from collections import Counter
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
from llvmlite.ir import IRBuilder
from llvmlite.ir.instructions import InsertValue, PhiInstr
from numba.core import caching, ir
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs, must_use_alloca
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, compile_result
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.core.types.functions import BaseFunction
from numba.extending import overload
from numba.np import arrayobj

__all__ = ["Standing", "file_cache", "part", "program", "referred", "sooner", "stand"]

_MANGLED = "_ZN"
"""Prefix of the names of functions compiled by numba."""

_code_of = attrgetter("library")
"""Returns the code in numba's result for a compiled function."""


def program(function: types.FunctionType, options: dict[str, Any]) -> Any:
    """Return numba's dispatcher of a kernel that Python calls."""
    options = options | {"no_cfunc_wrapper": True, "nogil": True, "pipeline_class": _ProgramCompiler}
    return numba.njit(**options)(function)


def part(function: types.FunctionType, options: dict[str, Any]) -> Any:
    """Return numba's dispatcher of a kernel that only kernels call; it has no code to convert Python objects."""
    options = options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    options |= {"nogil": True, "pipeline_class": _PartCompiler}
    return numba.njit(**options)(function)


def _other_shape(source: Any, target: Any) -> None:
    """Replace the function that numba calls when an array of another shape is assigned to a slice."""


@overload(_other_shape)
def _raise_other_shape(source: Any, target: Any) -> Any:
    def raise_it(source: Any, target: Any) -> None:
        raise ValueError("cannot assign an array of another shape to a slice")

    return raise_it


@contextlib.contextmanager
def sooner() -> Iterator[None]:
    """Within this block, skip steps that take numba long and do not change what the resulting machine code does."""
    with (
        _replaced(arrayobj, _ITS_NAME, _other_shape),
        _replaced(BaseFunction, _TYPING, _typed_once),
        _replaced(NativeLowering, "lowering_class", _LOWERS),
        _replaced(IRBuilder, "extract_value", _extracted),
    ):
        yield


@contextlib.contextmanager
def _replaced(owner: Any, name: str, by: Any) -> Iterator[None]:
    theirs = getattr(owner, name, None)  # None in releases of numba without this name
    if theirs is not None:
        setattr(owner, name, by)
    try:
        yield
    finally:
        if theirs is not None:
            setattr(owner, name, theirs)


_ITS_NAME = "raise_with_shape_context"
"""numba calls it with the two shapes; each process would first compile all code that converts numbers to strings."""

_TYPING = "get_call_type"
_its_typing: Any = getattr(BaseFunction, _TYPING, None)


def _typed_once(function: Any, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    """Return the signature of a function for these argument types; for built-in functions it is found only once.

    At each use of an operator, numba tries all its meanings, also for dates and strings: a sixth of the time of a large
    kernel. The signature of another compiled function is found anew, as its machine code depends on the caller's
    options.
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


class _Lower(Lower):
    """Lowers functions without reference counts; keeps a variable that is assigned once as a value.

    numba keeps variables that several blocks use in memory: at each use of a field of a record, it loads the record of
    hundreds of words. Undoing that takes LLVM a quarter of the time of compiling.
    """

    def _find_singly_assigned_variable(self) -> None:
        super()._find_singly_assigned_variable()
        if self.context.enable_nrt or self.func_ir.func_id.is_generator:
            return
        blocks = self.func_ir.blocks
        found, dominators = compute_use_defs(blocks), compute_cfg_from_blocks(blocks).dominators()
        assigned = Counter(one.target.name for block in blocks.values() for one in block.find_insts(ir.Assign))
        defined = {name: label for label, names in found.defmap.items() for name in names if assigned[name] == 1}
        for label, names in found.usemap.items():
            for name in names:
                by = defined.get(name, label)
                if by >= label or by not in dominators[label]:  # it would be lowered, or executed, later
                    defined.pop(name, None)
        self._singly_assigned_vars |= defined.keys() - must_use_alloca(blocks)


_LOWERS = property(lambda _: _Lower)

_its_extract: Any = IRBuilder.extract_value


def _extracted(builder: Any, aggregate: Any, indices: Any, name: str = "") -> Any:
    """Return the value that was inserted into a record at an index, if it is known; otherwise extract it."""
    left = list(indices) if isinstance(indices, (list, tuple)) else [indices]
    inserted = aggregate
    while left and isinstance(inserted, InsertValue) and len(inserted.indices) == 1:
        if inserted.indices[0] == left[0]:
            aggregate = inserted = inserted.operands[1]
            del left[0]
        else:
            inserted = inserted.operands[0]
    return _its_extract(builder, aggregate, left, name) if left else aggregate


def _without_unused_records(module: Any) -> None:
    """Remove the insertions into records that nothing uses, as all their fields were known."""
    for function in module.functions:
        instructions = [one for block in function.blocks for one in block.instructions]
        uses = Counter(id(value) for one in instructions for value in one.operands)
        uses.update(id(value) for one in instructions if isinstance(one, PhiInstr) for value, _ in one.incomings)
        unused = set()
        for one in reversed(instructions):
            if isinstance(one, InsertValue) and not uses[id(one)]:
                unused.add(id(one))
                uses.subtract(map(id, one.operands))
        for block in function.blocks:
            block.instructions[:] = [one for one in block.instructions if id(one) not in unused]


class _Code(JITCodeLibrary):
    """The code of a kernel."""

    def add_ir_module(self, module: Any) -> None:
        """Add a lowered function."""
        _without_unused_records(module)
        super().add_ir_module(module)


class _Part(_Code):
    """The lowered code of one function and of its callees."""

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
        """Return 0, as for undefined names: a part has nothing that Python could call."""
        return 0

    @property
    def codegen(self) -> _Part:
        """The object that receives environments: they are set when the program is loaded into memory."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Note an environment, the constants that the code may refer to."""
        self.environments[name] = environment

    def reached(self) -> list[Any]:
        """Return this library and all that it reaches, parts or not."""
        return _reached([self])

    def saved(self) -> list[bytes]:
        """Return the codes to write to the cache, its own first."""
        self._ensure_finalized()
        held = [library for library in self.reached() if not _standing(library)]
        return list(dict.fromkeys(library.serialize_using_bitcode()[-1] for library in held))

    @classmethod
    def loaded(cls, codegen: Any, name: str, codes: list[bytes]) -> _Part:
        """Return the part restored from its saved codes."""
        self = cls(codegen, name)
        self._final_module = llvm.parse_bitcode(codes[0])
        self._linking_libraries = [cls.loaded(codegen, name, [code]) for code in codes[1:]]
        self._ensure_finalized()
        return self


class _Program(_Code):
    """The code of a kernel and of everything that it reaches."""

    def finalize(self) -> None:
        reached = _reached(self._linking_libraries)
        self._linking_libraries = [library for library in reached if not _standing(library)]
        super().finalize()
        self._linking_libraries = reached  # keeps referenced libraries alive
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
    """Identifies a program that is in memory once: its kernel, the types of its arguments, its symbol."""

    module: str
    name: str
    types: tuple[Any, ...]
    symbol: str


def stand(function: types.FunctionType, overload: Any) -> None:
    """Make callers refer to the program of a kernel instead of copying it."""
    its = overload.signature.args, overload.fndesc.mangled_name
    _code_of(overload).standing = Standing(function.__module__, function.__qualname__, *its)


def _standing(library: Any) -> Standing | None:
    """Return how to find a library again; None if its callers contain it."""
    return getattr(library, "standing", None)


def referred(library: Any) -> list[Standing]:
    """Return the programs to which a library refers."""
    return [standing for other in _reached(library._linking_libraries) if (standing := _standing(other))]


def _reached(libraries: list[Any]) -> list[Any]:
    found = list(dict.fromkeys(libraries))
    for library in found:  # the list grows
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
    """Return numba's file cache restricted to this directory, whose name covers everything that the code depends on.

    `overload_of` compiles or loads a program that is in memory once.

    numba's own locator looks at the place of the source file and, in releases before 0.68, at its time of modification.
    If it cannot write, it falls back to ``__pycache__``, whose files do not notice that a callee has changed.
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
    """The cached form of a part or program; the programs to which it refers come first."""

    def overload_of(self, standing: Standing) -> Any:
        """Compile or load a program to which others refer."""
        raise NotImplementedError

    def reduce(self, compiled: Any) -> Any:
        return referred(_code_of(compiled)), super().reduce(compiled)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return the saved code; None if a program to which it refers was recompiled and has another symbol now."""
        standing, own = payload
        others = [self.overload_of(one) for one in standing]
        if [one.fndesc.mangled_name for one in others] != [one.symbol for one in standing]:
            return None
        compiled = super().rebuild(target_context, own)
        _code_of(compiled)._linking_libraries += map(_code_of, others)
        return compiled


class _PartFiles(caching.CompileResultCacheImpl):
    """The cached form of a part."""

    def reduce(self, compiled: Any) -> Any:
        compiled.fndesc.typemap = compiled.fndesc.calltypes = None  # large, and needed for lowering only
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
