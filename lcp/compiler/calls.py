"""The calls that a kernel makes, with the types of their arguments, known without compiling what is called.

For a process that compiles beside another: the types are those that numba infers for the very arguments of the caller.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from lcp.compiler.releases import tried

__all__ = ["Call", "calls_of", "typed_by_annotation"]

# Whether a callee's return type is taken from its annotation, while the calls of a kernel are listed.
_listing = False


class Call(NamedTuple):
    """A kernel as others call it, and the types of its arguments."""

    kernel: Any
    types: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return str(self.kernel.py_func.__name__)

    def compile(self) -> None:
        """Compile the kernel for these types, or find it on disk."""
        self.kernel.get_call_template(self.types, {})


def compile_for(kernel: Any, *arguments: Any) -> None:
    """Compile a kernel for such arguments, or find it on disk; it is not run. Nothing happens with the compiler off."""
    if hasattr(kernel, "is_kernel"):
        kernel.compile(tuple(kernel.typeof_pyval(argument) for argument in arguments))


def calls_of(kernel: Any, *arguments: Any) -> list[Call]:
    """The kernels that ``kernel`` calls for such arguments, in the order of its source, each but once.

    Empty for a release of numba with which this was not tried, and with the compiler off.
    """
    if not hasattr(kernel, "is_kernel") or not tried("calls"):
        return []
    from numba import typeof
    from numba.core import types
    from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, compile_extra
    from numba.core.compiler_machinery import AnalysisPass, PassManager, register_pass
    from numba.core.typed_passes import NopythonTypeInference

    from lcp.compiler.lookups import swiftly

    calls: dict[Call, None] = {}

    @register_pass(mutates_CFG=False, analysis_only=True)
    class ListCalls(AnalysisPass):
        _name = "list_calls"

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            for _, block in sorted(state.func_ir.blocks.items()):
                for call in block.find_exprs(op="call"):
                    callee = state.typemap[call.func.name]
                    if isinstance(callee, types.Dispatcher) and hasattr(callee.dispatcher, "is_kernel"):
                        version = getattr(callee.dispatcher, "inner", callee.dispatcher)
                        calls[Call(version, state.calltypes[call].args)] = None
            # What numba takes for the result of a compilation.
            state["cr"] = calls
            return False

    class Listing(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            manager = PassManager("calls")
            manager.passes.extend(DefaultPassBuilder.define_untyped_pipeline(self.state).passes)
            manager.add_pass(NopythonTypeInference, "types of all variables")
            manager.add_pass(ListCalls, "the calls among them")
            manager.finalize()
            return [manager]

    target = kernel.targetdescr
    flags = Flags()
    target.options.parse_as_flags(flags, kernel.targetoptions)
    signature = tuple(typeof(argument) for argument in arguments)
    with _listed(True), swiftly():
        compile_extra(
            target.typing_context, target.target_context, kernel.py_func, signature, None, flags, {},
            pipeline_class=Listing,
        )  # fmt: skip
    return list(calls)


@contextlib.contextmanager
def _listed(listing: bool) -> Iterator[None]:
    """Type calls by annotations, or not, within the block."""
    global _listing
    before, _listing = _listing, listing
    try:
        yield
    finally:
        _listing = before


def typed_by_annotation(dispatcher: Any) -> None:
    """Let calls of a kernel be typed by its annotation while they are listed, where that says numbers or nothing."""
    from numba.core.typing.templates import make_concrete_template

    original = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        if not _listing:
            return original(args, kws)
        result = _result_of(dispatcher.py_func)
        if result is None:
            # Compiled now, with all that it calls.
            with _listed(False):
                return original(args, kws)
        pysig, args = dispatcher._compiler.fold_argument_types(args, kws)
        name = dispatcher.py_func.__name__
        return make_concrete_template(name, key=name, signatures=[result(*args)]), pysig, args, {}

    dispatcher.get_call_template = get_call_template


def _result_of(function: Any) -> Any:
    """The numba type that a function's annotation says it returns: a number, nothing, or several numbers."""
    from numba.core import types
    from numba.core.types import BaseTuple  # type: ignore[attr-defined]

    numbers = {int: types.int64, float: types.float64, bool: types.boolean, type(None): types.none}
    try:
        said = get_type_hints(function).get("return")
    except NameError:
        return None  # of names that only a type checker knows
    if said in numbers:
        return numbers[said]
    if get_origin(said) is tuple:
        fields = [numbers.get(one) for one in get_args(said)]
        return BaseTuple.from_types(fields) if all(field is not None for field in fields) else None
    if isinstance(said, type) and issubclass(said, tuple) and hasattr(said, "_fields"):
        fields = [numbers.get(one) for one in get_type_hints(said).values()]
        return BaseTuple.from_types(fields, said) if all(field is not None for field in fields) else None
    return None
