"""Compiled collision detection: one file per pair of shapes, and what several pairs share."""
