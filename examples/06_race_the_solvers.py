"""One problem, every solver: results, times, and the residual of each over its iterations.

An elastic membrane is pressed onto a flat ceiling: the ceiling's pressure z and the gap w are complementary. With
`trace=True` a solver keeps its residual per iteration; the extra `viz` draws the curves into `race.png`.
"""

from __future__ import annotations

import importlib.util

import numpy as np
from scipy import sparse

import lcp

# %%
# A 24 x 24 grid: five-point Laplacian, sparse, symmetric positive definite, a K-matrix.
N = 24
line = sparse.diags_array([-np.ones(N - 1), 2 * np.ones(N), -np.ones(N - 1)], offsets=[-1, 0, 1])
laplacian = (sparse.kron(line, sparse.eye_array(N)) + sparse.kron(sparse.eye_array(N), line)).tocsr()
ceiling = np.full(N * N, 6.0)
problem = lcp.LCP(laplacian, np.ones(N * N) - laplacian @ ceiling / 4)

# %%
# Another solver is another argument. First-order methods have a larger tolerance, and are polished on their active set.
results = {}
print(f"{'solver':26}{'status':18}{'iterations':>10}{'time [ms]':>11}{'scaled residual':>17}")
for cls in lcp.ALL_SOLVERS:
    lcp.solve(problem, cls())  # compiles, imports
    result = results[cls.__name__] = lcp.solve(problem, cls(), trace=True)
    print(
        f"{cls.__name__:26}{result.status.name:18}{result.iterations:10d}{result.solve_time * 1e3:11.2f}"
        f"{result.residual.scaled:17.1e}"
    )

# %%
# All solvers that solve it agree. The default chooses one of the fast ones.
solved = [result.z for result in results.values() if result.solved]
assert len(solved) >= 4
assert max(np.abs(z - solved[0]).max() for z in solved) < 1e-5
best = lcp.solve(problem)
print(f"default: {type(best.solver).__name__}, {best.solve_time * 1e3:.2f} ms; {(best.z > 0).mean():.0%} pressed")
assert best.solved

if importlib.util.find_spec("matplotlib"):
    from contactlab.view.plotting import plot_convergence

    print(f"wrote {plot_convergence('race.png', results, title='membrane under a ceiling, n = 576')}")
