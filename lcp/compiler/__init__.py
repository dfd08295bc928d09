"""The compilation of kernels: all that the project knows of numba's internals.

What is private to numba is a patch with an entry in `releases`; a release without it compiles to the same bits.
"""

from lcp.compiler.compile_events import CompileWatch, compiling, kernel_seconds, watch_compilation, when_compiling
from lcp.compiler.decorator import compile_for, kernel

__all__ = [
    "CompileWatch",
    "compile_for",
    "compiling",
    "kernel",
    "kernel_seconds",
    "watch_compilation",
    "when_compiling",
]
