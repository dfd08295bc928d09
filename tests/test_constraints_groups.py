"""Contacts in every grouping that the test-force kernel distinguishes: lanes, links, points, small and large sets."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.constraints import ConstraintSet, ContactConstraint, forward_dynamics_constraints
from contactlab.multibody import joints
from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.configuration import random_configuration
from contactlab.multibody.model import Model
from contactlab.spatial import RigidInertia, Transform


def tree(branches: int, length: int) -> Model:
    """A floating body with branches of revolute joints."""
    rng = np.random.default_rng(0)
    builder = ModelBuilder().add_body(
        "base", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(2.0, (0.3, 0.2, 0.1))
    )
    for branch in range(branches):
        parent = "base"
        for k in range(length):
            name = f"{branch}.{k}"
            builder.add_body(
                name,
                parent=parent,
                joint=joints.Revolute(rng.standard_normal(3)),
                placement=Transform(np.eye(3), rng.uniform(-0.3, 0.3, 3)),
                inertia=RigidInertia.solid_box(1.0, (0.1, 0.2, 0.3)),
            )
            parent = name
    return builder.build()


@pytest.mark.parametrize(
    ("branches", "length", "bodies"),
    [
        (2, 3, ["0.2"]),
        (2, 3, ["0.2", "0.2", "1.2", "0.2", "1.2", "base"]),  # interleaved
        (2, 6, ["0.5"] * 6 + ["1.5"] * 3),  # more rows of a link than a vector has lanes
        (4, 9, [f"{k % 4}.{8 - k // 12}" for k in range(30)]),  # too many for the plain solver
        (5, 20, [f"{k % 5}.19" for k in range(12)]),  # too long for the stack
    ],
)
def test_unit_forces_agree_with_the_direct_method(branches: int, length: int, bodies: list[str]) -> None:
    """Accelerations, forces and rank, with Baumgarte and wanted accelerations."""
    model, rng = tree(branches, length), np.random.default_rng(1)
    rows = []
    for body in bodies:
        normal = rng.standard_normal(3)
        normal /= np.linalg.norm(normal)
        rows.append(ContactConstraint(body, rng.uniform(-0.3, 0.3, 3), normal, acceleration=rng.standard_normal()))
    cs = ConstraintSet(model, rows)
    for group in cs.groups[::2]:
        cs = cs.with_baumgarte(group.name, 0.1)
    q, v, tau = random_configuration(model, rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    one = forward_dynamics_constraints(model, q, v, tau, cs, method="kokkevis")
    two = forward_dynamics_constraints(model, q, v, tau, cs, method="direct")
    assert one.rank == two.rank == len(bodies)
    assert one.residual < 1e-11
    np.testing.assert_allclose(one.a, two.a, rtol=1e-8, atol=1e-8 * np.abs(two.a).max())
    np.testing.assert_allclose(one.forces, two.forces, rtol=1e-8, atol=1e-8 * np.abs(two.forces).max())


def test_points_of_a_link_share_groups_of_four() -> None:
    """Six single rows of one link are two groups, whichever points they are of."""
    model = tree(1, 2)
    rows = [ContactConstraint("0.1", (k, 0, 0), (0, 0, 1)) for k in range(6)]
    assert ConstraintSet(model, rows).packed.groups == 2
    assert ConstraintSet(model, [*rows[:4], ContactConstraint("base", (0, 0, 0), (0, 0, 1))]).packed.groups == 2
