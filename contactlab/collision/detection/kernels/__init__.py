"""Compiled collision detection: one file per pair of shapes, and shared parts of several pairs."""
