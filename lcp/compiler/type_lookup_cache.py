"""Faster lookups of types within a compilation.

The types of ``a + b`` for two floats are looked up once, instead of a search among the candidates at every plus sign.
The collector of cyclic garbage is disabled, because a compilation makes millions of objects that all remain.
"""

from __future__ import annotations

import contextlib
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

    from numba.core import lowering, typeinfer
    from numba.core.inline_closurecall import InlineWorker
    from numba.core.ir import Inst
    from numba.core.postproc import PostProcessor
    from numba.core.targetconfig import TargetConfig
    from numba.core.types.functions import BaseFunction

    from lcp.compiler import numba_memoization, scalar_replacement

    places: list[tuple[Any, str, Any]] = []
    if is_tested("lookups"):
        places.append((TargetConfig, "values", _values))
        places.append((BaseFunction, "get_call_type", _memoized_call_type(BaseFunction.get_call_type)))
        places.append((Inst, "_rec_list_vars", _variables))
        places.append((PostProcessor, "run", _minimal_postprocessing(PostProcessor.run)))
        places += [(module, "new_error_context", _Context) for module in (lowering, typeinfer)]
    if is_tested("copies"):
        places.append((InlineWorker, "inline_function", _uncopied(InlineWorker.inline_function)))
    if is_tested("aggregates"):
        places += scalar_replacement.patches()
    places += numba_memoization.pass_patches()
    if is_tested("spared"):
        places += numba_memoization.numba_patches() + numba_memoization.inlining_patches()
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


def _uncopied(inline_function: Callable[..., Any]) -> Callable[..., Any]:
    """Inline a function without the two copies of its source that numba makes for every call.

    Functions that numba inlines itself (overloads) are stored, and must be copied.
    """
    from numba.core import inline_closurecall

    def inline(*arguments: Any, **named: Any) -> Any:
        before = inline_closurecall.copy
        inline_closurecall.copy = SimpleNamespace(deepcopy=lambda block: block)
        try:
            return inline_function(*arguments, **named)
        finally:
            inline_closurecall.copy = before

    return inline


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
