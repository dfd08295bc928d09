"""The Delassus matrix W = J M^-1 J^T of rows of a tree, through the tree: neither M nor its inverse is formed.

The articulated-body recursion eliminates one degree of freedom j after the other, from the last to the first, and
leaves M = L^T D L with L unit lower triangular: S_j, U_j and D_j as in `contactlab.multibody.kernels.articulated`. Its
inward sweep is the product with L^-T. So with E^T = L^-T J^T

    W = E D^-1 E^T,    e_j = J_j - S_j . p_j,    p of j's parent gathers p_j + U_j e_j / D_j

for each row of J, where e is nonzero only on the branches of J's entries, down to the root (Featherstone 2008,
sections 6.5 and 7.3; Rodriguez and Kreutz-Delgado, Spatial operator factorization and inversion of the manipulator mass
matrix, IEEE Transactions on Robotics and Automation 8(1), 1992, whose innovations factorisation this is). W couples two
rows only if their branches meet: it is sparse for many bodies, and as sparse as can be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.formulation.model_problem.branches import SparseRows
from contactlab.formulation.model_problem.errors import BridgeError
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.mass_matrix import MassMatrixFactor, factorize_mass_matrix
from contactlab.multibody.model import Model
from contactlab.multibody.packing import Structure, structure
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


@dataclass(frozen=True, eq=False)
class Delassus:
    """W = J M^-1 J^T, applied or built; from `delassus`.

    Attributes
    ----------
    J
        (m, nv) the rows, sparse.
    factor
        M, ready to solve with in O(nv).
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
        """W f for a vector (m,) or the columns of a matrix (m, c), in O(nv + entries of J) each."""
        m = self.shape[0]
        given = np.asarray(f)
        forces = finite_array(given, "f", (m, None) if given.ndim == 2 else (m,), BridgeError)
        return np.asarray(self.J @ self.factor.solve(self.J.T @ forces))

    @property
    def operator(self) -> LinearOperator[np.float64]:
        """W as a scipy ``LinearOperator``, for iterative methods."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(
            self.shape, matvec=lambda f: self @ np.ravel(f), rmatvec=lambda f: self @ np.ravel(f),
            matmat=self.__matmul__, rmatmat=self.__matmul__, dtype=np.float64,
        )  # fmt: skip

    def half_factor(self) -> tuple[SparseRows, FloatArray]:
        """E (m, nv), sparse, and 1 / D (nv,), with which W = E diag(1 / D) E^T."""
        nv = self.factor.model.nv
        S, U = self.factor._factor[: 12 * nv].reshape(2, nv, 6)
        inverse = self.factor._factor[12 * nv :]
        return _swept(self.J, self._tree, S, U, inverse), inverse

    def matrix(self) -> SparseRows:
        """Return W (m, m), sparse and symmetric to the last bit; zero for rows without a common branch."""
        E, inverse = self.half_factor()
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
        q is no configuration, or M is singular there.

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
    """Return the inward sweep of all rows at once, one degree of freedom after the other: L^-T J^T, transposed."""
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
    swept = csr_array((e, (i, k)), shape=(m, nv))
    return swept
