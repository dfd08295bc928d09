"""Compiled arithmetic of the formulation: assembly, recovery and certification of one step."""
