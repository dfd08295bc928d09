"""Kernels that draw: triangles into pixels, and their light."""
