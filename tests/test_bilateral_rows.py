"""Elimination of bilateral rows: rank, minimum norm, units, and rows they determine fully."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.formulation.blocks import factor_bilateral_rows, unilateral_rows
from problem_data import ConstraintVelProblemData


def inertia(rng: np.random.Generator, nv: int) -> np.ndarray:
    root = rng.normal(size=(nv, nv))
    return np.linalg.inv(root @ root.T + nv * np.eye(nv))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("nb", "rank"), [(1, 1), (4, 4), (5, 3), (6, 1), (9, 6)])
def test_pseudo_inverse_is_that_of_the_delassus_matrix(seed: int, nb: int, rank: int) -> None:
    """W+ meets the four conditions of Penrose and the rank is found, redundant rows included."""
    rng = np.random.default_rng(seed)
    Minv = inertia(rng, 6)
    G = rng.normal(size=(nb, rank)) @ rng.normal(size=(rank, 6))
    rows = factor_bilateral_rows(G, G @ Minv)
    W, P = G @ Minv @ G.T, rows.W_pinv
    assert rows.rank == rank
    np.testing.assert_allclose(W @ P @ W, W, atol=1e-9 * np.abs(W).max())
    np.testing.assert_allclose(P @ W @ P, P, atol=1e-9 * np.abs(P).max())
    np.testing.assert_allclose(P @ W, (P @ W).T, atol=1e-9)


def test_rank_does_not_depend_on_the_units_of_the_rows() -> None:
    """Rows scaled by 1e-9 to 1e9 keep rank and motion."""
    rng = np.random.default_rng(5)
    Minv = inertia(rng, 6)
    G = rng.normal(size=(4, 6))
    G[3] = G[0] + G[1]
    units = np.array([1e-9, 1.0, 1e9, 1e4])
    rows = factor_bilateral_rows(units[:, None] * G, units[:, None] * G @ Minv)
    plain = factor_bilateral_rows(G, G @ Minv)
    assert rows.rank == plain.rank == 3
    v = rng.normal(size=6)
    np.testing.assert_allclose(
        rows.project_velocity(v, np.zeros(4)), plain.project_velocity(v, np.zeros(4)), atol=1e-10
    )


def test_duplicated_rows_share_their_impulse() -> None:
    """The multiplier has minimum norm: two equal rows carry half each, a zero row carries nothing."""
    G = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    rows = factor_bilateral_rows(G, G / 2.0)
    impulses, v = rows.add_impulses(np.array([-3.0, 0.0]), np.zeros(3))
    np.testing.assert_allclose(impulses, [3.0, 3.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(v, 0.0, atol=1e-14)
    assert rows.rank == 1


def test_a_row_that_the_bilateral_rows_determine_becomes_a_number() -> None:
    """A contact row that repeats a bilateral row has no response left and an exact zero rate, not rounding."""
    rng = np.random.default_rng(2)
    G = rng.normal(size=(2, 5))
    kG = rng.normal(size=2)
    data = ConstraintVelProblemData(
        solve_inertia=inertia(rng, 5),
        Mv=rng.normal(size=5),
        N=np.vstack((G.sum(0), rng.normal(size=5))),
        kN=[kG.sum(), 0.0],
        G=G,
        kG=kG,
    )
    rows = unilateral_rows(data.blocks())
    k, _ = rows.terms(data.blocks())
    assert rows.locked.tolist() == [1, 0]
    assert not rows.Y[0].any()
    assert k[0] == 0.0


def test_without_bilateral_rows_the_blocks_pass_through_uncopied() -> None:
    """The kernels read the problem's own arrays."""
    data = ConstraintVelProblemData(M=np.eye(2), Mv=[0.0, -1.0], N=[[0.0, 1.0]])
    blocks = data.blocks()
    rows = unilateral_rows(blocks)
    assert rows.J is blocks.J
    assert rows.Y is blocks.Y
    assert rows.terms(blocks) == (blocks.k, blocks.v_free)
