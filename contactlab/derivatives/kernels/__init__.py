"""Compiled arithmetic of the derivatives of a step."""
