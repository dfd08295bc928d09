"""Rows of contacts and loops: Jacobian, bias, errors, stabilisation, and the wrenches of groups."""

import numpy as np
import pytest
from every_joint import model_with_every_joint, moved
from hypothesis import given, settings
from hypothesis import strategies as st
from random_rows import random_distance, random_set
from refusals import assert_messages
from trees import random_transform, random_tree, state

from contactlab.multibody import (
    Model,
    ModelBuilder,
    body_pose,
    joints,
    point_jacobian_6d,
    point_position,
)
from contactlab.multibody.constraints import (
    Baumgarte,
    BodyWrench,
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    DistanceConstraint,
    LoopConstraint,
    baumgarte_term,
    constraint_gamma,
    constraint_jacobian,
    constraint_position_error,
    constraint_velocity_error,
    group_wrenches,
)
from contactlab.multibody.spatial import RigidInertia, Transform

SIX = np.eye(6)
STEP = 1e-5


def pendulum(length: float = 2.0) -> Model:
    """A rod turning about the world's z axis, gravity along -y."""
    builder = ModelBuilder((0.0, -10.0, 0.0))
    inertia = RigidInertia(3.0, (0.5 * length, 0, 0), inertia=np.diag([0.2, 0.3, 0.4]))
    return builder.add_body("rod", joint=joints.Revolute((0, 0, 1)), inertia=inertia).build()


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_gamma_is_what_is_left_of_the_rows_rate(seed: int) -> None:
    """Central differences of G v along any motion are G a - gamma, of every kind of row."""
    model = random_tree(seed)
    q, v, a = state(model, seed)
    cs = random_set(model, np.random.default_rng(seed))
    before, after = (constraint_velocity_error(model, moved(model, q, v, a, h), v + h * a, cs) for h in (-STEP, STEP))
    expected = constraint_jacobian(model, q, cs) @ a - (constraint_gamma(model, q, v, cs) - cs.accelerations)
    scale = 1.0 + np.abs(expected)
    np.testing.assert_allclose((after - before) / (2 * STEP) / scale, expected / scale, rtol=0, atol=2e-7)


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_rows_of_a_closed_loop_are_the_rates_of_its_errors(seed: int) -> None:
    """Where two frames lie on each other, the errors of all six rows are zero and change by G v, for any v."""
    model = random_tree(seed)
    q, v, a = state(model, seed)
    rng = np.random.default_rng(seed)
    one, two = rng.choice([*model.names, "world"], 2)
    X_p = random_transform(rng)
    X_s = body_pose(model, q, two).inverse() @ body_pose(model, q, one) @ X_p
    cs = ConstraintSet(model, [LoopConstraint(str(one), str(two), X_p, X_s, axis) for axis in SIX])
    np.testing.assert_allclose(constraint_position_error(model, q, cs), 0.0, atol=1e-12)
    before, after = (constraint_position_error(model, moved(model, q, v, a, h), cs) for h in (-STEP, STEP))
    np.testing.assert_allclose((after - before) / (2 * STEP), constraint_velocity_error(model, q, v, cs), atol=1e-6)


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_sliding_loops_and_distances_are_the_integrals_of_their_rows_anywhere(seed: int) -> None:
    """Wherever points and frames are, translations of sliding loops and distances change by G v."""
    model = random_tree(seed)
    q, v, a = state(model, seed)
    rng = np.random.default_rng(seed)
    one, two = (str(body) for body in rng.choice([*model.names, "world"], 2))
    X_p, X_s = random_transform(rng), random_transform(rng)
    loops = [LoopConstraint(one, two, X_p, X_s, axis, sliding=True) for axis in SIX[3:]]
    cs = ConstraintSet(model, [*loops, random_distance(model, rng)])
    before, after = (constraint_position_error(model, moved(model, q, v, a, h), cs) for h in (-STEP, STEP))
    np.testing.assert_allclose((after - before) / (2 * STEP), constraint_velocity_error(model, q, v, cs), atol=1e-6)


@pytest.mark.nojit
def test_points_that_coincide_have_no_row() -> None:
    """Without a line row and bias are 0, at any speed."""
    model = pendulum()
    cs = ConstraintSet(model, [DistanceConstraint("world", (2.0, 0, 0), "rod", (2.0, 0, 0), 0.5)])
    assert constraint_jacobian(model, [0.0], cs)[0, 0] == 0.0
    assert constraint_gamma(model, [0.0], [3.0], cs)[0] == 0.0
    assert constraint_position_error(model, [0.0], cs)[0] == -0.5
    G = constraint_jacobian(model, [0.3], cs)[0, 0]
    np.testing.assert_allclose(G, 2.0 * np.cos(0.15), rtol=1e-12)  # chord 2 r sin(angle / 2)
    np.testing.assert_allclose(constraint_gamma(model, [0.3], [3.0], cs)[0], 9.0 * np.sin(0.15), rtol=1e-12)


