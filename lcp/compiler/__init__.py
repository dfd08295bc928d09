"""Compilation of kernels: all code that depends on numba's internals.

Code that uses private parts of numba is a patch with an entry in `releases`; without patches a release compiles to the
same bits.
"""

from lcp.compiler.compile_events import (
    CompilationCounter,
    compilation_seconds,
    compiling,
    count_compilations,
    on_first_compilation,
)
from lcp.compiler.decorator import compile_for, kernel

__all__ = [
    "CompilationCounter",
    "compile_for",
    "compiling",
    "kernel",
    "compilation_seconds",
    "count_compilations",
    "on_first_compilation",
]
