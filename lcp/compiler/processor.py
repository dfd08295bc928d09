"""What processors kernels are compiled for: a tier of them, not the one at hand, so that others take the same code.

A tier is a name of LLVM's for the instructions that all processors of some age have. numba compiles for the very
processor of the machine; here each function is marked with the tier, which LLVM heeds before its target machine. No
arithmetic differs between tiers: sums are not reordered, and products and sums not fused, without fastmath.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import sys
from typing import Any

from lcp.compiler.releases import tried

__all__ = ["machine", "mark", "marked", "tier"]

# Tiers of x86-64, the highest first, and what a processor must have beyond the one below (psABI). There is a fourth,
# with AVX-512: kernels gain nothing from it.
_X86_TIERS = {
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"),
    "x86-64": (),
}
_TIERS = {"x86_64": tuple(_X86_TIERS), "amd64": tuple(_X86_TIERS), "aarch64": ("generic",)}
#: Names a tier that is below the one of the processor at hand.
VARIABLE = "CONTACTLAB_PROCESSOR"


@functools.cache
def tier() -> str | None:
    """The tier that kernels are compiled for; None where that is numba's choice, the very processor at hand."""
    from numba.core import config
    from numba.core.codegen import get_host_cpu_features

    kind = platform.machine().lower()
    if sys.platform == "darwin" and kind == "arm64":
        possible: tuple[str, ...] = ("apple-m1",)
    else:
        possible = _TIERS.get(kind, ())
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None or not tried("tiers"):
        return None
    if possible and possible[0] in _X86_TIERS:
        has = set(get_host_cpu_features().split(","))
        lacking = [name for name in possible if any(f"+{feature}" not in has for feature in _X86_TIERS[name])]
        possible = possible[possible.index(lacking[-1]) + 1 :] if lacking else possible
    wanted = os.environ.get(VARIABLE)
    if wanted and wanted not in possible:
        raise ValueError(f"{VARIABLE}: this processor has {', '.join(possible) or 'no tiers'}, not {wanted!r}")
    return wanted or (possible[0] if possible else None)


@functools.cache
def machine() -> tuple[str, ...]:
    """What compiled code runs on: system and tier, or processor with all its features."""
    from llvmlite import binding
    from numba.core.registry import cpu_target

    kind = tier()
    if kind is not None:
        return binding.get_process_triple(), kind
    named: tuple[str, ...] = cpu_target.target_context.codegen().magic_tuple()
    return named


def _attributes() -> str:
    # The second: not numba's features of the processor at hand, which the target machine has.
    return f'"target-cpu"="{tier()}" "target-features"=""'


def mark(ir_module: Any) -> None:
    """Mark the functions that a module of llvmlite's defines."""
    if tier() is None:
        return
    for function in ir_module.functions:
        if not function.is_declaration:
            # llvmlite admits words alone.
            set.add(function.attributes, _attributes())


# A function's definition up to its attributes, of which a number may stand there already.
_DEFINITION = re.compile(
    r"^(define .*?\)(?: local_unnamed_addr| unnamed_addr)?)"
    r"(?=(?: #\d+)?(?: (?:section|comdat|align|gc|personality|!).*)? \{$)",
    re.MULTILINE,
)


def marked(module: Any) -> Any:
    """A module that numba has compiled, to be linked into a kernel, with its functions marked."""
    from llvmlite import binding

    if tier() is None:
        return module
    return binding.parse_assembly(_DEFINITION.sub(lambda match: f"{match[1]} {_attributes()}", str(module)))
