"""Rotations, transforms, inertias, and motions and forces in space, against matrices and integrals."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import assert_fields, assert_named

from contactlab.multibody.spatial import RigidInertia, SpatialError, Transform, cross_force, cross_motion, quaternion
from contactlab.multibody.spatial.transform import cross_matrix

entries = st.floats(-1.0, 1.0)
quaternions = arrays(float, 4, elements=entries).filter(lambda q: np.linalg.norm(q) > 1e-3).map(quaternion.normalize)
rotation_vectors = arrays(float, 3, elements=entries).map(lambda a: 1.8 * a)


@given(p=quaternions, q=quaternions)
def test_products_of_quaternions_are_products_of_matrices(p, q):
    """R(p * q) = R(p) R(q), and the conjugate is the transpose."""
    product = quaternion.to_matrix(quaternion.multiply(p, q))
    np.testing.assert_allclose(product, quaternion.to_matrix(p) @ quaternion.to_matrix(q), atol=1e-14)
    np.testing.assert_allclose(quaternion.to_matrix(quaternion.conjugate(q)), quaternion.to_matrix(q).T, atol=1e-15)


@given(q=quaternions)
def test_quaternion_of_a_matrix_is_the_same_rotation(q):
    """from_matrix undoes to_matrix up to the sign, near half turns too."""
    assert quaternion.angle_between(quaternion.from_matrix(quaternion.to_matrix(q)), q) < 1e-14


@given(a=rotation_vectors)
def test_logarithm_undoes_the_exponential(a):
    """Rotation vectors shorter than pi come back; longer ones come back as the shorter turn."""
    back = quaternion.log(quaternion.exp(a))
    if np.linalg.norm(a) < math.pi:
        np.testing.assert_allclose(back, a, rtol=1e-12, atol=1e-300)
    assert np.linalg.norm(back) <= math.pi * (1.0 + 1e-15)


@pytest.mark.parametrize("angle", [0.0, 5e-324, 1e-300, 1e-160, 1e-9, 9.99e-3, 1.001e-2, 1.0, 3.0])
def test_exponential_is_accurate_at_any_angle(angle):
    """The vector part is sin(angle/2) along the axis, to rounding, through the change to the series."""
    axis = np.array([2.0, -3.0, 6.0]) / 7.0
    q = quaternion.exp(angle * axis)
    np.testing.assert_allclose(q[1:], math.sin(angle / 2.0) * axis, rtol=4e-16, atol=1e-323)
    assert abs(q[0] - math.cos(angle / 2.0)) <= 2.3e-16


def test_angle_of_a_tiny_turn_keeps_its_digits():
    """No arc cosine is used: an angle of 1e-10 is recovered up to rounding, and q and -q are the same orientation."""
    q = quaternion.normalize([1.0, 2.0, 3.0, 4.0])
    turned = quaternion.multiply(q, quaternion.exp([0.0, 1e-10, 0.0]))
    assert quaternion.angle_between(q, turned) == pytest.approx(1e-10, rel=1e-5)
    assert quaternion.angle_between(q, -q) == 0.0


@pytest.mark.parametrize("bad", [[0.0, 0.0, 0.0, 0.0], [1.0, math.nan, 0.0, 0.0], [1.0, 0.0, 0.0]])
def test_quaternions_without_direction_are_refused(bad):
    """Zero, NaN and wrong lengths name the argument."""
    assert_fields(
        SpatialError,
        ("q", lambda: quaternion.normalize(bad)),
    )


def test_normalising_survives_tiny_and_huge_entries():
    """Squares that underflow or overflow do not matter."""
    for size in (1e-200, 1e200):
        np.testing.assert_allclose(
            quaternion.normalize([size, 0.0, -size, 0.0]), np.array([1, 0, -1, 0]) / math.sqrt(2)
        )


@given(p=quaternions, q=quaternions, x=rotation_vectors)
def test_transforms_compose_and_invert(p, q, x):
    """(A B) y = A (B y), and the inverse undoes."""
    A, B = Transform(quaternion.to_matrix(p), x), Transform(quaternion.to_matrix(q), -2.0 * x)
    y = np.array([[0.3, -0.2, 0.9], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose((A @ B).apply(y), A.apply(B.apply(y)), atol=1e-13)
    np.testing.assert_allclose(A.inverse().apply(A.apply(y)), y, atol=1e-13)


@pytest.mark.parametrize(
    ("R", "p", "field", "says"),
    [
        (2.0 * np.eye(3), (0, 0, 0), "R", "not a rotation"),
        (-np.eye(3), (0, 0, 0), "R", "reflection"),
        (np.eye(2), (0, 0, 0), "R", r"shape (3, 3), got (2, 2)"),
        (np.eye(3), (0, math.inf, 0), "p", "entry [1] is inf"),
        (np.eye(3), (0, 1j, 0), "p", "complex"),
        (np.eye(3), "abc", "p", "must be numbers"),
    ],
)
def test_poses_that_are_none_name_the_field(R, p, field, says):
    """Scaled, reflected, misshapen and non-finite input."""
    assert_named(SpatialError, field, re.escape(says), lambda: Transform(R, p))


def test_solid_shapes_match_their_integrals():
    """Box and ball against sums over many small cells."""
    half = np.array([0.1, 0.2, 0.4])
    n = 60
    axis = (2.0 * np.arange(n) + 1.0) / n - 1.0
    cells = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)

    def summed(points, mass):
        second = points.T @ points * mass / len(points)
        return np.trace(second) * np.eye(3) - second

    np.testing.assert_allclose(
        RigidInertia.solid_box(2.0, half).inertia, summed(cells * half, 2.0), rtol=1e-3, atol=1e-9
    )
    ball = cells[np.linalg.norm(cells, axis=1) < 1.0]
    np.testing.assert_allclose(
        RigidInertia.solid_sphere(2.0, 0.5).inertia, summed(ball * 0.5, 2.0), rtol=1e-2, atol=1e-9
    )


@pytest.mark.parametrize(
    ("mass", "inertia", "field", "says"),
    [
        (0.0, np.eye(3), "inertia", "inertia without mass"),
        (-1.0, np.eye(3), "mass", "negative, got -1.0"),
        (math.nan, np.eye(3), "mass", "not finite"),
        (1.0, np.diag([1.0, 1.0, -1.0]), "inertia", "a negative moment"),
        (1.0, -np.eye(3), "inertia", "a negative moment"),
        (1.0, np.diag([0.0, 0.0, 0.1]), "inertia", "sum of the others (principal moments 0, 0, 0.1"),
        (1.0, np.diag([1.0, 1.0, 2.1]), "inertia", "sum of the others (principal moments 1, 1, 2.1"),
        (1.0, np.eye(3) + np.triu(np.full((3, 3), 0.1), 1), "inertia", "entry [0, 1] is 0.1, entry [1, 0] is 0.0"),
        (1.0, np.full((3, 3), np.nan), "inertia", "entry [0, 0] is nan"),
        (1.0, [1.0, 1.0, 1.0], "inertia", "shape (3, 3), got (3,)"),
    ],
)
def test_impossible_inertias_name_the_field(mass, inertia, field, says):
    """Every way a mass distribution cannot be."""
    assert_named(SpatialError, field, re.escape(says), lambda: RigidInertia(mass, inertia=inertia))


def test_a_flat_plate_is_allowed():
    """The triangle inequality holds with equality for a lamina, for any axes."""
    R = quaternion.to_matrix(quaternion.normalize([1.0, 0.3, -0.2, 0.5]))
    RigidInertia(1.0, inertia=R @ np.diag([0.3, 0.4, 0.7]) @ R.T)


wide_entries = st.floats(-2.0, 2.0)
sixes = arrays(float, 6, elements=wide_entries)
triples = arrays(float, 3, elements=wide_entries)
transforms = st.builds(lambda a, p: Transform(quaternion.to_matrix(quaternion.exp(a)), p), triples, triples)
masses = st.floats(0.1, 10.0)
halves = arrays(float, 3, elements=st.floats(0.1, 2.0))
inertias = st.builds(lambda m, h, X: RigidInertia.solid_box(m, h).moved(X), masses, halves, transforms)


def motion_cross_matrix(v):
    """The matrix (6, 6) with which ``motion_cross_matrix(v) @ m`` is `cross_motion` (v, m)."""
    w, u = cross_matrix(v[:3]), cross_matrix(v[3:])
    return np.block([[w, np.zeros((3, 3))], [u, w]])


def force_cross_matrix(v):
    """The matrix (6, 6) with which ``force_cross_matrix(v) @ f`` is `cross_force` (v, f)."""
    return -motion_cross_matrix(v).T


@given(v=sixes, m=sixes, f=sixes)
def test_cross_products_are_their_matrices(v, m, f):
    """v x m and v x* f by components, and the duality (v x* f).m = -f.(v x m)."""
    np.testing.assert_allclose(cross_motion(v, m), motion_cross_matrix(v) @ m, atol=1e-14)
    np.testing.assert_allclose(cross_force(v, f), force_cross_matrix(v) @ f, atol=1e-14)
    np.testing.assert_allclose(cross_force(v, f) @ m, -f @ cross_motion(v, m), atol=1e-12)
    np.testing.assert_allclose(cross_motion(v, v), np.zeros(6), atol=1e-14)
    np.testing.assert_allclose(cross_matrix(v[:3]) @ m[:3], np.cross(v[:3], m[:3]), atol=1e-14)


@given(X=transforms, v=sixes, f=sixes)
def test_changes_of_frame_are_their_matrices(X, v, f):
    """Motions and forces change frame by 6x6 matrices inverse to each other, and power does not change."""
    np.testing.assert_allclose(X.apply_motion(v), X.motion_matrix() @ v, atol=1e-13)
    np.testing.assert_allclose(X.apply_force(f), X.force_matrix() @ f, atol=1e-13)
    np.testing.assert_allclose(X.apply_motion_inverse(v), X.force_matrix().T @ v, atol=1e-13)
    np.testing.assert_allclose(X.apply_force_inverse(f), X.motion_matrix().T @ f, atol=1e-13)
    np.testing.assert_allclose(X.apply_motion_inverse(X.apply_motion(v)), v, atol=1e-12)
    np.testing.assert_allclose(X.apply_force_inverse(X.apply_force(f)), f, atol=1e-12)
    np.testing.assert_allclose(X.inverse().motion_matrix() @ X.motion_matrix(), np.eye(6), atol=1e-13)
    np.testing.assert_allclose(X.apply_force(f) @ X.apply_motion(v), f @ v, atol=1e-11)


def test_rotation_about_an_axis():
    """A turn about z takes x towards y; the axis need not have unit length; a quarter turn composes to a half."""
    X = Transform.rotation([0.0, 0.0, 1e-200], 0.3)
    np.testing.assert_allclose(X.R @ [1.0, 0.0, 0.0], [np.cos(0.3), np.sin(0.3), 0.0], atol=1e-15)
    quarter = Transform.rotation([0.0, 3.0, 0.0], np.pi / 2, [1.0, 0.0, 0.0])
    np.testing.assert_allclose((quarter @ quarter).R, np.diag([-1.0, 1.0, -1.0]), atol=1e-15)
    np.testing.assert_allclose(quarter.apply_inverse(quarter.apply([[1.0, 2.0, 3.0]])), [[1.0, 2.0, 3.0]], atol=1e-15)
    with pytest.raises(SpatialError, match="axis"):
        Transform.rotation([0.0, 0.0, 0.0], 1.0)


@given(body=inertias, X=transforms, v=sixes)
def test_spatial_inertia_of_a_body(body, X, v):
    """The 6x6 matrix gives the momentum, reads back as the same body, and changes frame by congruence."""
    scale = np.max(np.abs(body.matrix()))
    np.testing.assert_allclose(body.momentum(v), body.matrix() @ v, atol=1e-13 * scale)
    back = RigidInertia.from_matrix(body.matrix())
    np.testing.assert_allclose(back.com, body.com, atol=1e-14)
    np.testing.assert_allclose(back.inertia, body.inertia, atol=1e-13 * scale)
    congruent = X.force_matrix() @ body.matrix() @ X.inverse().motion_matrix()
    np.testing.assert_allclose(body.moved(X).matrix(), congruent, atol=1e-12 * max(scale, np.max(np.abs(congruent))))


@given(one=inertias, other=inertias, X=transforms)
def test_joined_bodies_add_up(one, other, X):
    """Joining adds spatial inertias in one frame, in either order; separating gives the body back."""
    joined = one.join(other, X)
    expected = one.matrix() + X.force_matrix() @ other.matrix() @ X.inverse().motion_matrix()
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(joined.matrix(), expected, atol=1e-12 * scale)
    swapped = other.join(one, X.inverse()).moved(X)
    np.testing.assert_allclose(swapped.matrix(), expected, atol=1e-12 * scale)
    np.testing.assert_allclose(joined.separate(other, X).matrix(), one.matrix(), atol=1e-10 * scale)


def test_refused_spatial_values():
    """Wrong shapes, a remainder without mass, a matrix that no body has: typed errors naming the field."""
    assert_fields(
        SpatialError,
        ("v", lambda: cross_motion(np.zeros(5), np.zeros(6))),
        ("f", lambda: Transform().apply_force(np.zeros(3))),
    )
    ball = RigidInertia.solid_sphere(1.0, 0.1)
    assert_fields(
        SpatialError,
        ("mass", lambda: ball.separate(ball)),
        ("inertia", lambda: ball.separate(RigidInertia.solid_sphere(0.5, 1.0))),
    )
    wrong = ball.matrix()
    wrong[4, 4] = 2.0
    assert_fields(
        SpatialError,
        ("matrix", lambda: RigidInertia.from_matrix(wrong)),
    )
    assert RigidInertia.from_matrix(np.zeros((6, 6))).mass == 0.0
    with pytest.raises(SpatialError, match="mass"):
        RigidInertia.from_matrix(-ball.matrix(), physical=False)
