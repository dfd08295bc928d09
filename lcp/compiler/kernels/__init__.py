"""What kernels are given beside numpy, found with the sources of those that ask for it."""
