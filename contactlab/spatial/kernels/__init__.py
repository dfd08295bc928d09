"""Compiled vector arithmetic."""
