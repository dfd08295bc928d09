"""Rows of Jacobians that follow the branches of the tree, as sparse matrices."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from contactlab.formulation.bridge.branches import Instantaneous
from contactlab.spatial.arrays import FloatArray, IntArray

#: A scipy ``csr_array`` of float64; to a type checker its products are of every kind at once.
SparseRows: TypeAlias = Any


def sparse_rows(rows: IntArray, columns: IntArray, values: FloatArray, shape: tuple[int, int]) -> SparseRows:
    """A sparse matrix from its entries; those of one place are added, and what is zero then is not kept."""
    from scipy.sparse import coo_array

    matrix = coo_array((values, (rows, columns)), shape=shape).tocsr()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def pair_rows(
    at: Instantaneous,
    directions: FloatArray,
    link_a: IntArray,
    x_a: FloatArray,
    link_b: IntArray,
    x_b: FloatArray,
    nv: int,
) -> SparseRows:
    """Rows d . (J_B - J_A) of directions d (m, 3), J being the Jacobians of points x (m, 3) of two links.

    The branches that carry the two links are all that is read and written: O(depth) per row.
    """
    parts = [_half(at, directions, link_b, x_b), _half(at, -directions, link_a, x_a)]
    rows, columns, values = (np.concatenate(same) for same in zip(*parts, strict=True))
    return sparse_rows(rows, columns, values, (directions.shape[0], nv))


def _half(
    at: Instantaneous, directions: FloatArray, links: IntArray, x: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Entries of d . J of one link each: S_j . (r x d, d) for the degrees of freedom j below the link."""
    rows, columns = _places(at, links)
    force = np.concatenate([np.cross(at.arms(links, x), directions), directions], axis=1)
    return rows, columns, np.einsum("jk,jk->j", at.S[columns], force[rows])


def _places(at: Instantaneous, links: IntArray) -> tuple[IntArray, IntArray]:
    """Rows and columns of the entries of one row for each link: the degrees of freedom below it."""
    paths = [at.branches.path(link) for link in links.tolist()]
    rows = np.repeat(np.arange(len(paths)), [path.size for path in paths])
    return rows, np.concatenate([np.zeros(0, dtype=np.int64), *paths])


def turning_rows(at: Instantaneous, directions: FloatArray, link_a: IntArray, link_b: IntArray, nv: int) -> SparseRows:
    """Rows d . (w_B - w_A) of directions d (m, 3), w being the angular velocities of two links."""
    parts = []
    for sign, links in ((1.0, link_b), (-1.0, link_a)):
        rows, columns = _places(at, links)
        parts.append((rows, columns, sign * np.einsum("jk,jk->j", at.S[columns, :3], directions[rows])))
    rows, columns, values = (np.concatenate(same) for same in zip(*parts, strict=True))
    return sparse_rows(rows, columns, values, (directions.shape[0], nv))


def unit_rows(columns: IntArray, signs: FloatArray, nv: int) -> SparseRows:
    """One entry per row."""
    return sparse_rows(np.arange(columns.size), columns, signs, (columns.size, nv))
