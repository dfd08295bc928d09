"""How kernels are compiled in less time: numba's own pipeline, with less of it where nothing is lost.

Four things cost most of a compilation and change nothing in the code that comes out, which is why they are left out:

* Kernels that only other kernels call (``inner``) are neither optimised nor translated by themselves: the kernel
  that Python calls takes them in and does both for all of them at once.
* A variable assigned once stays a value. numba gives it a place in memory as soon as a second block of the function
  reads it; for a tuple of fifty arrays every such reading copies all of them, for the optimiser to find out which one
  was meant.
* The types of ``a + b`` for two floats are looked up once, not searched among the candidates at every plus sign.
* The collector of cyclic garbage rests meanwhile: a compilation makes millions of objects that all stay.

Nothing of this is public in numba. It is done for the releases it was tried with (`TRIED`); others that
`pyproject.toml` allows compile by numba's own way, to the same results in more time.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["compile_inner", "compiler_class", "rebuild_inner", "swiftly"]

#: Minor releases of numba whose insides are known to be as this module takes them.
TRIED = ("0.68",)


@functools.cache
def compiler_class() -> Any:
    """numba's compiler with the lowering below, or its own where this release was not tried."""
    if not _tried():
        from numba.core.compiler import Compiler

        return Compiler
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.core.typed_passes import NativeLowering, NopythonRewrites

    class KernelCompiler(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
            # A parallel loop would have another lowering; no kernel has one.
            passes = [(_lowering() if p is NativeLowering else p, why) for p, why in manager.passes]
            if not self.state.flags.nrt:
                # It fuses expressions of whole arrays, which allocate.
                passes = [(p, why) for p, why in passes if p is not NopythonRewrites]
            manager.passes = passes
            manager.finalize()
            return [manager]

    return KernelCompiler


def _tried() -> bool:
    import numba

    return numba.__version__.rpartition(".")[0] in TRIED


@functools.cache
def _lowering() -> Any:
    """The pass that turns a typed function into LLVM's language."""
    from numba.core import ir
    from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
    from numba.core.compiler import _LowerResult
    from numba.core.compiler_machinery import register_pass
    from numba.core.lowering import Lower
    from numba.core.typed_passes import NativeLowering

    class KernelLower(Lower):
        def _find_singly_assigned_variable(self) -> None:
            super()._find_singly_assigned_variable()
            kept = self._singly_assigned_vars
            definitions = compute_use_defs(self.blocks)
            dominators = compute_cfg_from_blocks(self.blocks).dominators()
            assigned: dict[str, list[int]] = {}
            for label, block in self.blocks.items():
                for statement in block.find_insts(ir.Assign):
                    assigned.setdefault(statement.target.name, []).append(label)
            once = {name: labels[0] for name, labels in assigned.items() if len(labels) == 1}
            for label, names in definitions.usemap.items():
                for name in names:
                    # Blocks are lowered in the order of their labels: the value must be there by then.
                    if name in once and not (once[name] in dominators[label] and once[name] < label):
                        del once[name]
            kept.update(once)

    @register_pass(mutates_CFG=True, analysis_only=False)
    class KernelLowering(NativeLowering):
        _name = "kernel_lowering"

        @property
        def lowering_class(self) -> Any:
            return KernelLower

        def run_pass(self, state: Any) -> bool:
            flags = state.flags
            if not flags.no_cpython_wrapper:
                return bool(super().run_pass(state))
            target = state.targetctx
            state.library = _inner_library()(target.codegen(), state.func_id.func_qualname)
            flags.no_compile = True
            super().run_pass(state)
            lowered = state["cr"]
            entry = _entry(lowered.fndesc, lowered.env, state.library)
            state.library.finalize()
            target.insert_user_function(entry, lowered.fndesc, [state.library])
            state.reload_init.extend(state.library._reload_init)
            state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=entry, env=lowered.env)
            return True

    return KernelLowering


@functools.cache
def _inner_library() -> Any:
    """A library that is linked into others and never run."""
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler_lock import require_global_compiler_lock

    class InnerLibrary(JITCodeLibrary):
        def finalize(self) -> None:
            require_global_compiler_lock()
            self._raise_if_finalized()
            for library in dict.fromkeys(self._linking_libraries):
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalize_dynamic_globals()
            self._finalized = True

        def serialize_using_object_code(self) -> tuple[str, str, bytes]:
            # What numba's cache asks for; there is no object code.
            return str(self.name), "inner", self._final_module.as_bitcode()

    return InnerLibrary


def _entry(descriptor: Any, environment: Any, library: Any) -> Any:
    """What numba knows an overload by: an object that Python could call, were there code behind it."""
    from numba import _dynfunc

    name = descriptor.qualname.split(".")[-1]
    return _dynfunc.make_function(descriptor.lookup_module(), name, "inner kernel", 0, environment, (library,))


def rebuild_inner(target: Any, payload: Any) -> Any:
    """Return an inner kernel's compilation from the cache, or None where the payload is of another kernel."""
    from llvmlite import binding
    from numba.core.compiler import CompileResult

    (name, kind, bitcode), descriptor, environment, signature, objectmode, lifted, annotation, reload_init, _ = payload
    if kind != "inner":
        return None
    for action in reload_init:
        action()
    library = _inner_library()(target.codegen(), name)
    library._final_module = binding.parse_bitcode(bitcode)
    library._finalized = True
    return CompileResult(
        typing_context=target.typing_context,
        target_context=target,
        entry_point=_entry(descriptor, environment, library),
        typing_error=None,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        fndesc=descriptor,
        library=library,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=[],
    )


def compile_inner(kernel: Any, *arguments: Any) -> None:
    """Compile, or find on disk, the version of a kernel that other kernels call with arguments like these."""
    from numba import typeof
    from numba.core.types import unliteral  # type: ignore[attr-defined]

    version = getattr(kernel, "inner", kernel)
    version.get_call_template(tuple(unliteral(typeof(argument)) for argument in arguments), {})


_depth = 0


@contextlib.contextmanager
def swiftly() -> Iterator[None]:
    """Let numba look types up faster, and the garbage collector rest, in the block; such blocks may be nested.

    numba compiles under one lock for all threads; so does this.
    """
    global _depth
    from numba.core.compiler_lock import global_compiler_lock

    if not _tried():
        yield
        return

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

    from numba.core.targetconfig import TargetConfig
    from numba.core.types.functions import BaseFunction

    places: list[tuple[Any, str, Any]] = [
        (TargetConfig, "values", _values),
        (BaseFunction, "get_call_type", _remembering(BaseFunction.get_call_type)),
    ]
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


def _values(config: Any) -> dict[str, Any]:
    """All options of a configuration, as `TargetConfig.values`: that one asks a property for each."""
    return {name: option.default for name, option in config.options.items()} | config._values


def _remembering(call_type: Callable[..., Any]) -> Callable[..., Any]:
    """The search for the signature of a call, with those found before."""
    from numba.core.targetconfig import ConfigStack

    found: dict[Any, Any] = {}

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return call_type(function, context, args, kws)
        flags = ConfigStack.top_or_none()
        # By identity: the function keeps what it found out about these types, and another equal one does not.
        key = (id(function), args, None if flags is None else tuple(sorted(map(str, flags._values.items()))))
        known = found.get(key)
        if known is None:
            signature = call_type(function, context, args, kws)
            found[key] = function, signature
            return signature
        return known[1]

    return get_call_type
