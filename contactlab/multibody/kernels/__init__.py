"""Compiled rigid-body dynamics."""
