"""Less looking up within a compilation.

The types of ``a + b`` for two floats are looked up once, not searched among the candidates at every plus sign; and the
collector of cyclic garbage rests meanwhile: a compilation makes millions of objects that all stay.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from lcp.compiler.releases import tried

__all__ = ["swiftly"]

_depth = 0


@contextlib.contextmanager
def swiftly() -> Iterator[None]:
    """Let numba look types up faster, and the garbage collector rest, in the block; such blocks may be nested.

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
    import gc

    from numba.core.inline_closurecall import InlineWorker
    from numba.core.targetconfig import TargetConfig
    from numba.core.types.functions import BaseFunction

    from lcp.compiler import aggregates

    places: list[tuple[Any, str, Any]] = []
    if tried("lookups"):
        places.append((TargetConfig, "values", _values))
        places.append((BaseFunction, "get_call_type", _remembering(BaseFunction.get_call_type)))
    if tried("copies"):
        places.append((InlineWorker, "inline_function", _uncopied(InlineWorker.inline_function)))
    if tried("aggregates"):
        places += aggregates.patches()
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
            gc.enable()


def _uncopied(inline_function: Callable[..., Any]) -> Callable[..., Any]:
    """The inlining of a function, read from its source for every call: numba copies it twice more, for nobody.

    What numba inlines of its own (overloads) is kept, and has to be copied.
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


def _values(config: Any) -> dict[str, Any]:
    """All options of a configuration, as `TargetConfig.values`: that one asks a property for each."""
    values: dict[str, Any] = {name: option.default for name, option in config.options.items()}
    values.update(config._values)
    return values


def _remembering(call_type: Callable[..., Any]) -> Callable[..., Any]:
    """The search for the signature of a call, which remembers its results."""
    from numba.core.targetconfig import ConfigStack

    results: dict[Any, Any] = {}

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return call_type(function, context, args, kws)
        flags = ConfigStack.top_or_none()
        # By identity: the function keeps what it learns of these types, and another equal one does not.
        key = (id(function), args, None if flags is None else tuple(sorted(map(str, flags._values.items()))))
        known = results.get(key)
        if known is None:
            signature = call_type(function, context, args, kws)
            results[key] = function, signature
            return signature
        return known[1]

    return get_call_type
