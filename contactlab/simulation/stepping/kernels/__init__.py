"""Compiled stages of a time step, and the resumable loop that runs them."""
