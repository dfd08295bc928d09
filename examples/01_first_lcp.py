"""A first complementarity problem: how it is stated, solved, and verified on its data.

Find z with w = M z + q and, entry by entry, z >= 0, w >= 0, z w = 0.
"""

from __future__ import annotations

import numpy as np

import lcp

# %%
# A mass of 1 kg is on a table: z [N] is the normal force of the table, w [m/s^2] the acceleration away from it. Either
# the table pushes or the mass lifts off, never both.
resting = lcp.solve(lcp.LCP(M=np.array([[1.0]]), q=np.array([-9.81])))
lifted = lcp.solve(lcp.LCP(M=np.array([[1.0]]), q=np.array([2.0])))
print(f"resting: push {resting.z[0]:.2f} N, acceleration {resting.w[0]:.2f} m/s^2")
print(f"lifted:  push {lifted.z[0]:.2f} N, acceleration {lifted.w[0]:.2f} m/s^2")
assert np.allclose((resting.z, resting.w), ([9.81], [0.0]))
assert np.allclose((lifted.z, lifted.w), ([0.0], [2.0]))

# %%
# Three contacts. M is positive definite, so there is exactly one solution.
problem = lcp.LCP(M=np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]), q=np.array([-1.0, -6.0, 1.0]))
result = lcp.solve(problem)
print("z =", result.z, " w =", result.w, f" in {result.iterations} pivots")
assert result.solved
assert np.allclose(result.z, [0.0, 3.0, 0.0])
assert np.allclose(result.w, [2.0, 0.0, 4.0])

# %%
# A solver does not decide on SOLVED: one module measures every solution on the original data.
print(f"natural map {result.residual.natural_map:.1e}, scaled {result.residual.scaled:.1e}")
assert result.residual.scaled <= result.tolerance
wrong = lcp.residuals(problem, np.array([1.0, 3.0, 0.0]))
print(f"for a wrong z the natural map is {wrong.natural_map:.1f}")
assert wrong.natural_map > 0.5

# %%
# A problem without solution ends with a status for this case, and advice.
failed = lcp.solve(lcp.LCP(M=np.array([[-1.0]]), q=np.array([-1.0])))
print(f"{failed.status.name}: {failed.status.advice}")
assert not failed.solved
