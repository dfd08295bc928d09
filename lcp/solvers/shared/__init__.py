"""Code that several solvers share; this package has no solver."""
