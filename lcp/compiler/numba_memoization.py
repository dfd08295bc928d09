"""Patches that cache or skip repeated work of numba and llvmlite in a compilation.

To split variables that are assigned more than once, numba walks through all blocks for each of them, also blocks
without it. It queries the arguments of its own functions, and the type of functions and attributes, at every call. Each
call of LLVM is announced to all listeners of compilation times, and each instruction gets the first free name. The name
of a kernel contains the types of all its arguments, thousands of letters for a tuple of arrays, and is repeated at
every call.

numba reads a function that is inlined before typing again for every call, from its bytecode, with all that it inlines:
a fifth of its work on the step. Here it is read from its source once, and copied for each call, with new variables.
Forty passes are run over each kernel. Around each pass numba formats its name and arguments for listeners, and looks
through all statements for deletions of variables, which it adds at the end. In kernels without reference counts these
deletions have no effect.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from lcp.compiler.releases import is_tested

__all__ = ["inlining_patches", "pass_patches", "numba_patches"]


def numba_patches() -> list[tuple[Any, str, Any]]:
    """Return replacements in numba and llvmlite for a compilation: objects, names, functions."""
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
        (typing_context.BaseContext, "resolve_value_type", _memoized_value_types(typing_context.BaseContext)),
        (
            typing_context.BaseContext,
            "find_matching_getattr_template",
            _remembering_attributes(typing_context.BaseContext),
        ),
        # The text of a source with its types, which numba prints on request.
        (TypeAnnotation, "__str__", lambda annotation: ""),
        (_lib_fn_wrapper, "__call__", _call_llvm),
        (funcdesc, "default_mangler", _short_mangling(funcdesc.default_mangler)),
        (Instruction, "_set_name", _set_name),
        (Argument, "__str__", _argument),
        (base.BaseContext, "refresh", _refresh_if_changed(base.BaseContext.refresh)),
        (base.BaseContext, "get_arg_packer", _remembering_packers(base.BaseContext.get_arg_packer)),
        # Names for readers of LLVM's language.
        (ArgPacker, "assign_names", lambda packer, arguments, names: None),
        (interpreter, "peep_hole_delete_with_exit", _only_if(interpreter.peep_hole_delete_with_exit, _enters_context)),
        (
            interpreter,
            "peep_hole_fuse_dict_add_updates",
            _only_if(interpreter.peep_hole_fuse_dict_add_updates, _has_dictionary),
        ),
        (untyped_passes, "fixup_var_define_in_scope", _define_in_scopes),
        (lowering, "compute_use_defs", _remembering_last(lowering.compute_use_defs)),
    ]


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


def _set_name(instruction: Any, _: str) -> None:
    """Name an instruction by its number."""
    scope = instruction.parent.scope
    scope.instructions = number = getattr(scope, "instructions", 0) + 1
    instruction._name = name = f"${number}"
    # As in the text.
    instruction._StringReferenceCaching__cached_refstr = f"%{name}"


def _argument(argument: Any) -> str:
    """Return the text of an argument in the head of an LLVM function, without work for one that has no attributes."""
    given = argument.attributes
    if given or given.align or given.dereferenceable or given.dereferenceable_or_null:
        return f"{argument.type} {' '.join(given._to_list(argument.type))} {argument.get_reference()}"
    return f"{argument.type} {argument.get_reference()}"


def _refresh_if_changed(refresh: Callable[[Any], None]) -> Callable[[Any], None]:
    """Replace `BaseContext.refresh`, called for every missing name: refresh only if a registry has grown since."""
    known: dict[int, tuple[list[int], Any]] = {}

    def sizes(context: Any) -> list[int]:
        loaders = [*context._registries.items(), *context.typing_context._registries.items()]
        return [len(getattr(registry, name)) for registry, loader in loaders for name in loader.registry_items]

    def refresh_grown(context: Any) -> None:
        before = sizes(context)
        if id(context) not in known or known[id(context)][0] != before:
            refresh(context)
            # Additions in the meantime are read the next time; a new registry changes the list, too.
            known[id(context)] = before, context

    return refresh_grown


def _remembering_packers(packer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Replace `get_arg_packer`: the packing of arguments of given types, number by number."""
    known: dict[tuple[Any, ...], Any] = {}

    def answer(context: Any, kinds: Any) -> Any:
        key = context, *kinds
        if key not in known:
            known[key] = packer(context, kinds)
        return known[key]

    return answer


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


def inlining_patches() -> list[tuple[Any, str, Any]]:
    """Return replacements in numba for a compilation: objects, names, functions."""
    from numba.core.inline_closurecall import InlineWorker

    return [(InlineWorker, "run_untyped_passes", _remembering_read(InlineWorker.run_untyped_passes))]


def _remembering_read(read: Callable[..., Any]) -> Callable[..., Any]:
    """Replace `InlineWorker.run_untyped_passes`: store the result for later calls."""
    known: dict[tuple[Any, bool], Any] = {}

    def read_once(worker: Any, function: Any, enable_ssa: bool = False) -> Any:
        key = function, enable_ssa
        if key not in known:
            known[key] = read(worker, function, enable_ssa=enable_ssa)
        # As reading does, for later requests.
        worker.flags.enable_ssa = enable_ssa
        return _Copy().function(known[key])

    return read_once


class _Copy:
    """Copy of a function in numba's language, with the replacements of its parts."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def function(self, read: Any) -> Any:
        """Copy the whole function; it gets a new identity, which names inlined variables."""
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
        """Return a copy of a part of an instruction; the same copy for the same part."""
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
        # Their content is not numba's language.
        ((ir.Const, ir.Global, ir.FreeVar, ir.Arg), _LEAF),
        (ir.AbstractRHS, _INSTRUCTION),
    )
    return next((how for types, how in kinds if issubclass(kind, types)), _KEPT)


def pass_patches() -> list[tuple[Any, str, Any]]:
    """Return replacements in numba for a compilation: objects, names, functions."""
    if not is_tested("passes"):
        return []
    from numba.core import byteflow, ssa
    from numba.core.compiler_machinery import PassManager
    from numba.core.postproc import PostProcessor
    from numba.core.types.abstract import Type

    quiet = SimpleNamespace(debug=lambda *_: None)
    return [
        (PassManager, "_runPass", _run_pass_silently(PassManager._runPass)),
        (PostProcessor, "_insert_var_dels", _only_if_refcounted(PostProcessor._insert_var_dels)),
        (Type, "__hash__", _remembering_hash(Type.__hash__)),
        (byteflow, "_logger", quiet),
        (ssa, "_logger", quiet),
    ]


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
