"""How kernels are compiled: all that the project knows of numba's insides.

What is private to numba is a patch with an entry in `releases`; a release without it compiles to the same bits.
"""

from lcp.compiler.decorator import compile_for, kernel
from lcp.compiler.watch import CompileWatch, compile_seconds, compiling, watch_compilation, when_compiling

__all__ = [
    "CompileWatch",
    "compile_for",
    "compile_seconds",
    "compiling",
    "kernel",
    "watch_compilation",
    "when_compiling",
]
