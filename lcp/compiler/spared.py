"""What numba and llvmlite do over and over in a compilation, done once or not at all.

To make variables assigned more than once into single ones numba walks through all blocks for each of them, also those
that know nothing of it. What arguments a function of its own takes, and what a function or an attribute is, it asks at
every call. Each call of LLVM is announced to all who time compilations, and each instruction is given the first name
that is free. The name of a kernel spells out all that is in its arguments, thousands of letters for a tuple of arrays,
which stand again wherever it is called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

__all__ = ["patches"]


def patches() -> list[tuple[Any, str, Any]]:
    """What is to stand in numba and llvmlite while a kernel is compiled: places, names, functions."""
    from llvmlite.binding.ffi import _lib_fn_wrapper
    from llvmlite.ir.instructions import Instruction
    from llvmlite.ir.values import Argument
    from numba.core import base, funcdesc, interpreter, lowering, ssa, untyped_passes
    from numba.core.annotations.type_annotations import TypeAnnotation
    from numba.core.datamodel.packer import ArgPacker
    from numba.core.typing import context as typing_context

    return [
        (ssa, "_run_ssa", _noting_blocks(ssa._run_ssa)),
        (base, "_has_loc", _remembering_code(base._has_loc)),
        (typing_context.BaseContext, "resolve_value_type", _remembering_values(typing_context.BaseContext)),
        (
            typing_context.BaseContext,
            "find_matching_getattr_template",
            _remembering_attributes(typing_context.BaseContext),
        ),
        # The text of a source with its types, for who asks numba to print it.
        (TypeAnnotation, "__str__", lambda annotation: ""),
        (_lib_fn_wrapper, "__call__", _called),
        (funcdesc, "default_mangler", _briefly(funcdesc.default_mangler)),
        (Instruction, "_set_name", _set_name),
        (Argument, "__str__", _argument),
        (base.BaseContext, "refresh", _refreshing_grown(base.BaseContext.refresh)),
        (base.BaseContext, "get_arg_packer", _remembering_packers(base.BaseContext.get_arg_packer)),
        # Names for who reads LLVM's language.
        (ArgPacker, "assign_names", lambda packer, arguments, names: None),
        (interpreter, "peep_hole_delete_with_exit", _where(interpreter.peep_hole_delete_with_exit, _enters_context)),
        (
            interpreter,
            "peep_hole_fuse_dict_add_updates",
            _where(interpreter.peep_hole_fuse_dict_add_updates, _has_dictionary),
        ),
        (untyped_passes, "fixup_var_define_in_scope", _define_in_scopes),
        (lowering, "compute_use_defs", _remembering_last(lowering.compute_use_defs)),
    ]


def _noting_blocks(run_ssa: Callable[..., Any]) -> Callable[..., Any]:
    """`ssa._run_ssa`, in which a block is walked through for the variables that stand in it."""
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


def _remembering_code(asked: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A question about a function that its code answers."""
    known: dict[Any, bool] = {}

    def answer(function: Any) -> bool:
        code = getattr(function, "__code__", None)
        if code is None or hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
            return asked(function)
        if code not in known:
            known[code] = asked(function)
        return known[code]

    return answer


def _remembering_values(context_class: Any) -> Callable[[Any, Any], Any]:
    """`resolve_value_type`: of functions, classes and modules, which kernels name over and over."""
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
    """`find_matching_getattr_template`: of arrays, tuples and modules."""
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


def _called(function: Any, *arguments: Any, **named: Any) -> Any:
    """Call LLVM, under its lock."""
    with function._lock._lock:
        return function._cfn(*arguments, **named)


def _briefly(mangle: Callable[..., str]) -> Callable[..., str]:
    """`funcdesc.default_mangler`: of arguments and options their digest."""
    # A type is held here: another one has another id.
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


def _set_name(instruction: Any, _: str) -> None:
    """Name an instruction by its number."""
    scope = instruction.parent.scope
    scope.instructions = number = getattr(scope, "instructions", 0) + 1
    instruction._name = name = f"${number}"
    # As it stands in the text.
    instruction._StringReferenceCaching__cached_refstr = f"%{name}"


def _argument(argument: Any) -> str:
    """An argument in a function's head: most have no attributes."""
    given = argument.attributes
    if given or given.align or given.dereferenceable or given.dereferenceable_or_null:
        return f"{argument.type} {' '.join(given._to_list(argument.type))} {argument.get_reference()}"
    return f"{argument.type} {argument.get_reference()}"


def _refreshing_grown(refresh: Callable[[Any], None]) -> Callable[[Any], None]:
    """`BaseContext.refresh`, asked for at every look for what may not be there: where a registry has grown since."""
    known: dict[int, tuple[list[int], Any]] = {}

    def sizes(context: Any) -> list[int]:
        loaders = [*context._registries.items(), *context.typing_context._registries.items()]
        return [len(getattr(registry, name)) for registry, loader in loaders for name in loader.registry_items]

    def refresh_grown(context: Any) -> None:
        before = sizes(context)
        if id(context) not in known or known[id(context)][0] != before:
            refresh(context)
            # What came meanwhile is read the next time; a registry that is new changes the list, too.
            known[id(context)] = before, context

    return refresh_grown


def _remembering_packers(packer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`get_arg_packer`: how arguments of some types are passed number by number."""
    known: dict[tuple[Any, ...], Any] = {}

    def answer(context: Any, kinds: Any) -> Any:
        key = context, *kinds
        if key not in known:
            known[key] = packer(context, kinds)
        return known[key]

    return answer


def _remembering_last(asked: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A question about blocks that is asked twice in a row."""
    last: list[Any] = [None, None]

    def answer(blocks: Any) -> Any:
        if last[0] is not blocks:
            last[:] = blocks, asked(blocks)
        return last[1]

    return answer


def _where(rewrite: Callable[[Any], Any], needed: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """A look through all statements, of a function that has what it looks for."""
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
    """`ir_utils.fixup_var_define_in_scope`, once for blocks of one scope."""
    used = {var: None for block in blocks.values() for statement in block.body for var in statement.list_vars()}
    for scope in {id(block.scope): block.scope for block in blocks.values()}.values():
        for variable in used:
            if variable.name not in scope.localvars:
                scope.localvars.define(variable.name, variable)
