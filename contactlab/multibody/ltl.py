"""The factorisation H = L^T L that keeps to the branches of a model's tree."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked, singular_joint
from contactlab.multibody.entries import kernels
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.kernels.codes import GOOD, SINGULAR
from contactlab.multibody.model import Model
from contactlab.multibody.structure import structure
from contactlab.spatial.arrays import FloatArray, IntArray, read_only


@dataclass(frozen=True, eq=False)
class LTLFactor:
    """H = L^T L; from `factorize_ltl`. Right-hand sides are vectors (nv,) or the columns of a matrix (nv, m).

    Attributes
    ----------
    L
        (nv, nv) lower triangular, read-only; zero wherever H is by the tree's structure.
    """

    L: FloatArray
    _L: FloatArray = field(repr=False)
    _parents: IntArray = field(repr=False)
    _dense: bool = field(repr=False)

    def solve(self, b: ArrayLike) -> FloatArray:
        """H^-1 b."""
        return self._solved(b, True, True)

    def solve_lt(self, b: ArrayLike) -> FloatArray:
        """L^-T b."""
        return self._solved(b, True, False)

    def solve_l(self, b: ArrayLike) -> FloatArray:
        """L^-1 b."""
        return self._solved(b, False, True)

    def _solved(self, b: ArrayLike, transposed: bool, plain: bool) -> FloatArray:
        given = np.asarray(b)
        n = self._L.shape[0]
        shape = (n, given.shape[1]) if given.ndim == 2 else (n,)
        x = checked("b", given, *shape).copy()
        if not np.isfinite(x).all():
            check_finite("b", x)
        ltl = kernels().ltl
        if given.ndim == 2:
            if transposed:
                ltl.solve_lt(self._parents, self._L, x)
            if plain:
                ltl.solve_l(self._parents, self._L, x)
        else:
            if transposed:
                ltl.solve_vector_lt(self._parents, self._dense, self._L, x)
            if plain:
                ltl.solve_vector_l(self._parents, self._dense, self._L, x)
        return x


def dof_parents(model: Model) -> IntArray:
    """For each degree of freedom (nv,) the one next to it towards the root, -1 for none."""
    return structure(model).dof_parent


def factorize_ltl(model: Model, H: ArrayLike) -> LTLFactor:
    """Factorise H = L^T L, H having the branch structure of the model's mass matrix.

    No entry that the tree makes zero becomes nonzero (Featherstone 2008, section 6.5), O(nv d^2) for branches of depth
    d. Where those are most entries, as on chains, the same is done without asking for each which is next.

    Parameters
    ----------
    model
        The model.
    H
        (nv, nv) symmetric positive definite, such as `mass_matrix(model, q)`; the lower triangle is used.

    Raises
    ------
    MultibodyError
        A wrong shape, an entry that is not finite, an entry between two branches that is not zero, or a matrix that is
        not positive definite; the degree of freedom is named.
    """
    given = checked("H", H, model.nv, model.nv)
    L = np.empty((model.nv, model.nv))
    dense = model.packed.chain
    parents = dof_parents(model)
    ltl = kernels().ltl
    if not ltl.copy_lower(given, L):
        check_finite("H", L)
    at = ltl.off_branch(parents, L)
    if at >= 0:
        i, j = divmod(at, model.nv)
        raise MultibodyError("H", f"entry [{i}, {j}] is {L[i, j]:g}, but no branch of the tree holds both")
    code = ltl.factor_ltl(parents, dense, np.empty(model.nv), L)
    if code != GOOD:
        raise MultibodyError("H", f"is not positive definite: {singular_joint(model, SINGULAR - code).detail}")
    return LTLFactor(read_only(L), L, parents, dense)
