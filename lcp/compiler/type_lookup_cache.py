"""Patches that cache or skip repeated work of numba and llvmlite in a compilation.

The types of ``a + b`` for two floats are looked up once, instead of a search among the candidates at every plus sign.
The collector of cyclic garbage is disabled, because a compilation makes millions of objects that all remain.

To split variables that are assigned more than once, numba walks through all blocks for each of them, also blocks
without it. It queries the type of functions and attributes at every call. Each call of LLVM is announced to all
listeners of compilation times. The name of a kernel contains the types of all its arguments, thousands of letters for a
tuple of arrays, and is repeated at every call. Forty passes are run over each kernel. Around each pass numba formats
its name and arguments for listeners, and looks through all statements for deletions of variables, which it adds at the
end. In kernels without reference counts these deletions have no effect.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from lcp.compiler.releases import is_tested

__all__ = ["fast_compilation"]

_depth = 0


@contextlib.contextmanager
def fast_compilation() -> Iterator[None]:
    """Speed up numba's type lookups and disable the garbage collector in the block; such blocks can be nested.

    numba compiles under one lock for all threads; so does this.
    """
    global _depth
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        _depth += 1
        try:
            with _quick() if _depth == 1 else contextlib.nullcontext():
                yield
        finally:
            _depth -= 1


@contextlib.contextmanager
def _quick() -> Iterator[None]:
    """Replace slow parts of numba by the tested patches, and stop garbage collection, while the context is entered."""
    import gc

    places = _patches()
    before = [(place, name, getattr(place, name)) for place, name, _ in places]
    collecting = gc.isenabled()
    gc.disable()
    for place, name, value in places:
        setattr(place, name, value)
    try:
        yield
    finally:
        for place, name, value in before:
            setattr(place, name, value)
        if collecting:
            if gc.get_freeze_count() == 0:
                # All new objects are marked as old: a collection would take as long as many a kernel.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _patches() -> list[tuple[Any, str, Any]]:
    """Return the tested replacements in numba and llvmlite: objects, names, functions."""
    from llvmlite.binding import ffi
    from numba.core import base, byteflow, funcdesc, interpreter, lowering, ssa, typeinfer, untyped_passes
    from numba.core.compiler_machinery import PassManager
    from numba.core.inline_closurecall import InlineWorker
    from numba.core.ir import Inst
    from numba.core.postproc import PostProcessor
    from numba.core.targetconfig import TargetConfig
    from numba.core.types.abstract import Type
    from numba.core.types.functions import BaseFunction
    from numba.core.typing.context import BaseContext

    from lcp.compiler import scalar_replacement
    from lcp.compiler.pipeline import reading_once, without_copies

    quiet = SimpleNamespace(debug=lambda *_: None)
    # Functions, because another release may lack some of the names.
    patches: dict[str, Callable[[], list[tuple[Any, str, Any]]]] = {
        "lookups": lambda: [
            (TargetConfig, "values", _values),
            (BaseFunction, "get_call_type", _memoized_call_type(BaseFunction.get_call_type)),
            (Inst, "_rec_list_vars", _variables),
            (PostProcessor, "run", _minimal_postprocessing(PostProcessor.run)),
            *((module, "new_error_context", _Context) for module in (lowering, typeinfer)),
        ],
        "copies": lambda: [(InlineWorker, "inline_function", without_copies(InlineWorker.inline_function))],
        "aggregates": scalar_replacement.patches,
        "passes": lambda: [
            (PassManager, "_runPass", _run_pass_silently(PassManager._runPass)),
            (PostProcessor, "_insert_var_dels", _only_if_refcounted(PostProcessor._insert_var_dels)),
            (Type, "__hash__", _remembering_hash(Type.__hash__)),
            (byteflow, "_logger", quiet),
            (ssa, "_logger", quiet),
        ],
        "spared": lambda: [
            (ssa, "_run_ssa", _noting_blocks(ssa._run_ssa)),
            (BaseContext, "resolve_value_type", _memoized_value_types(BaseContext)),
            (BaseContext, "find_matching_getattr_template", _remembering_attributes(BaseContext)),
            (base, "_has_loc", _remembering_code(base._has_loc)),
            (ffi._lib_fn_wrapper, "__call__", _call_llvm),
            (funcdesc, "default_mangler", _short_mangling(funcdesc.default_mangler)),
            (
                interpreter,
                "peep_hole_delete_with_exit",
                _only_if(interpreter.peep_hole_delete_with_exit, _enters_context),
            ),
            (
                interpreter,
                "peep_hole_fuse_dict_add_updates",
                _only_if(interpreter.peep_hole_fuse_dict_add_updates, _has_dictionary),
            ),
            (untyped_passes, "fixup_var_define_in_scope", _define_in_scopes),
            (InlineWorker, "run_untyped_passes", reading_once(InlineWorker.run_untyped_passes)),
            (lowering, "compute_use_defs", _remembering_last(lowering.compute_use_defs)),
        ],
    }
    return [one for name, places in patches.items() if is_tested(name) for one in places()]


def _variables(instruction: Any, value: Any) -> list[Any]:
    """Return the variables in a part of an instruction, as `Inst._rec_list_vars`; most types contain none."""
    kind = _KINDS.get(type(value))
    if kind is None:
        kind = _KINDS[type(value)] = _kind_of(value)
    if kind == _NOTHING:
        return []
    if kind == _VARIABLE:
        return [value]
    if kind == _INSTRUCTION:
        found: list[Any] = value.list_vars()
        return found
    found = []
    for part in value.values() if kind == _DICTIONARY else value:
        # Most parts are a variable or none, and need no call.
        kind = _KINDS.get(type(part))
        if kind == _VARIABLE:
            found.append(part)
        elif kind != _NOTHING:
            found += _variables(instruction, part)
    return found


_NOTHING, _VARIABLE, _INSTRUCTION, _DICTIONARY, _SEQUENCE = range(5)
_KINDS: dict[type, int] = {}


def _kind_of(value: Any) -> int:
    from numba.core.ir import Inst, Var

    kinds = ((Var, _VARIABLE), (Inst, _INSTRUCTION), ((list, tuple), _SEQUENCE), (dict, _DICTIONARY))
    return next((kind for types, kind in kinds if isinstance(value, types)), _NOTHING)


def _minimal_postprocessing(run: Callable[..., None]) -> Callable[..., None]:
    """Replace `PostProcessor.run`, called ten times per function, without work for generators and object mode."""
    from numba.core.postproc import VariableLifetime
    from numba.core.transforms import canonicalize_cfg

    def lazily(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        func_ir = processor.func_ir
        if func_ir.is_generator:
            run(processor, emit_dels, extend_lifetimes)
            return
        func_ir.blocks = canonicalize_cfg(func_ir.blocks)
        func_ir.variable_lifetime = VariableLifetime(func_ir.blocks)
        func_ir.generator_info = None
        if emit_dels:
            processor._insert_var_dels(extend_lifetimes=extend_lifetimes)

    return lazily


class _Context:
    """Numba's error context, which is entered for every instruction and costs nothing without an error."""

    __slots__ = ("_given",)

    def __init__(self, *given: Any, **named: Any) -> None:
        self._given = given, named

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:
            from numba.core.errors import new_error_context  # type: ignore[attr-defined]

            with new_error_context(*self._given[0], **self._given[1]):
                raise error


