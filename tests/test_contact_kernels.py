import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from contactlab.collision import ContactError, check_edges, edge_directions
from contactlab.constraint_solver.kernels import rigid_contact_law

normals = (
    arrays(float, 3, elements=st.floats(-1.0, 1.0))
    .filter(lambda n: np.linalg.norm(n) > 1e-3)
    .map(lambda n: n / np.linalg.norm(n))
)


@pytest.mark.nojit
@given(n=normals)
def test_tangents_are_a_right_handed_frame_by_the_stated_rule(n):
    """t1, t2, n are orthonormal with t1 x t2 = n, and t1 leans towards the first axis the normal avoids most."""
    t1, t2 = edge_directions(n, 4)
    frame = np.stack((t1, t2, n))
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(np.cross(t1, t2), n, atol=1e-14)
    x, y, z = np.abs(n)
    axis = 1 if y < x - 1e-9 else 0
    axis = 2 if z < (x, y)[axis] - 1e-9 else axis
    assert t1[axis] == pytest.approx(math.sqrt(1.0 - n[axis] ** 2), abs=1e-14)


@pytest.mark.nojit
@pytest.mark.parametrize("k", [4, 6, 8, 16])
def test_edges_are_evenly_spread_unit_tangents(k):
    """Edge j stands at 2 pi j/k from t1; quarter turns over a floor are exact, so that rows keep their zeros."""
    n = np.array([0.36, -0.48, 0.8])
    (t1, t2), directions = edge_directions(n, 4), edge_directions(n, k)
    np.testing.assert_allclose(directions @ n, 0.0, atol=1e-15)
    angles = np.arctan2(directions @ t2, directions @ t1)
    np.testing.assert_allclose(angles, 2.0 * math.pi * np.arange(k // 2) / k, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0, atol=1e-15)
    assert edge_directions((0, 0, 1), 4).tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("bad", [0, 2, 3, 5, -4, 7])
def test_pyramids_need_an_even_number_of_edges(bad):
    """Odd or too few edges are refused by value."""
    with pytest.raises(ContactError, match=f"edges: must be even and at least 4, got {bad}"):
        check_edges(bad)


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("gap", "vn_minus", "vn_free", "kN"),
    [
        (0.002, -1.0, -1.0, -0.5),  # closes within the step, fast: an impact, v+ >= 0.5
        (0.020, -1.0, -1.0, 2.0),  # does not close: may at most reach the surface, v+ >= -2
        (0.000, -0.01, -0.1, 0.0),  # touching and slow: no rebound
        (0.0005, -0.01, -0.1, 0.05),  # slow, gap left: may close it
        (-0.001, -0.01, -0.1, -0.02),  # penetrating and slow: pushed out by erp gap / h
        (-0.001, -1.0, -1.0, -0.5),  # penetrating and fast: still an impact
        (-0.001, -0.06, -1.0, -0.03),  # an impact that asks for more than the push, not for their sum
        (-0.004, -0.06, -1.0, -0.08),  # the push asks for more than the impact
        (-0.100, -0.01, -0.1, -0.7),  # no faster than the bound
        (-0.001, 1.0, 1.0, -0.02),  # penetrating and leaving
        (0.002, -1.0, 1.0, 0.2),  # approaching, but a drive turns it round before the gap closes
        (0.001, -0.05, -0.2, 0.1),  # at the threshold exactly: not an impact
    ],
)
def test_normal_term_follows_the_rule(gap, vn_minus, vn_free, kN):
    """Each branch of the rule: h = 0.01, e = 0.5, threshold 0.05, erp = 0.2, pushed no faster than 0.7."""
    assert rigid_contact_law(gap, vn_minus, vn_free, 0.01, 0.5, 0.05, 0.2, 0.7) == pytest.approx(kN, rel=1e-14)


@given(drop=st.floats(0.1, 10.0), e=st.floats(0.0, 1.0))
def test_an_impact_rebounds_at_e_times_the_approach(drop, e):
    """The contact closes at N v+ = -kN: the rebound of Newton's law."""
    assert -rigid_contact_law(0.0, -drop, -drop, 1e-3, e, 1e-3, 0.0, 1.0) == e * drop
    assert -rigid_contact_law(0.0, -drop, -drop, 1e-3, e, 1e-3, 0.0, math.inf) == e * drop


@pytest.mark.nojit
def test_an_inelastic_impact_closes_its_gap():
    """With e = 0 a contact closes as any other; with the law of older records it stops at a distance."""
    assert rigid_contact_law(0.5, -400.0, -400.0, 0.002, 0.0, 0.01, 0.0, 1.0) == pytest.approx(250.0)
    assert rigid_contact_law(0.5, -400.0, -400.0, 0.002, 0.0, 0.01, 0.0, math.inf) == 0.0
