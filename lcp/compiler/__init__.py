"""The compilation of kernels: all that the project knows of numba's internals.

What is private to numba is a patch with an entry in `releases`; a release without it compiles to the same bits.
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
