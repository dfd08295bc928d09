"""Compiled arithmetic of the contact core."""
