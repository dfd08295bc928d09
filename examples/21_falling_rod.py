"""A rod under three laws: it falls on its end, over angle and friction, with all outcomes from one call.

``python examples/21_falling_rod.py --figures docs/images`` draws the figures of `docs/falling_rod.md` and
`docs/impact.md` again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from contactlab import impact
from problem_data import ConstraintVelProblemData


def rod(angle: float, mu: float) -> ConstraintVelProblemData:
    """A uniform rod of unit mass and half length that falls, without turning, at 1 m/s; its low end strikes."""
    return sliding_rod(angle, mu, (0.0, -1.0, 0.0))


def sliding_rod(angle: float, mu: float, v: tuple[float, float, float]) -> ConstraintVelProblemData:
    """The same with another velocity: x, y and angle."""
    M, x, y = np.diag([1.0, 1.0, 1.0 / 3.0]), -np.cos(angle), -np.sin(angle)
    return ConstraintVelProblemData(M=M, Mv=M @ v, N=[[0, 1, x]], F=[[1, 0, -y]], mu=[mu], r=[1])


# %%
# The sweep: all combinations of four parameters, with a finer grid for figures.
folder = Path(sys.argv[-1]) if "--figures" in sys.argv[:-1] else None
fine = 45 if folder else 12
angles, mus = np.radians(np.linspace(2.0, 88.0, fine)), np.linspace(0.0, 1.5, fine)
found = impact.impact_map(rod, {"angle": angles, "mu": mus}, restitutions=[0.0, 0.5, 0.9])
print(found)

# %%
# Without friction the end strikes with the mass 1 / (1 + 3 cos^2), and the fraction e^2 of its energy returns.
W = 1.0 + 3.0 * np.cos(angles) ** 2
smooth = found.energy_ratio[:, :, :, 0]
np.testing.assert_allclose(
    smooth, np.broadcast_to(1.0 - (1.0 - np.array([[0.0], [0.5], [0.9]]) ** 2) / W, smooth.shape)
)

# %%
# It sticks from the start if friction can hold it: mu >= |W_tn| / W_tt, for each of these laws and any restitution.
hold = 3.0 * np.sin(angles) * np.cos(angles) / (1.0 + 3.0 * np.sin(angles) ** 2)
beyond = np.abs(mus[None, :] - hold[:, None]) > 1e-9
sticks = (mus[None, :] > hold[:, None]) & beyond
assert ((found.motion == impact.ContactMotion.STICKS) == sticks)[..., beyond].all()

# %%
# Slip that starts at rest has one direction, so these laws agree. They differ for a rod that slides as it strikes.
assert np.nanmax(found.spread) < 1e-9
slides = impact.impact_map(
    lambda angle, mu: sliding_rod(angle, mu, (0.6, -1.0, 0.0)), {"angle": angles, "mu": mus}, restitutions=[0.9]
)
print(slides)
assert slides.spread.max() > 0.1
gains = {law: int(slides.energy_gain_mask[i].sum()) for i, law in enumerate(slides.laws)}
assert gains["Newton"] > 0
assert gains["Stronge"] == gains["Poisson"] == 0

if folder is not None:
    from contactlab.view.plotting import plot_impact_map, plot_painleve, plot_routh

    labels = "angle [rad]", "friction"
    plot_impact_map(folder / "falling_rod.png", found, 1, labels=labels, title="A rod that falls")
    plot_impact_map(folder / "sliding_rod.png", slides, 0, labels=labels, title="A rod that slides as it falls")
    course = impact.routh_diagram(sliding_rod(0.5, 2.0, (-1.0, -1.0, 0.0)), restitution=0.8)
    plot_routh(folder / "routh.png", course, title="A rod strikes the ground")
    scan = impact.painleve_scan(np.radians(np.linspace(20.0, 88.0, 69)), np.linspace(0.1, 4.0, 40), spin=3.4)
    closed = np.column_stack((scan.axes["angle"], impact.painleve_threshold(scan.axes["angle"])))
    plot_painleve(folder / "painleve.png", scan, boundary=closed, labels=labels, title="A rod that slides and turns")
