"""numba's compilation pipeline with unnecessary parts left out.

* Kernels that only other kernels call are not optimised or translated separately: this happens in the kernel that
  Python calls, for all of them together.
* Short loops (three axes, six velocities, the edges of a cone) are not unrolled or vectorised in kernels with many of
  them: this would make three times the code, which is not faster.
* A kernel gets only the numbers of its tuples that it or its callees read.
* A function that is inlined is read once, and copied for each call.
* A variable assigned once remains a value. numba stores it in memory if a second block of the function reads it. For a
  tuple of fifty arrays every such access copies all of them, and the optimiser must find the one in use.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from lcp.compiler.releases import is_tested, marked, set_target_attributes

__all__ = ["compiler_class", "reading_once", "rebuild_inner", "rebuild_library", "without_copies"]


@functools.cache
def compiler_class(short_loops: bool = False, long_loops: bool = False, vectors: bool = False) -> Any:
    """Return numba's compiler with the lowering below, and loops of kernels as `kernel` specifies."""
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.core.typed_passes import NativeLowering, NopythonRewrites

    class KernelCompiler(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
            # A parallel loop would need another lowering; no kernel has one.
            lowering = _lowering(short_loops, long_loops, vectors)
            passes = [(lowering if p is NativeLowering else p, why) for p, why in manager.passes]
            if not self.state.flags.nrt:
                # It fuses expressions of whole arrays, which allocate.
                passes = [(p, why) for p, why in passes if p is not NopythonRewrites]
            manager.passes = passes
            manager.finalize()
            return [manager]

    return KernelCompiler


@functools.cache
def _lowering(short_loops: bool, long_loops: bool, vectors: bool) -> Any:
    """Return the pass that turns a typed function into LLVM's language."""
    from numba.core import ir, lowering
    from numba.core.analysis import compute_cfg_from_blocks
    from numba.core.compiler import _LowerResult
    from numba.core.compiler_machinery import register_pass
    from numba.core.lowering import Lower
    from numba.core.typed_passes import NativeLowering

    class KernelLower(Lower):
        def _find_singly_assigned_variable(self) -> None:
            super()._find_singly_assigned_variable()
            if not is_tested("values"):
                return
            kept = self._singly_assigned_vars
            definitions = lowering.compute_use_defs(self.func_ir.blocks)
            dominators = compute_cfg_from_blocks(self.blocks).dominators()
            assigned: dict[str, list[int]] = {}
            for label, block in self.blocks.items():
                for statement in block.find_insts(ir.Assign):
                    assigned.setdefault(statement.target.name, []).append(label)
            once = {name: labels[0] for name, labels in assigned.items() if len(labels) == 1}
            for label, names in definitions.usemap.items():
                for name in names:
                    # Blocks are lowered in the order of their labels: the value must exist by then.
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
            target = state.targetctx
            if not (flags.no_cpython_wrapper and is_tested("inner")):
                state.library = _entry_library(short_loops)(target.codegen(), state.func_id.func_qualname)
                state.library.enable_object_caching()
                return bool(super().run_pass(state))
            state.library = _inner_library()(target.codegen(), state.func_id.func_qualname)
            state.library.long_loops, state.library.vectors = long_loops, vectors
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


def _passes(codegen: Any, loops: bool, vectors: bool = False) -> tuple[Any, Any]:
    """Return LLVM's passes for a whole module, and their builder.

    ``loops``: loops are unrolled and vectorised; ``vectors``: equal adjacent operations become vector instructions.
    """
    from llvmlite import binding

    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.loop_unrolling = loops
    options.slp_vectorization = vectors
    builder = binding.create_pass_builder(codegen._tm, options)
    return builder.getModulePassManager(), builder


def _drop_unused_arguments(module: Any, codegen: Any) -> None:
    """Remove unused arguments of each function that was linked in.

    A tuple is passed number by number, eight for each array in it, five hundred for the memory of a step. Passing
    unused numbers was a third of the code of a step, and a seventh of its time.
    """
    from llvmlite import binding

    for function in module.functions:
        # It has no other callers, so its signature can change.
        if not function.is_declaration and function.linkage == binding.Linkage.linkonce_odr:
            function.linkage = binding.Linkage.internal
    passes = binding.create_new_module_pass_manager()
    passes.add_dead_arg_elimination_pass()
    options = binding.create_pipeline_tuning_options()
    passes.run(module, binding.create_pass_builder(codegen._tm, options))


@functools.cache
def _marking_library() -> Any:
    """Return a library whose functions, and the linked ones, are marked with the tier of processors."""
    from numba.core.codegen import JITCodeLibrary

    class MarkingLibrary(JITCodeLibrary):
        def add_ir_module(self, ir_module: Any) -> None:
            set_target_attributes(ir_module)
            super().add_ir_module(ir_module)

        def add_linking_library(self, library: Any) -> None:
            library._ensure_finalized()
            if not isinstance(library, MarkingLibrary):
                # Shared by many kernels: mark it once.
                if not hasattr(library, "_marked"):
                    library._marked = _Marked(library)
                library = library._marked
            self._linking_libraries.append(library)

    return MarkingLibrary


class _Marked:
    """Return the modules of a library of numba's own that are linked into one of ours."""

    def __init__(self, library: Any) -> None:
        self._reload_init = library._reload_init
        self._module = marked(library._get_module_for_linking())

    def _get_module_for_linking(self) -> Any:
        return self._module


@functools.cache
def _entry_library(short_loops: bool) -> Any:
    """Return the library of a kernel that Python calls, with its callees; ``short_loops`` as in `kernel`."""

    class EntryLibrary(_marking_library()):  # type: ignore[misc]
        _linking_libraries: list[Any]

        def finalize(self) -> None:
            self._linking_libraries = _callers_first(self._linking_libraries)
            super().finalize()

        def _optimize_final_module(self) -> None:
            if is_tested("arguments"):
                _drop_unused_arguments(self._final_module, self._codegen)
            if not (short_loops and is_tested("loops")):
                super()._optimize_final_module()
                return
            passes, builder = _passes(self._codegen, loops=False)
            passes.run(self._final_module, builder)

    return EntryLibrary


@functools.cache
def _inner_library() -> Any:
    """Return a library that is linked into others and never run.

    It does not contain the kernels that it calls: ``callees`` has their libraries, which entries link. ``reference`` is
    its place on disk, None before it is stored.
    """
    from llvmlite.binding import Linkage
    from numba.core.compiler_lock import require_global_compiler_lock

    class InnerLibrary(_marking_library()):  # type: ignore[misc]
        callees: tuple[Any, ...] = ()
        reference: tuple[str, str] | None = None
        long_loops = vectors = False

        def _optimize_functions(self, ll_module: Any) -> None:
            # The kernel that links them optimises them; here they only get the machine's layout.
            ll_module.data_layout = self._codegen._data_layout
            passes, builder = self._codegen._function_pass_manager(opt=1)
            for function in ll_module.functions:
                passes.run(function, builder)
            if (self.long_loops or self.vectors) and is_tested("loops"):
                # The kernel that links them can leave loops unchanged.
                passes, builder = _passes(self._codegen, self.long_loops, self.vectors)
                passes.run(ll_module, builder)

        def finalize(self) -> None:
            require_global_compiler_lock()
            self._raise_if_finalized()
            wanted = _missing(self._final_module)
            for library in dict.fromkeys(self._linking_libraries):
                self._reload_init.update(library._reload_init)
                if wanted.isdisjoint(_defined(library)):
                    continue
                if isinstance(library, InnerLibrary):
                    self.callees += (library,)
                    self._dynamic_globals += library._dynamic_globals
                else:
                    self._final_module.link_in(library._get_module_for_linking(), preserve=True)
                    wanted = _missing(self._final_module)
            self._finalize_dynamic_globals()
            for function in self._final_module.functions:
                # numba does this on a copy, because others have it too and leave out functions that they do not call.
                if not function.is_declaration and function.linkage == Linkage.external:
                    function.linkage = Linkage.linkonce_odr
            self._finalized = True

        def serialize_using_object_code(self) -> tuple[str, str, bytes, tuple[Any, ...]]:
            # numba's cache requests it; there is no object code.
            references = tuple(callee.reference for callee in self.callees)
            return str(self.name), "inner", self._final_module.as_bitcode(), references

    return InnerLibrary


def _callers_first(libraries: list[Any]) -> list[Any]:
    """Return the libraries and all that they call, each before its callees, so that it is linked when it is needed."""
    ordered: dict[Any, None] = {}

    def add(library: Any) -> None:
        if library not in ordered:
            for callee in getattr(library, "callees", ()):
                add(callee)
            ordered[library] = None

    for library in reversed(libraries):
        add(library)
    return list(reversed(ordered))


def _missing(module: Any) -> set[str]:
    """Return the names of the functions that a module calls and does not define."""
    return {function.name for function in module.functions if function.is_declaration}


def _defined(library: Any) -> frozenset[str]:
    """Return the names of the functions that a library defines."""
    if not hasattr(library, "_defined"):
        module = library._get_module_for_linking()
        library._defined = frozenset(function.name for function in module.functions if not function.is_declaration)
    found: frozenset[str] = library._defined
    return found


def _entry(descriptor: Any, environment: Any, library: Any) -> Any:
    """Return a function object without code for an inner kernel; numba identifies an overload by such an object."""
    from numba import _dynfunc

    name = descriptor.qualname.split(".")[-1]
    return _dynfunc.make_function(descriptor.lookup_module(), name, "inner kernel", 0, environment, (library,))


def rebuild_library(target: Any, payload: Any, callees: list[Any]) -> Any:
    """Return the library of an inner kernel from the cache, with the libraries of its callees."""
    from llvmlite import binding

    name, _, bitcode, _ = payload[0]
    library = _inner_library()(target.codegen(), name)
    library._final_module = binding.parse_bitcode(bitcode)
    library._reload_init.update(payload[-2])
    library.callees = tuple(callees)
    library._finalized = True
    return library


def rebuild_inner(target: Any, payload: Any, library: Any) -> Any:
    """Return an inner kernel's compilation from the cache, with its library."""
    from numba.core.compiler import CompileResult

    _, descriptor, environment, signature, objectmode, lifted, annotation, reload_init, _ = payload
    for action in reload_init:
        action()
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


def without_copies(inline_function: Callable[..., Any]) -> Callable[..., Any]:
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


def reading_once(read: Callable[..., Any]) -> Callable[..., Any]:
    """Replace `InlineWorker.run_untyped_passes`: read a function that is inlined once, and copy it for each call."""
    known: dict[tuple[Any, bool], tuple[bytes, list[Any]]] = {}

    def read_once(worker: Any, function: Any, enable_ssa: bool = False) -> Any:
        key = function, enable_ssa
        if key not in known:
            known[key] = _pickled(read(worker, function, enable_ssa=enable_ssa))
        # As reading does, for later requests.
        worker.flags.enable_ssa = enable_ssa
        pickled, kept = known[key]
        unpickler = pickle.Unpickler(io.BytesIO(pickled))
        unpickler.persistent_load = kept.__getitem__  # type: ignore[method-assign]
        copy = unpickler.load()
        # It gets a new identity, which names inlined variables.
        derived = copy.derive(copy.blocks, loc=copy.loc)
        derived._definitions = copy._definitions
        return derived

    return read_once


def _pickled(function: Any) -> tuple[bytes, list[Any]]:
    """Pickle a function in numba's language; return also the other objects in it, which copies share."""
    from numba.core import ir

    kept: list[Any] = []
    own = (
        ir.FunctionIR,
        ir.Block,
        ir.Scope,
        ir.Inst,
        ir.AbstractRHS,
        ir.VarMap,
        str,
        dict,
        list,
        tuple,
        set,
        type(None),
    )

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> int | None:
            if isinstance(value, own):
                return None
            kept.append(value)
            return len(kept) - 1

    file = io.BytesIO()
    Pickler(file).dump(function)
    return file.getvalue(), kept
