"""Functions that kernels have besides numpy, found with the sources of the kernels that import them."""
