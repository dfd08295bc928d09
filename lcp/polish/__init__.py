"""Refine approximate solutions: guess active sets, solve and verify them, in 16 digits and in 32."""
