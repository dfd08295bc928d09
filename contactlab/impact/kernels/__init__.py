"""Compiled arithmetic of the impact laws."""
