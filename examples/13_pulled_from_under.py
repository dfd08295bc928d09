"""A tray pulled away: bodies that touch each other, and the force at which the upper one is left behind.

Tray and box move together up to a pull of (mu_b + mu_g)(m_tray + m_box) g; friction accelerates the box by mu_b g at
most.
"""

from __future__ import annotations

import numpy as np

from contactlab.collision import Box, HalfSpace, Material
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import SLIDE, STICK, Recording, TimeStepping, WorldBuilder, simulate

G, MASS_TRAY, MASS_BOX = 9.81, 2.0, 0.5
MU_GROUND, MU_BOX = 0.2, 0.3
TRAY, BOX = (0.4, 0.3, 0.05), (0.1, 0.1, 0.1)


def pulled(force: float) -> Recording:
    """Pull the tray for 0.2 s."""
    # mu of a pair is the geometric mean: the materials are chosen to give the pairs the values above.
    tray, ground, box = Material(1.0), Material(MU_GROUND**2), Material(MU_BOX**2)
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_half_space("ground", HalfSpace(), ground)
    builder.add_free_body("tray", RigidInertia.solid_box(MASS_TRAY, TRAY), Box(TRAY), tray, q=(0, 0, 0.05, 1, 0, 0, 0))
    builder.add_free_body("box", RigidInertia.solid_box(MASS_BOX, BOX), Box(BOX), box, q=(0, 0, 0.2, 1, 0, 0, 0))
    return simulate(builder.build(), TimeStepping(1e-3), 0.2, tau=(force, *np.zeros(11)))


# %%
# Below the limit friction accelerates the box as much as the tray, above it by mu_b g only.
limit = (MU_BOX + MU_GROUND) * (MASS_TRAY + MASS_BOX) * G
weight = (MASS_TRAY + MASS_BOX) * G
print(f"limit {limit:.2f} N\n pull [N]  tray [m/s2]  box [m/s2]  friction on the box [N]")
for force in (0.9 * limit, 1.5 * limit):
    recording = pulled(force)
    tray, box = recording.v[-1, 0] / 0.2, recording.v[-1, 6] / 0.2
    friction = recording.force_on("box")[-1, 0]
    print(f"{force:9.2f}{tray:13.4f}{box:12.4f}{friction:25.4f}")
    last = recording.contacts_at(recording.n_steps - 1)
    modes = set(last.mode[(last.body_a == 0) & (last.impulse_normal > 0)])
    if force < limit:
        expected = (force - MU_GROUND * weight) / (MASS_TRAY + MASS_BOX)
        assert abs(tray - expected) < 1e-9
        assert abs(box - expected) < 1e-9
        assert modes == {STICK}
    else:
        assert abs(box - MU_BOX * G) < 1e-9
        assert abs(tray - (force - MU_GROUND * weight - MU_BOX * MASS_BOX * G) / MASS_TRAY) < 1e-9
        assert modes == {SLIDE}
    assert abs(friction - MASS_BOX * box) < 1e-9
    assert recording.worst_certificate().scaled < 1e-9
