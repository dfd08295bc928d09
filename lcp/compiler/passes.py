"""numba's passes without what only its own debugging, or reference counting, asks for.

Forty passes are run over each kernel. Around each numba formats its name and arguments for whoever listens, and looks
through all statements for deletions of variables, which it then adds at the end: in kernels that count no references
they give nothing back.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from lcp.compiler.releases import tried

__all__ = ["patches"]


def patches() -> list[tuple[Any, str, Any]]:
    """What is to stand in numba while a kernel is compiled: places, names, functions."""
    if not tried("passes"):
        return []
    from numba.core import byteflow, ssa
    from numba.core.compiler_machinery import PassManager
    from numba.core.postproc import PostProcessor
    from numba.core.types.abstract import Type

    quiet = SimpleNamespace(debug=lambda *_: None)
    return [
        (PassManager, "_runPass", _plainly(PassManager._runPass)),
        (PostProcessor, "_insert_var_dels", _for_counted(PostProcessor._insert_var_dels)),
        (Type, "__hash__", _remembering(Type.__hash__)),
        (byteflow, "_logger", quiet),
        (ssa, "_logger", quiet),
    ]


def _plainly(run_pass: Callable[..., None]) -> Callable[..., None]:
    """`PassManager._runPass`, without announcements and clocks, unless somebody asks for them."""
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


def _for_counted(insert: Callable[..., None]) -> Callable[..., None]:
    """`PostProcessor._insert_var_dels`, of a function that counts references; others give nothing back."""
    from numba.core.targetconfig import ConfigStack

    def insert_deletions(processor: Any, extend_lifetimes: bool = False) -> None:
        flags = ConfigStack.top_or_none()
        if flags is None or flags.nrt:
            insert(processor, extend_lifetimes)

    return insert_deletions


def _remembering(hashed: Callable[[Any], int]) -> Callable[[Any], int]:
    """The hash of a type, which numba works out from all that is in it whenever it looks one up."""
    # A type is held here: another one has another id.
    known: dict[int, tuple[int, Any]] = {}

    def remembered(kind: Any) -> int:
        found = known.get(id(kind))
        if found is None:
            found = known[id(kind)] = hashed(kind), kind
        return found[0]

    return remembered
