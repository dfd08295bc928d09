"""Three formulations of friction: Coulomb's LCP, its convex relaxation, staggered projections.

A block of 2 kg on the ground with friction 0.5 is first at rest under a pull of 3 N, then slides at 1 m/s. OSQP solves
the quadratic programs of the last two; it cannot solve the LCP itself.
"""

from __future__ import annotations

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver, ConvexRelaxation, StaggeredProjections
from problem_data import ConstraintVelProblemData

H, MASS, G, MU = 0.01, 2.0, 9.81, 0.5
SOLVERS = (lcp.Lemke(), ConvexRelaxation(lcp.OSQP()), StaggeredProjections(lcp.OSQP()))


def block(speed: float, pull: float) -> ConstraintVelProblemData:
    """One contact; velocities along the ground and away from it."""
    momentum = [MASS * speed + H * pull, -H * MASS * G]
    return ConstraintVelProblemData(
        M=[[MASS, 0], [0, MASS]], Mv=momentum, N=[[0, 1]], F=[[1, 0]], mu=[MU], r=[1], kN=[0.0]
    )


# %%
# OSQP solves convex problems. The LCP with friction is not convex, and the error names alternatives.
try:
    ConstraintSolver(lcp.OSQP()).solve_discretized_problem(block(1.0, 0.0), H)
except ConstraintSolveError as error:
    print(f"{error}\n")

# %%
# Another solver is another argument. The certificate always has Coulomb's conditions.
print(f"{'':9}{'solver':23}{'fN [N]':>8}{'fF [N]':>8}{'vt [m/s]':>10}{'vn [m/s]':>10}  relaxed  error to Coulomb")
found = {}
for scene, data in (("sticking", block(0.0, 3.0)), ("sliding", block(1.0, 0.0))):
    for solver in SOLVERS:
        name = type(solver).__name__
        solution = found[scene, name] = ConstraintSolver(solver).solve_discretized_problem(data, H)
        (fN,), (fF,), (vt, vn) = solution.forces.fN, solution.forces.fF, solution.v_plus
        condition, _, scaled = solution.coulomb_error
        error_text = f"{scaled:.0e} {condition}" if scaled > 1e-9 else "none"
        print(f"{scene:9}{name:23}{fN:8.2f}{fF:8.2f}{vt:10.4f}{vn:10.4f}  {solution.relaxed!s:9}{error_text}")

# %%
# Without sliding all agree. If the block slides, the relaxation moves it off the ground at mu times its speed.
for name in ("ConvexRelaxation", "StaggeredProjections"):
    assert abs(found["sticking", name].forces.packed() - found["sticking", "Lemke"].forces.packed()).max() < 1e-8
assert abs(found["sliding", "StaggeredProjections"].v_plus - found["sliding", "Lemke"].v_plus).max() < 1e-10
relaxed = found["sliding", "ConvexRelaxation"]
assert abs(relaxed.v_plus[1] - MU * relaxed.v_plus[0]) < 1e-9
assert abs(relaxed.forces.fN[0] - MASS * (G * H + MU) / (H * (1 + MU**2))) < 1e-6
assert relaxed.certificate.violated() == ("normal_complementarity",)
