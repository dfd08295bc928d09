"""Constraints of one's own in worlds: which trees they join, and what happens where they act on others."""

from __future__ import annotations

import joint_scenes as scenes
import numpy as np
import pytest

from contactlab.constraints import CustomConstraint
from contactlab.multibody import ModelBuilder, joints
from contactlab.simulation import SimulationConfigError, TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia


class Together(CustomConstraint):
    """Two carts keep their distance, from a time on and not before."""

    rows = 1

    def __init__(self, a, b, since=-np.inf):
        self.a, self.b, self.since = a, b, since

    def jacobian(self, model, q, t=0.0):
        G = np.zeros((1, model.nv))
        G[0, model.v_slice(self.a)] = 1.0
        G[0, model.v_slice(self.b)] = -1.0 if t >= self.since else 0.0
        return G

    def gamma(self, model, q, v):
        return np.zeros(1)

    def velocity_error(self, model, q, v, t=0.0):
        return self.jacobian(model, q, t) @ v


def carts():
    """Three carts with speeds of their own, three trees."""
    builder = WorldBuilder((0.0, 0.0, 0.0), **scenes.FAST)
    for name, speed in (("a", 1.0), ("b", 3.0), ("c", 5.0)):
        one = ModelBuilder((0.0, 0.0, 0.0)).add_body(
            name, joint=joints.Prismatic((1, 0, 0)), inertia=RigidInertia(1.0, (0, 0, 0), inertia=np.eye(3))
        )
        builder.add_model(one.build(), [0.0], [speed])
    return builder


@pytest.mark.parametrize(("bodies", "trees"), [(None, (0, 2)), (["a", "c"], (0, 2)), (["a", "b", "c"], (0, 1, 2))])
def test_a_constraint_joins_the_trees_it_acts_on(bodies, trees):
    """Those that are named, or else those that its Jacobian tells; the motion is the same."""
    builder = carts()
    builder.add_loop(Together("a", "c"), bodies=bodies)
    world = builder.build()
    assert [row.trees for row in world.joint_rows] == [trees]
    recording = simulate(world, TimeStepping(1e-2), steps=5)
    np.testing.assert_allclose(recording.v[-1], [3.0, 3.0, 3.0], rtol=0, atol=1e-14)
    assert verify(recording).holds


@pytest.mark.parametrize("bodies", [None, ["a"]])
def test_a_constraint_that_leaves_its_trees_stops_the_run(bodies):
    """The error names the body and what to give; with all bodies named the run goes on."""
    builder = carts()
    builder.add_loop(Together("a", "c", since=1.0), bodies=bodies)
    with pytest.raises(SimulationConfigError, match=r"Together acts on 'c' at time 1.*bodies=") as caught:
        simulate(builder.build(), TimeStepping(0.125), steps=20)
    assert caught.value.field == "bodies"
    builder = carts()
    builder.add_loop(Together("a", "c", since=1.0), bodies=["a", "c"])
    assert simulate(builder.build(), TimeStepping(0.125), steps=20).v[-1, [0, 2]] == pytest.approx([2.5, 2.5])


class Fragile(Together):
    """One that cannot be asked away from the start."""

    def jacobian(self, model, q, t=0.0):
        if np.abs(q).max() > 0.2:
            raise RuntimeError("not made for this")
        return super().jacobian(model, q, t)


def test_a_constraint_that_cannot_be_asked_is_about_all_trees():
    """Where its Jacobian raises near the start, nothing is left out."""
    builder = carts()
    builder.add_loop(Fragile("a", "c"))
    world = builder.build()
    assert [row.trees for row in world.joint_rows] == [(0, 1, 2)]
    assert simulate(world, TimeStepping(1e-2), steps=2).v[-1] == pytest.approx([3.0, 3.0, 3.0])
