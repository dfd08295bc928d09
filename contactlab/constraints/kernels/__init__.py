"""Compiled constraint rows."""
