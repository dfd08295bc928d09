"""A step of a pile is accepted as an LCP; what its mechanical certificate says of it."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.contact import HalfSpace, Material, Sphere
from contactlab.simulation import TimeStepping, World, WorldBuilder, simulate
from contactlab.spatial import RigidInertia


def balls(seed: int) -> World:
    """Thirty balls above a bin, a little out of their grid."""
    builder, rough = WorldBuilder(), Material(0.5)
    builder.add_half_space("floor", HalfSpace(), rough)
    for name, normal in {"west": (1, 0, 0), "east": (-1, 0, 0), "south": (0, 1, 0), "north": (0, -1, 0)}.items():
        builder.add_half_space(name, HalfSpace(normal=normal, offset=-0.25), rough)
    rng, inertia = np.random.default_rng(seed), RigidInertia.solid_sphere(0.1, 0.05)
    for i in range(30):
        x, y, z = (i % 3 - 1) * 0.12, (i // 3 % 3 - 1) * 0.12, 0.1 + 0.12 * (i // 9)
        place = (x + rng.uniform(-0.005, 0.005), y + rng.uniform(-0.005, 0.005), z, 1, 0, 0, 0)
        builder.add_free_body(f"ball {i}", inertia, Sphere(0.05), rough, place)
    return builder.build()


@pytest.mark.slow
@pytest.mark.xfail(
    strict=True, reason="a step is accepted by its LCP's backward error; mechanically it may be 2e-8 off"
)
def test_every_step_of_a_pile_holds_mechanically_too() -> None:
    """As `verify` asks by default: each condition to 1e-9 of its scale. Of 10 000 contacts some are at 2e-8."""
    recording = simulate(balls(3), TimeStepping(0.005), 2.0)
    assert recording.worst_certificate().scaled < 1e-9
    assert recording.worst_certificate().mechanical < 1e-9
