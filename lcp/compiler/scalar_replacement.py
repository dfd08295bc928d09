"""Scalar replacement of tuples and arrays, without instructions that build or read aggregates.

numba passes a tuple number by number, five hundred for the memory of a step. A called function builds the tuple again,
and splits it when it calls others. For each read entry of an array it makes a copy on the stack. LLVM removes all of
this, but it was four fifths of LLVM's input. Here a number that was inserted into an aggregate is returned directly
when it is extracted. An aggregate is built only if it is used as a whole.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["patches"]


def patches() -> list[tuple[Any, str, Any]]:
    """Return replacements in numba and llvmlite for a compilation: objects, names, functions."""
    from llvmlite.ir import IRBuilder
    from numba.core.codegen import CPUCodeLibrary
    from numba.np import arrayobj

    return [
        (IRBuilder, "insert_value", insert_value),
        (IRBuilder, "extract_value", _remembering(IRBuilder.extract_value)),
        (CPUCodeLibrary, "add_ir_module", _placing(CPUCodeLibrary.add_ir_module)),
        (arrayobj, "make_array", functools.partial(make_array, arrayobj.make_array)),
    ]


def insert_value(builder: Any, aggregate: Any, value: Any, index: Any, name: str = "") -> Any:
    """Replace `IRBuilder.insert_value`, whose instruction is placed by `place_deferred` if it is used."""
    from llvmlite.ir import instructions

    path = index if isinstance(index, tuple | list) else [index]
    made = instructions.InsertValue(builder.block, aggregate, value, path, name=name)
    before = getattr(aggregate, "made_of", None)
    if len(path) == 1:
        made.made_of = {path[0]: value} if before is None else {**before, path[0]: value}
    _defer(builder, made, needed=False)
    return made


def _remembering(extract_value: Callable[..., Any]) -> Callable[..., Any]:
    """Replace `IRBuilder.extract_value`: return the inserted value itself, if it is known."""

    def extract(builder: Any, aggregate: Any, index: Any, name: str = "") -> Any:
        value = aggregate
        for i in index if isinstance(index, tuple | list) else (index,):
            made = getattr(value, "made_of", None)
            if made is None or i not in made:
                return extract_value(builder, aggregate, index, name)
            value = made[i]
        return value

    return extract


def _placing(add_ir_module: Callable[..., None]) -> Callable[..., None]:
    """Replace `CPUCodeLibrary.add_ir_module`: place deferred instructions first."""

    def add(library: Any, ir_module: Any) -> None:
        place_deferred(ir_module)
        add_ir_module(library, ir_module)

    return add


def _defer(builder: Any, instruction: Any, *, needed: bool, at: tuple[Any, Any] | None = None) -> None:
    """Defer an instruction to the present position of the builder."""
    block, after = at or _place(builder)
    if not hasattr(block, "deferred"):
        block.deferred = []
    block.deferred.append((after, instruction, needed))
    instruction.is_deferred = not needed


def _place(builder: Any) -> tuple[Any, Any]:
    """Return the position of a builder: a block, and the instruction before, None at its start."""
    anchor = builder._anchor
    return builder.block, builder.block.instructions[anchor - 1] if anchor else None


def place_deferred(ir_module: Any) -> None:
    """Place the deferred instructions of a module that are needed."""
    for function in ir_module.functions:
        blocks = [block for block in function.blocks if hasattr(block, "deferred")]
        if blocks:
            taken = _taken(function)
            for block in blocks:
                _place_in(block, taken)


def _taken(function: Any) -> set[int]:
    """Return the deferred instructions, by identity, that others use."""
    from llvmlite.ir.instructions import PhiInstr

    taken: set[int] = set()
    waiting = [instruction for block in function.blocks for instruction in block.instructions]
    for block in function.blocks:
        waiting += [instruction for _, instruction, needed in getattr(block, "deferred", ()) if needed]
    while waiting:
        instruction = waiting.pop()
        operands = instruction.operands
        if isinstance(instruction, PhiInstr):
            operands = [value for value, _ in instruction.incomings]
        for operand in operands:
            if getattr(operand, "is_deferred", False) and id(operand) not in taken:
                taken.add(id(operand))
                waiting.append(operand)
    return taken


def _place_in(block: Any, taken: set[int]) -> None:
    """Insert the block's deferred instructions that are needed, or whose id is in ``taken``; drop the others.

    Each is placed behind the instruction it belongs to, or behind the phi instructions if it belongs to none.
    """
    from llvmlite.ir.instructions import PhiInstr

    behind: dict[int | None, list[Any]] = {}
    for after, instruction, needed in block.deferred:
        if needed or id(instruction) in taken:
            behind.setdefault(None if after is None else id(after), []).append(instruction)
            instruction.is_deferred = False
    del block.deferred
    first = behind.pop(None, [])
    placed: list[Any] = []
    for instruction in block.instructions:
        if first and not isinstance(instruction, PhiInstr):
            placed += first
            first = []
        placed.append(instruction)
        placed += behind.pop(id(instruction), [])
    block.instructions[:] = placed + first


@functools.cache
def make_array(original: Any, array_type: Any) -> Any:
    """Replace `arrayobj.make_array`: an array that is only read is not copied to the stack."""
    from llvmlite.ir import instructions
    from numba.core import cgutils, types

    base = original(array_type)
    if type(array_type) is not types.Array:
        return base

    class ReadArray(base):  # type: ignore[misc, valid-type]
        def __init__(self, context: Any, builder: Any, value: Any = None, ref: Any = None) -> None:
            self._given = value if ref is None else None
            if self._given is None:
                super().__init__(context, builder, value, ref)
                return
            self._context, self._builder, self._at = context, builder, _place(builder)
            self._datamodel = context.data_model_manager[self._fe_type]
            self._be_type = self._get_be_type(self._datamodel)
            if value.type != self._be_type:
                raise AssertionError(f"bad value type: expected {self._be_type}, got {value.type}")

        def _on_stack(self) -> None:
            """Place it on the stack, after its definition."""
            given, self._given = self._given, None
            if given is not None:
                self._value = self._outer_ref = cgutils.alloca_once(self._builder, self._be_type)
                store = instructions.StoreInstr(self._at[0], given, self._value)
                store.align = None
                _defer(self._builder, store, needed=True, at=self._at)

        def __getitem__(self, index: int) -> Any:
            if self._given is None:
                return super().__getitem__(index)
            return self._builder.extract_value(self._given, index)

        @property
        def shape(self) -> Any:
            if self._given is None:
                return base.shape.fget(self)
            return self[self._datamodel.get_field_position("shape")]

        def _get_ptr_by_index(self, index: int) -> Any:
            self._on_stack()
            return super()._get_ptr_by_index(index)

        def _getpointer(self) -> Any:
            self._on_stack()
            return super()._getpointer()

        def _getvalue(self) -> Any:
            return super()._getvalue() if self._given is None else self._given

        def _setvalue(self, value: Any) -> None:
            self._on_stack()
            super()._setvalue(value)

    return ReadArray
