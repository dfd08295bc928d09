"""From problem data to a linear complementarity problem and back to forces.

`bilateral` eliminates the equations, `discretized` states the step's LCP and unpacks its solution; `kernels` holds
the arithmetic that the compiled step shares.
"""
