"""The private parts of numba that are used, and the releases each of them was tried with.

Without an entry for a release numba compiles kernels in its usual way, to the same bits in more time.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import sys
from typing import Any

__all__ = ["TESTED_RELEASES", "machine", "set_target_attributes", "marked", "target_cpu", "is_tested"]


# 0.66 is excluded: it compiles `pointer_add` wrongly on x86-64 (numba issue 10695), and `views` calls it.
_RELEASES = ("0.65", "0.67", "0.68")

#: Patch, and the minor releases of numba with which it was tried.
TESTED_RELEASES: dict[str, tuple[str, ...]] = {
    # Compiled kernels are stored with a key of all their sources (`cache`).
    "cache": _RELEASES,
    # The option `_nrt` leaves out reference counting, and with it the fusion of array expressions, which allocates.
    "uncounted": _RELEASES,
    # A callee is compiled for integers, not for each literal with which it is called (`decorator`).
    "literals": _RELEASES,
    # Kernels that only kernels call are not optimised and translated separately (`pipeline`).
    "inner": _RELEASES,
    # Loops are unrolled and vectorised only if a kernel has ``long_loops`` (`pipeline`).
    "loops": _RELEASES,
    # Kernels get no numbers that they do not read (`pipeline`).
    "arguments": _RELEASES,
    # Variables assigned once remain values (`pipeline`).
    "values": _RELEASES,
    # Signatures are looked up once, and options without a property for each (`type_lookup_cache`).
    "lookups": _RELEASES,
    # Passes run without announcements; variables of uncounted kernels are not deleted (`type_lookup_cache`).
    "passes": ("0.68",),
    # Repeated work is done once (`type_lookup_cache`).
    "spared": ("0.68",),
    # A kernel that is inlined is not copied before (`pipeline`).
    "copies": _RELEASES,
    # Tuples and arrays are replaced by their scalars (`scalar_replacement`).
    "aggregates": _RELEASES,
    # No index counts from the end, and no slice ends beyond an array (`decorator`).
    "indices": _RELEASES,
    # Views of buffers, and arrays on the stack, are built directly (`views`).
    "views": _RELEASES,
    # Unpacked arguments are stored in a buffer; compiled code is called without checking them (`bound_call`).
    "held": _RELEASES,
    # Functions are marked with a tier of processors, not compiled for this very processor.
    "tiers": _RELEASES,
}


@functools.cache
def is_tested(patch: str) -> bool:
    """Return True if a patch was tried with the installed release."""
    import numba

    return numba.__version__.rpartition(".")[0] in TESTED_RELEASES[patch]


# Tiers of x86-64, the highest first, with the features in addition to the next lower one (psABI). A fourth tier has
# AVX-512, which does not help kernels.
_X86_TIERS = {
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"),
    "x86-64": (),
}
_TIERS = {"x86_64": tuple(_X86_TIERS), "amd64": tuple(_X86_TIERS), "aarch64": ("generic",)}
#: Environment variable that names a tier below the one of this processor.
VARIABLE = "CONTACTLAB_PROCESSOR"


@functools.cache
def target_cpu() -> str | None:
    """Return the tier that kernels are compiled for; None if numba chooses, which is this very processor."""
    from numba.core import config
    from numba.core.codegen import get_host_cpu_features

    kind = platform.machine().lower()
    if sys.platform == "darwin" and kind == "arm64":
        possible: tuple[str, ...] = ("apple-m1",)
    else:
        possible = _TIERS.get(kind, ())
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None or not is_tested("tiers"):
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
    """Return the platform of compiled code: system and tier, or processor with all its features."""
    from llvmlite import binding
    from numba.core.registry import cpu_target

    kind = target_cpu()
    if kind is not None:
        return binding.get_process_triple(), kind
    named: tuple[str, ...] = cpu_target.target_context.codegen().magic_tuple()
    return named


def _attributes() -> str:
    # The second one: not numba's features of this processor, which the target machine has.
    return f'"target-cpu"="{target_cpu()}" "target-features"=""'


def set_target_attributes(ir_module: Any) -> None:
    """Mark the functions that a module of llvmlite's defines."""
    if target_cpu() is None:
        return
    for function in ir_module.functions:
        if not function.is_declaration:
            # llvmlite accepts only words.
            set.add(function.attributes, _attributes())


# A function's definition up to its attributes; it may already have a number of them.
_DEFINITION = re.compile(
    r"^(define .*?\)(?: local_unnamed_addr| unnamed_addr)?)"
    r"(?=(?: #\d+)?(?: (?:section|comdat|align|gc|personality|!).*)? \{$)",
    re.MULTILINE,
)


def marked(module: Any) -> Any:
    """Return a module compiled by numba, with its functions marked, to be linked into a kernel."""
    from llvmlite import binding

    if target_cpu() is None:
        return module
    return binding.parse_assembly(_DEFINITION.sub(lambda match: f"{match[1]} {_attributes()}", str(module)))