@pytest.mark.nojit
def test_pendulum_tip_by_hand() -> None:
    """G, gamma and errors of a rod's tip are the sines and cosines one writes down."""
    model, length, angle, rate = pendulum(), 2.0, 0.7, 1.3
    s, c = np.sin(angle), np.cos(angle)
    tip = [
        ContactConstraint("rod", (length, 0, 0), n, acceleration=g) for n, g in ((SIX[0, :3], 0.0), (SIX[1, :3], 5.0))
    ]
    loop = [
        LoopConstraint("world", "rod", Transform(p=(1, 1, 0)), Transform(p=(length, 0, 0)), axis, baumgarte=pull)
        for axis, pull in ((SIX[2], None), (SIX[3], 0.5), (SIX[4], Baumgarte(3.0, 4.0)))
    ]
    cs = ConstraintSet(model, [*tip, *loop])
    q, v = [angle], [rate]
    G = np.array([-length * s, length * c, 1.0, -length * s, length * c])
    phi = np.array([0.0, 0.0, s, length * c - 1.0, length * s - 1.0])
    free = np.array([length * c * rate**2, 5.0 + length * s * rate**2, 0.0, length * c * rate**2, length * s * rate**2])
    pull = np.zeros(5)
    pull[3] = -2 * 2.0 * G[3] * rate - 2.0**2 * phi[3]
    pull[4] = -2 * 3.0 * G[4] * rate - 4.0**2 * phi[4]
    np.testing.assert_allclose(constraint_jacobian(model, q, cs)[:, 0], G, atol=1e-14)
    np.testing.assert_allclose(constraint_position_error(model, q, cs), phi, atol=1e-14)
    np.testing.assert_allclose(constraint_velocity_error(model, q, v, cs), G * rate, atol=1e-14)
    np.testing.assert_allclose(baumgarte_term(model, q, v, cs), pull, atol=1e-13)
    np.testing.assert_allclose(constraint_gamma(model, q, v, cs), free + pull, atol=1e-13)
    np.testing.assert_allclose(
        constraint_gamma(model, q, v, cs, accelerations=[1.0, 2.0, 3.0, 0.0, 0.0]),
        free + pull + [1.0, -3.0, 3.0, 0.0, 0.0],
        atol=1e-13,
    )


def test_nothing_is_lost_far_from_the_world_origin() -> None:
    """A mechanism a thousand kilometres away has the rows it has at home, as exactly as places are known there."""

    def built(at: float) -> Model:
        rng = np.random.default_rng(1)
        builder = ModelBuilder()
        for name, parent, joint in (
            ("base", "world", joints.FloatingBase()),
            ("arm", "base", joints.Revolute((1, 2, 3))),
            ("hand", "arm", joints.EulerZYX()),
            ("leg", "base", joints.Helical((0, 1, 1), 0.3)),
        ):
            place = Transform(p=(at, at, 0)) if parent == "world" else random_transform(rng)
            inertia = RigidInertia(1.0, inertia=np.eye(3))
            builder.add_body(name, parent=parent, joint=joint, placement=place, inertia=inertia)
        return builder.build()

    near, far = built(0.0), built(1e6)
    q, v, _ = state(near, 4)
    rng = np.random.default_rng(4)
    frames = random_transform(rng), random_transform(rng)
    rows = [LoopConstraint("hand", "leg", *frames, axis) for axis in SIX]
    rows += [ContactConstraint("leg", (1, 2, 3), n) for n in np.eye(3)]
    one, two = ConstraintSet(near, rows), ConstraintSet(far, rows)
    np.testing.assert_allclose(constraint_jacobian(far, q, two), constraint_jacobian(near, q, one), atol=2e-9)
    np.testing.assert_allclose(constraint_gamma(far, q, v, two), constraint_gamma(near, q, v, one), atol=2e-8)


def test_rows_that_nothing_moves_are_exactly_zero() -> None:
    """Frames on one link, on the world, on fixed bodies: legal rows, zero to the last bit, as are shared ancestors."""
    model = random_tree(21, bodies=7)
    q, v, _ = state(model, 21)
    rng = np.random.default_rng(21)
    frames = random_transform(rng), random_transform(rng)
    for one, two in (("world", "world"), ("world", "ground"), ("ground", "ground"), ("b3", "tool"), ("b2", "b2")):
        cs = ConstraintSet(model, [LoopConstraint(one, two, *frames, axis, sliding=True) for axis in SIX])
        assert not constraint_jacobian(model, q, cs).any()
        np.testing.assert_allclose(constraint_gamma(model, q, v, cs), 0.0, atol=1e-12)
        own = ConstraintSet(model, [LoopConstraint(one, two, *frames, axis) for axis in SIX[:3]])
        assert not constraint_jacobian(model, q, own).any()
    still = ConstraintSet(model, [ContactConstraint("ground", (1, 2, 3), (0, 0, 1))])
    assert not constraint_jacobian(model, q, still).any()
    assert constraint_gamma(model, q, v, still) == 0.0


def test_the_rotation_error_is_a_sine() -> None:
    """Turned by 30 degrees the error is one half, by 180 degrees zero again, as documented."""
    model = pendulum()
    cs = ConstraintSet(model, [LoopConstraint("world", "rod", None, None, SIX[2])])
    for angle, error in ((np.pi / 6, 0.5), (np.pi / 2, 1.0), (np.pi, 0.0)):
        np.testing.assert_allclose(constraint_position_error(model, [angle], cs), [error], atol=1e-15)


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
    place = point_position(model, q, "foot", (0.1, 0.2, 0.3))
    foot, ground = group_wrenches(model, q, cs, [1.0, 2.0, 3.0], "foot", frame="world")
    assert (foot.body, ground.body) == ("foot", "world")
    np.testing.assert_allclose(foot.wrench, [0, 0, 0, 1, 2, 3])
    np.testing.assert_allclose(ground.wrench, [0, 0, 0, -1, -2, -3])
    for entry in (foot, ground):
        np.testing.assert_allclose(entry.frame.p, place)
        np.testing.assert_array_equal(entry.frame.R, np.eye(3))


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