def _values(config: Any) -> dict[str, Any]:
    """Return all options of a configuration, as `TargetConfig.values`, which uses a property for each."""
    values: dict[str, Any] = {name: option.default for name, option in config.options.items()}
    values.update(config._values)
    return values


def _memoized_call_type(call_type: Callable[..., Any]) -> Callable[..., Any]:
    """Cache the search for the signature of a call."""
    from numba.core.targetconfig import ConfigStack

    results: dict[Any, Any] = {}
    seen: list[dict[str, Any]] = [{}]

    def number(options: dict[str, Any]) -> int:
        """Return an equal options object seen before; for a whole kernel they are equal."""
        if options != seen[-1]:
            if options in seen:
                return seen.index(options)
            seen.append(options.copy())
        return len(seen) - 1

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return call_type(function, context, args, kws)
        flags = ConfigStack.top_or_none()
        # By identity: the function stores its results for these types, and another equal one does not.
        key = id(function), args, 0 if flags is None else number(flags._values)
        known = results.get(key)
        if known is None:
            signature = call_type(function, context, args, kws)
            results[key] = function, signature
            return signature
        return known[1]

    return get_call_type


def _remembering_code(asked: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Cache a query about a function by its code."""
    known: dict[Any, bool] = {}

    def answer(function: Any) -> bool:
        code = getattr(function, "__code__", None)
        if code is None or hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
            return asked(function)
        if code not in known:
            known[code] = asked(function)
        return known[code]

    return answer


def _call_llvm(function: Any, *arguments: Any, **named: Any) -> Any:
    """Call LLVM, under its lock."""
    with function._lock._lock:
        return function._cfn(*arguments, **named)


def _short_mangling(mangle: Callable[..., str]) -> Callable[..., str]:
    """Return a replacement of `funcdesc.default_mangler` whose names have a digest of argument types and options."""
    # The type is stored: another type has another id.
    known: dict[int, tuple[bytes, Any]] = {}

    def named(part: Any) -> bytes:
        found = known.get(id(part))
        if found is None:
            found = known[id(part)] = hashlib.sha256(f"{type(part).__name__} {part}".encode()).digest(), part
        return found[0]

    def brief(name: str, arguments: Any, *, abi_tags: Any = (), uid: int | None = None) -> str:
        digest = hashlib.sha256(b"".join(map(named, arguments)) + repr(abi_tags).encode()).hexdigest()[:24]
        return mangle(name, (f"k{digest}",), uid=uid)

    return brief


def _remembering_last(asked: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Cache the last result of a query about blocks that is made twice in a row."""
    last: list[Any] = [None, None]

    def answer(blocks: Any) -> Any:
        if last[0] is not blocks:
            last[:] = blocks, asked(blocks)
        return last[1]

    return answer


def _only_if(rewrite: Callable[[Any], Any], needed: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Search all statements only in functions that contain the searched item."""
    return lambda function: rewrite(function) if needed(function) else function


def _enters_context(function: Any) -> bool:
    scopes = {id(block.scope): block.scope for block in function.blocks.values()}
    names = (name for scope in scopes.values() for name in scope.localvars._con)
    return any(name.startswith("$setup_with_exitfn") for name in names)


def _has_dictionary(function: Any) -> bool:
    return any(
        getattr(getattr(statement, "value", None), "op", None) == "build_map"
        for block in function.blocks.values()
        for statement in block.body
    )


def _define_in_scopes(blocks: Any) -> None:
    """Replace `ir_utils.fixup_var_define_in_scope`: once for blocks of one scope."""
    used = {var: None for block in blocks.values() for statement in block.body for var in statement.list_vars()}
    for scope in {id(block.scope): block.scope for block in blocks.values()}.values():
        for variable in used:
            if variable.name not in scope.localvars:
                scope.localvars.define(variable.name, variable)


def _run_pass_silently(run_pass: Callable[..., None]) -> Callable[..., None]:
    """Replace `PassManager._runPass`: without announcements and clocks, unless they are needed."""
    from numba.core import event

    def run(manager: Any, index: int, one: Any, state: Any) -> None:
        printed = manager._print_before or manager._print_after or manager._print_wrap
        if printed or manager._ENFORCING or event._registered["numba:run_pass"]:
            run_pass(manager, index, one, state)
            return
        one.analysis = manager._analysis
        one.run_initialization(state)
        one.run_pass(state)
        one.run_finalizer(state)

    return run


def _only_if_refcounted(insert: Callable[..., None]) -> Callable[..., None]:
    """Replace `PostProcessor._insert_var_dels`: only for a function that counts references; others free nothing."""
    from numba.core.targetconfig import ConfigStack

    def insert_deletions(processor: Any, extend_lifetimes: bool = False) -> None:
        flags = ConfigStack.top_or_none()
        if flags is None or flags.nrt:
            insert(processor, extend_lifetimes)

    return insert_deletions


def _noting_blocks(run_ssa: Callable[..., Any]) -> Callable[..., Any]:
    """Replace `ssa._run_ssa`: visit a block only for the variables in it."""
    from numba.core import ssa

    def run(blocks: Any) -> Any:
        named = {
            label: {variable.name for statement in block.body for variable in statement.list_vars()}
            for label, block in blocks.items()
        }
        rewrite = ssa._run_block_rewrite

        def rewrite_some(blocks: Any, states: Any, handler: Any) -> Any:
            name = states["varname"]
            some = {label: block for label, block in blocks.items() if name in named[label]}
            rewritten = rewrite(some, states, handler)
            return {label: rewritten.get(label, block) for label, block in blocks.items()}

        ssa._run_block_rewrite = rewrite_some
        try:
            return run_ssa(blocks)
        finally:
            ssa._run_block_rewrite = rewrite

    return run


def _memoized_value_types(context_class: Any) -> Callable[[Any, Any], Any]:
    """Replace `resolve_value_type`: for functions, classes and modules, which kernels name repeatedly."""
    from types import BuiltinFunctionType, FunctionType, ModuleType

    from numba.core.dispatcher import Dispatcher

    resolve = context_class.resolve_value_type
    kinds = (BuiltinFunctionType, FunctionType, ModuleType, type, Dispatcher)
    known: dict[int, tuple[Any, Any]] = {}

    def resolved(context: Any, value: Any) -> Any:
        if not isinstance(value, kinds):
            return resolve(context, value)
        if id(value) not in known:
            known[id(value)] = resolve(context, value), value
        return known[id(value)][0]

    return resolved


def _remembering_attributes(context_class: Any) -> Callable[[Any, Any, str], Any]:
    """Replace `find_matching_getattr_template`: for arrays, tuples and modules."""
    from numba.core import types

    find = context_class.find_matching_getattr_template
    kinds = (types.Array, types.BaseNamedTuple, types.Module)  # type: ignore[attr-defined]
    known: dict[tuple[int, str], tuple[Any, Any]] = {}

    def found(context: Any, kind: Any, attribute: str) -> Any:
        if not isinstance(kind, kinds):
            return find(context, kind, attribute)
        key = id(kind), attribute
        if key not in known:
            known[key] = find(context, kind, attribute), kind
        return known[key][0]

    return found


def _remembering_hash(hashed: Callable[[Any], int]) -> Callable[[Any], int]:
    """Cache the hash of a type, which numba computes from its whole content at every lookup."""
    # The type is stored: another type has another id.
    known: dict[int, tuple[int, Any]] = {}

    def remembered(kind: Any) -> int:
        found = known.get(id(kind))
        if found is None:
            found = known[id(kind)] = hashed(kind), kind
        return found[0]

    return remembered
