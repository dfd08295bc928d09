"""Frictional contact problems in the space of velocities: one core, walked as a table of named attempts."""
