"""Coulomb friction with the exact cone: problems, solvers, residuals."""
