"""Frictional contact problems in the space of velocities, solved by a loop over several strategies."""
