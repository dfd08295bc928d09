import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import assert_fields

from contactlab.spatial import RigidInertia, SpatialError, Transform, cross_force, cross_motion, quaternion
from contactlab.spatial.transform import cross_matrix

entries = st.floats(-2.0, 2.0)
sixes = arrays(float, 6, elements=entries)
triples = arrays(float, 3, elements=entries)
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
