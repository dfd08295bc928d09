"""Wrenches of groups: the effect of forces along rows on the bodies."""

import numpy as np
from every_joint import model_with_every_joint
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import assert_messages
from trees import random_transform, random_tree, state

from contactlab.constraints import (
    BodyWrench,
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    DistanceConstraint,
    LoopConstraint,
    constraint_jacobian,
    group_wrenches,
)
from contactlab.multibody import Model, body_pose, point_jacobian_6d, point_position


def generalised(model: Model, q: np.ndarray, entry: BodyWrench, frame: str) -> np.ndarray:
    """Return the effect of one entry on the joints, from its frame and wrench only."""
    body = body_pose(model, q, entry.body)
    in_world = entry.frame if frame == "world" else body @ entry.frame
    wrench = np.concatenate([in_world.R @ entry.wrench[:3], in_world.R @ entry.wrench[3:]])
    return point_jacobian_6d(model, q, entry.body, body.apply_inverse(in_world.p)).T @ wrench


def mixed_set(model: Model, rng: np.random.Generator) -> ConstraintSet:
    """A group of contacts on two points, one of loops on two pairs, a sliding loop and rods, rows interleaved."""
    bodies = [str(body) for body in rng.choice(model.names, 2)]
    ends = [[str(body) for body in rng.choice([*model.names, "world"], 2)] for _ in range(3)]
    frames = [(random_transform(rng), random_transform(rng)) for _ in range(3)]
    rows: list[ContactConstraint | DistanceConstraint | LoopConstraint] = []
    ties = [str(body) for body in rng.choice([*model.names, "world"], 2, replace=False)]
    for k in range(3):
        rows += [ContactConstraint(body, (0.1, 0.2, 0.3), np.eye(3)[k], name="feet") for body in bodies]
        rows += [LoopConstraint(*ends[i], *frames[i], rng.standard_normal(6), name="loops") for i in (0, 1)]
        rows += [LoopConstraint(*ends[2], *frames[2], rng.standard_normal(6), name="slider", sliding=True)]
        rows += [DistanceConstraint(ties[0], rng.uniform(-1, 1, 3), ties[1], (0.1, 0.2, 0.3), 1.0, name="rods")]
    return ConstraintSet(model, rows)


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_wrenches_are_the_groups_generalised_force(seed: int) -> None:
    """In each of the three frames, the wrenches of a group sum up to G^T lambda of its rows."""
    model = random_tree(seed)
    q, _, _ = state(model, seed)
    rng = np.random.default_rng(seed)
    cs = mixed_set(model, rng)
    forces = rng.standard_normal(len(cs))
    G = constraint_jacobian(model, q, cs)
    for group in cs.groups:
        expected = G[group.rows].T @ forces[group.rows]
        for frame in ("body", "world", "constraint"):
            entries = group_wrenches(model, q, cs, forces, group.name, frame=frame)  # type: ignore[arg-type]
            total = sum(generalised(model, q, entry, frame) for entry in entries)
            np.testing.assert_allclose(total, expected, rtol=1e-10, atol=1e-11)


def test_a_contact_pushes_its_body_and_the_world() -> None:
    """Two entries per point: the force at the point on the body, the opposite one on the world at the same place."""
    model = model_with_every_joint()
    q, _, _ = state(model, 2)
    rows = [ContactConstraint("foot", (0.1, 0.2, 0.3), n, name="foot") for n in np.eye(3)]
    cs = ConstraintSet(model, rows)
    place, R = point_position(model, q, "foot", (0.1, 0.2, 0.3)), body_pose(model, q, "foot").R
    foot, ground = group_wrenches(model, q, cs, [1.0, 2.0, 3.0], "foot", frame="world")
    assert (foot.body, ground.body) == ("foot", "world")
    np.testing.assert_allclose(foot.wrench, [0, 0, 0, 1, 2, 3])
    np.testing.assert_allclose(ground.wrench, [0, 0, 0, -1, -2, -3])
    for entry in (foot, ground):
        np.testing.assert_allclose(entry.frame.p, place)
        np.testing.assert_array_equal(entry.frame.R, np.eye(3))
    foot, ground = group_wrenches(model, q, cs, [1.0, 2.0, 3.0], "foot")
    np.testing.assert_allclose(foot.wrench[3:], R.T @ [1, 2, 3])
    np.testing.assert_allclose(foot.frame.p, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(foot.frame.R, np.eye(3))
    np.testing.assert_allclose(ground.frame.p, place)
    foot, _ = group_wrenches(model, q, cs, [1.0, 2.0, 3.0], "foot", frame="constraint")
    np.testing.assert_allclose(foot.wrench[3:], [1, 2, 3], atol=1e-14)
    np.testing.assert_allclose(foot.frame.R, R.T)


def test_bad_requests_are_named() -> None:
    """Unknown groups and frames and forces of the wrong length raise, naming the argument."""
    model = model_with_every_joint()
    q, _, _ = state(model, 5)
    cs = ConstraintSet(model, [ContactConstraint("foot", (0, 0, 0), (0, 0, 1), name="foot")])
    assert_messages(
        ConstraintError,
        ("group: no group is called 'foo'; close: 'foot'", lambda: group_wrenches(model, q, cs, [1.0], "foo")),
        ("frame: must be one of", lambda: group_wrenches(model, q, cs, [1.0], "foot", frame="root")),
        (r"forces: must have shape \(1,\), got \(3,\)", lambda: group_wrenches(model, q, cs, [1.0, 2.0, 3.0], "foot")),
        ("cs: these constraints belong to another model", lambda: group_wrenches(random_tree(1), q, cs, [1.0], "foot")),
    )
