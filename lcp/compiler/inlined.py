"""What is inlined before types are known is read from its source once, and copied for each call.

numba reads a function anew for every call that takes it in, from its bytecode on, with all that it takes in itself: a
fifth of its own work on the step. A copy has the same statements, with variables of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["patches"]


def patches() -> list[tuple[Any, str, Any]]:
    """What is to stand in numba while a kernel is compiled: places, names, functions."""
    from numba.core.inline_closurecall import InlineWorker

    return [(InlineWorker, "run_untyped_passes", _remembering(InlineWorker.run_untyped_passes))]


def _remembering(read: Callable[..., Any]) -> Callable[..., Any]:
    """`InlineWorker.run_untyped_passes`, which keeps what it has read for the calls to come."""
    known: dict[tuple[Any, bool], Any] = {}

    def read_once(worker: Any, function: Any, enable_ssa: bool = False) -> Any:
        key = function, enable_ssa
        if key not in known:
            known[key] = read(worker, function, enable_ssa=enable_ssa)
        # As reading does, for who asks later.
        worker.flags.enable_ssa = enable_ssa
        return _Copy().function(known[key])

    return read_once


class _Copy:
    """A copy of a function in numba's language, and what stands in it for what stood in the original."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def function(self, read: Any) -> Any:
        """Copy all of it; its identity, by which inlined variables are named, is a new one."""
        copy = read.derive({label: self._block(block) for label, block in read.blocks.items()}, loc=read.loc)
        copy._definitions = read._definitions.copy()
        for name, found in read._definitions.items():
            copy._definitions[name] = [self._of(one) for one in found]
        return copy

    def _block(self, block: Any) -> Any:
        copy = type(block)(self._of(block.scope), block.loc)
        copy.body = [self._of(statement) for statement in block.body]
        return copy

    def _of(self, value: Any) -> Any:
        """A copy of a part of an instruction; the same one for the same."""
        kind = type(value)
        how = _HOW.get(kind)
        if how is None:
            how = _HOW[kind] = _how(kind)
        if how == _KEPT:
            return value
        if how == _SEQUENCE:
            return kind([self._of(one) for one in value])
        if how == _DICTIONARY:
            return {name: self._of(one) for name, one in value.items()}
        made = self._made.get(id(value))
        if made is None:
            made = self._made[id(value)] = object.__new__(kind)
            if how == _LEAF:
                made.__dict__.update(value.__dict__)
            elif how == _INSTRUCTION:
                made.__dict__.update({name: self._of(one) for name, one in value.__dict__.items()})
            else:
                made.parent, made.loc = self._of(value.parent), value.loc
                made.localvars = type(value.localvars)()
                made.localvars._con = {name: self._of(one) for name, one in value.localvars._con.items()}
                made.redefined = value.redefined.copy()
                made.var_redefinitions = value.var_redefinitions.copy()
                for name, names in value.var_redefinitions.items():
                    made.var_redefinitions[name] = names.copy()
        return made


_KEPT, _SEQUENCE, _DICTIONARY, _LEAF, _INSTRUCTION, _SCOPE = range(6)
_HOW: dict[type, int] = {}


def _how(kind: type) -> int:
    from numba.core import ir

    kinds = (
        ((list, tuple), _SEQUENCE),
        (dict, _DICTIONARY),
        (ir.Scope, _SCOPE),
        # What is in them is not numba's language.
        ((ir.Const, ir.Global, ir.FreeVar, ir.Arg), _LEAF),
        (ir.AbstractRHS, _INSTRUCTION),
    )
    return next((how for types, how in kinds if issubclass(kind, types)), _KEPT)
