"""Functions for kernels in addition to numpy, found with the sources of the kernels that import them."""
