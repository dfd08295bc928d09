"""A model's tree as plain arrays: which degrees of freedom move a body, and how fast its points then move.

Where a point of a link is concerned, only the degrees of freedom between the link and the root count. A model of a
thousand bodies has rows of six or twelve entries, in sparse matrices; nothing of the length of v is formed here for one
contact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from contactlab.multibody.kernels.codes import head_size
from contactlab.multibody.kinematics import Kinematics, at_state
from contactlab.multibody.model import Model
from contactlab.multibody.packing import Structure, body_frames, head_views, structure
from contactlab.spatial.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Branches:
    """The tree, and the poses of the bodies in their links."""

    tree: Structure
    body_R: FloatArray
    body_p: FloatArray
    _paths: dict[int, IntArray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, model: Model) -> Branches:
        """Return the arrays of a model."""
        return cls(structure(model), *body_frames(model))

    def path(self, link: int) -> IntArray:
        """Degrees of freedom that move a link, ascending; none for the world (-1)."""
        path = self._paths.get(link)
        if path is None:
            path = self.up_from(int(self.tree.iv[link + 1]) - 1) if link >= 0 else np.zeros(0, dtype=np.int64)
            self._paths[link] = path
        return path

    def tree_starts(self) -> IntArray:
        """First velocity of each tree, then nv; trees whose velocities alternate are one."""
        parent = self.tree.dof_parent
        own = np.arange(parent.size)
        # The earliest velocity that one of these or of those behind them hangs on.
        earliest = np.minimum.accumulate(np.where(parent < 0, own, parent)[::-1])[::-1]
        return np.append(own[earliest == own], parent.size)

    def up_from(self, dof: int) -> IntArray:
        """Return a degree of freedom with all below it, ascending."""
        path: list[int] = []
        while dof >= 0:
            path.append(dof)
            dof = int(self.tree.dof_parent[dof])
        return np.array(path[::-1], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Instantaneous:
    """Places and motions of all links at one q and v: world axes, spatial vectors about the root link's origin."""

    branches: Branches
    S: FloatArray  # (nv, 6) motion columns
    #: R, p: (nl, 3, 3) and (nl, 3) poses of the links.
    R: FloatArray
    p: FloatArray
    #: V, A: (nl, 6) spatial velocities, and spatial accelerations at a = 0 without gravity.
    V: FloatArray
    A: FloatArray

    def poses(self, bodies: IntArray) -> tuple[FloatArray, FloatArray]:
        """R (m, 3, 3) and origins (m, 3) of added bodies in the world; -1 is the world itself."""
        R = np.tile(np.eye(3), (bodies.size, 1, 1))
        p = np.zeros((bodies.size, 3))
        some = np.flatnonzero(bodies >= 0)
        body = bodies[some]
        R[some], p[some] = self.branches.body_R[body], self.branches.body_p[body]
        body_link = self.branches.tree.body_link
        moving = body_link[body] >= 0
        some, link = some[moving], body_link[body[moving]]
        p[some] = self.p[link] + np.einsum("mij,mj->mi", self.R[link], p[some])
        R[some] = self.R[link] @ R[some]
        return R, p

    def links(self, bodies: IntArray) -> IntArray:
        """Link that carries each body, -1 for the world and for bodies fixed to it."""
        out = np.full(bodies.size, -1, dtype=np.int64)
        out[bodies >= 0] = self.branches.tree.body_link[bodies[bodies >= 0]]
        return out

    def arms(self, links: IntArray, x: FloatArray) -> FloatArray:
        """x (m, 3) seen from the origin that each link's spatial vectors refer to."""
        out = np.array(x)
        moving = links >= 0
        out[moving] -= self.p[self.branches.tree.root[links[moving]]]
        return out

    def velocities(self, links: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Angular velocities (m, 3) of links and velocities (m, 3) of their points that are at x (m, 3)."""
        return self._field(self.V, links, x)

    def bias_accelerations(self, links: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return angular and linear accelerations (m, 3) at a = 0, as `point_bias_acceleration_6d` does."""
        angular, linear = self._field(self.A, links, x)
        w, u = self._field(self.V, links, x)
        return angular, linear + np.cross(w, u)

    def _field(self, spatial: FloatArray, links: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        out = np.zeros((links.size, 6))
        moving = links >= 0
        out[moving] = spatial[links[moving]]
        return out[:, :3], out[:, 3:] + np.cross(out[:, :3], self.arms(links, x))


def instantaneous(model: Model, kin: Kinematics) -> Instantaneous:
    """Return the arrays of a `Kinematics` that has velocities."""
    nl, nv = model.packed.nl, model.nv
    head = at_state(model, kin, kin.v, head_size(nl, nv))[3]
    S, R, p, V, C = head_views(head, model)
    branches = Branches.of(model)
    parent, A = branches.tree.parent, C.copy()
    for i in np.flatnonzero(parent >= 0):  # parents come first
        A[i] += A[parent[i]]
    return Instantaneous(branches, S, R.reshape(nl, 3, 3), p, V, A)


#: A scipy ``csr_array`` of float64; to a type checker its products are of every kind at once.
SparseRows: TypeAlias = Any


def sparse_rows(rows: IntArray, columns: IntArray, values: FloatArray, shape: tuple[int, int]) -> SparseRows:
    """Return a sparse matrix from its entries; entries of one position are added, and zeros are dropped."""
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
