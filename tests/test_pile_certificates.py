"""A step of a pile is accepted as an LCP, and holds mechanically too."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.contact import HalfSpace, Material, Sphere
from contactlab.simulation import TimeStepping, World, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia
from lcp.contacts.strategies import RECORDED


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
@pytest.mark.parametrize("seed", [2, 3])
def test_every_step_of_a_pile_holds_mechanically_too(seed: int) -> None:
    """As `verify` asks by default: each condition to 1e-9 of its scale, also where forces selected come to 2e-8."""
    recording = simulate(balls(seed), TimeStepping(0.005), 2.0)
    assert recording.worst_certificate().scaled < 1e-9
    assert recording.worst_certificate().mechanical < 1e-9
    assert verify(recording).holds
    # Counted from 1 in a record: islands that the attempts of most islands have left to the later ones.
    later = np.flatnonzero(recording.rows["island_attempt"] > RECORDED.index("active_set") + 1)
    assert later.size
    # The public path doubts them as the step does, and finds the same forces.
    for row in later:
        i, j = recording.rows["island_step"][row], recording.rows["island_index"][row]
        solution = TimeStepping(0.005).constraint_solver.solve_discretized_problem(
            recording.problem(i, j), recording.h[i], z0=recording.warm_start(i, j)
        )
        assert np.array_equal(solution.result.z, recording.z(i, j))
        assert np.array_equal(solution.v_plus, recording.v_plus(i, j))
