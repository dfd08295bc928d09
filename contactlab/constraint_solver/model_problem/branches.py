"""Sparse rows of a model's tree, and their Delassus matrix through the tree.

Only the degrees of freedom between a link and the root move a point of the link. A model of a thousand bodies has rows
of six or twelve entries in sparse matrices. No array of length nv is formed for one contact.

The Delassus matrix is W = J M^-1 J^T; neither M nor its inverse is formed.

The articulated-body recursion eliminates the degrees of freedom j one by one, from the last to the first, and yields M
= L^T D L with a unit lower triangular L: S_j, U_j and D_j as in `contactlab.multibody.kernels.dynamics`. Its inward
sweep is the product with L^-T. So with E^T = L^-T J^T

    W = E D^-1 E^T,    e_j = J_j - S_j . p_j,    p of j's parent gathers p_j + U_j e_j / D_j

for each row of J. e is nonzero only on the branches of J's entries, down to the root (Featherstone 2008, sections 6.5
and 7.3). This is the innovations factorisation of Rodriguez and Kreutz-Delgado, Spatial operator factorization and
inversion of the manipulator mass matrix, IEEE Transactions on Robotics and Automation 8(1), 1992. W couples two rows
only if their branches meet, so it has the smallest possible number of nonzeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraint_solver.model_problem.options import BridgeError
from contactlab.multibody.kinematics import Instant, Kinematics, at_state
from contactlab.multibody.mass_matrix import MassMatrixFactor, factorize_mass_matrix
from contactlab.multibody.model import Model, Structure, body_frames, head_views, structure
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, finite_array

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


@dataclass(frozen=True, eq=False)
class Instantaneous:
    """Poses and motions of all links at one q and v: world axes, spatial vectors about the root link's origin."""

    tree: Structure
    #: body_R, body_p: Poses of the bodies in their links.
    body_R: FloatArray
    body_p: FloatArray
    S: FloatArray  # (nv, 6) motion columns
    #: R, p: (nl, 3, 3) and (nl, 3) poses of the links.
    R: FloatArray
    p: FloatArray
    #: V, A: (nl, 6) spatial velocities, and spatial accelerations at a = 0 without gravity.
    V: FloatArray
    A: FloatArray
    _paths: dict[int, IntArray] = field(default_factory=dict, repr=False)

    def path(self, link: int) -> IntArray:
        """Return the degrees of freedom that move a link, ascending; none for the world (-1)."""
        if link not in self._paths:
            path: list[int] = []
            dof = int(self.tree.iv[link + 1]) - 1 if link >= 0 else -1
            while dof >= 0:
                path.append(dof)
                dof = int(self.tree.dof_parent[dof])
            self._paths[link] = np.array(path[::-1], dtype=np.int64)
        return self._paths[link]

    def tree_starts(self) -> IntArray:
        """Return the first velocity of each tree, then nv; trees whose velocities alternate count as one."""
        parent = self.tree.dof_parent
        own = np.arange(parent.size)
        # The earliest velocity on which these, or later ones, depend.
        earliest = np.minimum.accumulate(np.where(parent < 0, own, parent)[::-1])[::-1]
        return np.append(own[earliest == own], parent.size)

    def poses(self, bodies: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return R (m, 3, 3) and origins (m, 3) of added bodies in the world; -1 is the world itself."""
        R = np.tile(np.eye(3), (bodies.size, 1, 1))
        p = np.zeros((bodies.size, 3))
        some = np.flatnonzero(bodies >= 0)
        body = bodies[some]
        R[some], p[some] = self.body_R[body], self.body_p[body]
        body_link = self.tree.body_link
        moving = body_link[body] >= 0
        some, link = some[moving], body_link[body[moving]]
        p[some] = self.p[link] + np.einsum("mij,mj->mi", self.R[link], p[some])
        R[some] = self.R[link] @ R[some]
        return R, p

    def links(self, bodies: IntArray) -> IntArray:
        """Return the link that carries each body, -1 for the world and for bodies fixed to it."""
        out = np.full(bodies.size, -1, dtype=np.int64)
        out[bodies >= 0] = self.tree.body_link[bodies[bodies >= 0]]
        return out

    def arms(self, links: IntArray, x: FloatArray) -> FloatArray:
        """Return points x (m, 3) relative to the origin of their links' spatial vectors; x itself for link -1."""
        out = np.array(x)
        moving = links >= 0
        out[moving] -= self.p[self.tree.root[links[moving]]]
        return out

    def velocities(self, links: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return angular velocities (m, 3) of links, and velocities (m, 3) of their points at x (m, 3)."""
        return self._field(self.V, links, x)

    def bias_accelerations(self, links: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return angular and linear accelerations (m, 3) at a = 0, as `point_bias_acceleration_6d` does."""
        angular, linear = self._field(self.A, links, x)
        w, u = self._field(self.V, links, x)
        return angular, linear + np.cross(w, u)

    def _field(self, spatial: FloatArray, links: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return angular and linear velocity (k, 3) at points x (k, 3) of spatial vectors of links; 0 for -1."""
        out = np.zeros((links.size, 6))
        moving = links >= 0
        out[moving] = spatial[links[moving]]
        return out[:, :3], out[:, 3:] + np.cross(out[:, :3], self.arms(links, x))


def instantaneous(model: Model, kin: Kinematics) -> Instantaneous:
    """Return the arrays of a `Kinematics` that has velocities."""
    nl = model.packed.nl
    head = at_state(model, kin, kin.v)[3]
    S, R, p, V, C = head_views(head, model)
    tree, A = structure(model), C.copy()
    for i in np.flatnonzero(tree.parent >= 0):  # parents come first
        A[i] += A[tree.parent[i]]
    return Instantaneous(tree, *body_frames(model), S, R.reshape(nl, 3, 3), p, V, A)


#: A scipy ``csr_array`` of float64; type checkers do not know the type of its products.
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
    """Return rows d . (J_B - J_A) for directions d (m, 3), with the Jacobians J of points x (m, 3) of two links.

    Only entries on the branches of the two links are read and written: O(depth) per row.
    """
    force_a, force_b = (
        np.concatenate([np.cross(at.arms(links, x), directions), directions], axis=1)
        for links, x in ((link_a, x_a), (link_b, x_b))
    )
    return _wrench_rows(at, ((link_b, force_b), (link_a, -force_a)), nv)


def turning_rows(at: Instantaneous, directions: FloatArray, link_a: IntArray, link_b: IntArray, nv: int) -> SparseRows:
    """Return rows d . (w_B - w_A) for directions d (m, 3), with the angular velocities w of two links."""
    moment = np.concatenate([directions, np.zeros_like(directions)], axis=1)
    return _wrench_rows(at, ((link_b, moment), (link_a, -moment)), nv)


def _wrench_rows(at: Instantaneous, parts: Iterable[tuple[IntArray, FloatArray]], nv: int) -> SparseRows:
    """Return the rows (m, nv) of wrenches (m, 6) on links (m,): S_j . wrench for the degrees of freedom j below a link.

    The rows of all parts are added.
    """
    entries = []
    for links, wrenches in parts:
        paths = [at.path(link) for link in links.tolist()]
        rows = np.repeat(np.arange(len(paths)), [path.size for path in paths])
        columns = np.concatenate([np.zeros(0, dtype=np.int64), *paths])
        entries.append((rows, columns, np.einsum("jk,jk->j", at.S[columns], wrenches[rows])))
    rows, columns, values = (np.concatenate(same) for same in zip(*entries, strict=True))
    return sparse_rows(rows, columns, values, (links.size, nv))


def unit_rows(columns: IntArray, signs: FloatArray, nv: int) -> SparseRows:
    """Return rows (m, nv) with one entry each: ``signs`` (m,) in ``columns`` (m,)."""
    return sparse_rows(np.arange(columns.size), columns, signs, (columns.size, nv))


@dataclass(frozen=True, eq=False)
class Delassus:
    """W = J M^-1 J^T, applied or built; from `delassus`.

    Attributes
    ----------
    J
        (m, nv) the rows, sparse.
    factor
        Factor of M, for solves in O(nv).
    """

    J: SparseRows
    factor: MassMatrixFactor
    _tree: Structure = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(m, m)."""
        m = int(self.J.shape[0])
        return m, m

    def __matmul__(self, f: ArrayLike) -> FloatArray:
        """Return W f for a vector (m,) or the columns of a matrix (m, c), in O(nv + entries of J) each."""
        m = self.shape[0]
        given = np.asarray(f)
        forces = finite_array(given, "f", (m, None) if given.ndim == 2 else (m,), BridgeError)
        return np.asarray(self.J @ self.factor.solve(self.J.T @ forces))

    @property
    def operator(self) -> LinearOperator[np.float64]:
        """Return W as a scipy ``LinearOperator``, for iterative methods."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(
            self.shape, matvec=lambda f: self @ np.ravel(f), rmatvec=lambda f: self @ np.ravel(f),
            matmat=self.__matmul__, rmatmat=self.__matmul__, dtype=np.float64,
        )  # fmt: skip

    def matrix(self) -> SparseRows:
        """Return W (m, m), sparse and symmetric to the last bit; zero for rows without a common branch."""
        nv = self.factor.model.nv
        S, U = self.factor._factor[: 12 * nv].reshape(2, nv, 6)
        inverse = self.factor._factor[12 * nv :]
        E = _swept(self.J, self._tree, S, U, inverse)
        W = (E.multiply(inverse[None, :]) @ E.T).tocsr()
        W = (0.5 * (W + W.T)).tocsr()
        W.sort_indices()
        return W


def delassus(model: Model, q: Instant | MassMatrixFactor, J: Any) -> Delassus:
    """Return the Delassus matrix of rows J (m, nv), to be applied or built.

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, a `Kinematics`, or the factor of M from `factorize_mass_matrix`.
    J
        (m, nv) rows: an array or a scipy.sparse matrix, such as ``data.N`` of problem data.

    Raises
    ------
    BridgeError
        J has another shape, or entries that are not finite.
    MultibodyError
        q is not a configuration, or M is singular there.

    Examples
    --------
    >>> problem = problem_data_from(model, q, v, contacts=contacts, h=1e-3)
    >>> W = delassus(model, q, problem.velocity.N).matrix()  # of a frictionless pile
    """
    from scipy.sparse import csr_array, issparse

    rows: Any = J if issparse(J) else finite_array(J, "J", (None, model.nv), BridgeError)
    matrix: SparseRows = csr_array(rows)
    if matrix.ndim != 2 or matrix.shape[1] != model.nv:
        raise BridgeError("J", f"must have shape (m, {model.nv}), got {matrix.shape}")
    if not np.isfinite(matrix.data).all():
        raise BridgeError("J", "has entries that are not finite")
    factor = q if isinstance(q, MassMatrixFactor) else factorize_mass_matrix(model, q)
    if factor.model is not model:
        raise BridgeError("q", "this factor belongs to another model")
    return Delassus(matrix, factor, structure(model))


def _swept(J: SparseRows, tree: Structure, S: FloatArray, U: FloatArray, inverse: FloatArray) -> SparseRows:
    """Return the inward sweep of all rows, one degree of freedom at a time: L^-T J^T, transposed."""
    from scipy.sparse import csr_array

    columns = J.tocsc()
    m, nv = J.shape
    waiting: dict[int, list[tuple[IntArray, FloatArray]]] = {}
    entries_of: list[tuple[IntArray, IntArray, FloatArray]] = []
    for j in range(nv - 1, -1, -1):
        first, last = columns.indptr[j], columns.indptr[j + 1]
        arrived = waiting.pop(j, [])
        if first == last and not arrived:
            continue
        places, entries = columns.indices[first:last].astype(np.int64), columns.data[first:last]
        rows = places if not arrived else np.unique(np.concatenate([places, *(part for part, _ in arrived)]))
        e, P = np.zeros(rows.size), np.zeros((rows.size, 6))
        e[np.searchsorted(rows, places)] = entries
        for part, forces in arrived:
            P[np.searchsorted(rows, part)] += forces
        e -= P @ S[j]
        entries_of.append((rows, np.full(rows.size, j), e))
        below = int(tree.dof_parent[j])
        if below >= 0:
            P += (e * inverse[j])[:, None] * U[j]
            waiting.setdefault(below, []).append((rows, P))
    if not entries_of:
        return csr_array((m, nv))
    i, k, e = (np.concatenate(same) for same in zip(*entries_of, strict=True))
    return csr_array((e, (i, k)), shape=(m, nv))
