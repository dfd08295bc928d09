"""Impact laws compared: a rod that strikes the ground, where slip stops during the impact, and Newton's cradle.

If nothing slips, or slip does not stop, Newton, Poisson and Stronge agree. If slip stops within the impact, their
definitions of restitution differ, and only Stronge's law never gives the bodies energy.
"""

from __future__ import annotations

import numpy as np

from contactlab import impact
from problem_data import ConstraintVelProblemData


def rod(angle: float, mu: float) -> ConstraintVelProblemData:
    """A uniform rod, unit mass and half length, that strikes the ground with its low end at 1 m/s both ways."""
    M = np.diag([1.0, 1.0, 1.0 / 3.0])
    x, y = -np.cos(angle), -np.sin(angle)
    return ConstraintVelProblemData(
        M=M, Mv=M @ [-1.0, -1.0, 0.0], N=[[0.0, 1.0, x]], F=[[1.0, 0.0, -y]], mu=[mu], r=[1]
    )


# %%
# The rod: with mu = 2 its slip stops before the end of the impact, and the laws differ.
table = impact.compare(rod(0.5, 2.0), restitution=0.8)
print(table)
rates = {name: outcome.u_plus[0] for name, outcome in table.outcomes.items()}
assert abs(rates["Newton"] - 0.8 * 1.0) < 1e-12, "Newton: the speed of approach times e"
assert rates["Newton"] < rates["Stronge, sequential"] < rates["Poisson, sequential"]
assert not table["Stronge, sequential"].gains_energy

# %%
# The path of the impact: along the edge of friction, then along the line of sticking.
diagram = impact.routh_diagram(rod(0.5, 2.0), restitution=0.8)
print("\ncourse (normal, tangential impulse [N s]):")
print(diagram.path("stronge").round(4))

# %%
# Newton's cradle: all contacts together, in sequence, or as steel balls. All conserve momentum and energy.
N = [[-1.0, 1.0, 0.0, 0.0], [0.0, -1.0, 1.0, 0.0], [0.0, 0.0, -1.0, 1.0]]
cradle = ConstraintVelProblemData(M=np.eye(4), Mv=[1.0, 0.0, 0.0, 0.0], N=N)
at_once = impact.Newton(1.0).solve(cradle).v_plus
in_turn = impact.Newton(1.0, "sequential").solve(cradle).v_plus
steel = impact.Stronge(1.0).solve(cradle).v_plus
print(f"\ncradle at once {at_once.round(4)}, in turn {in_turn.round(4)}, steel balls {steel.round(4)}")
for v in (at_once, in_turn, steel):
    assert abs(v.sum() - 1.0) < 1e-12
    assert abs(v @ v - 1.0) < 1e-6

# %%
# Painleve: the friction above which a sliding rod has no contact force at all.
scan = impact.painleve_scan(np.radians([40.0, 63.4, 80.0]), [1.0, 1.4, 3.0])
print(f"\nsolutions for mu = 1, 1.4, 3:\n{scan.solutions}")
assert abs(impact.painleve_threshold(np.arctan(2.0)) - 4.0 / 3.0) < 1e-12
