"""Compiled arithmetic of rotations."""
