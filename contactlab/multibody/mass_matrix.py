"""The mass matrix, solving with it without forming it, and H = L^T L along the branches of a model's tree."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import ON_STACK, check_finite, checked, fast_entry, kernels, singular_joint
from contactlab.multibody.kernels import (
    GOOD,
    SINGULAR,
)
from contactlab.multibody.kinematics import (
    BatchOperands,
    Instant,
    at_configuration,
    batched,
    fill_batch,
    operand,
    run,
)
from contactlab.multibody.model import Model, structure
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, MultibodyError, read_only


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

    def solve(self, b: ArrayLike) -> FloatArray:
        """Return H^-1 b."""
        return self._solve_triangular(b, True, True)

    def solve_lt(self, b: ArrayLike) -> FloatArray:
        """Return L^-T b."""
        return self._solve_triangular(b, True, False)

    def solve_l(self, b: ArrayLike) -> FloatArray:
        """Return L^-1 b."""
        return self._solve_triangular(b, False, True)

    def _solve_triangular(self, b: ArrayLike, transposed: bool, plain: bool) -> FloatArray:
        """Return b (n,) or (n, k) after solves with L^T if ``transposed``, and then with L if ``plain``."""
        given = np.asarray(b)
        n = self._L.shape[0]
        shape = (n, given.shape[1]) if given.ndim == 2 else (n,)
        x = checked("b", given, *shape).copy()
        if not np.isfinite(x).all():
            check_finite("b", x)
        ltl = kernels().mass_matrix
        several = given.ndim == 2
        if transposed:
            (ltl.solve_lt if several else ltl.solve_vector_lt)(self._parents, self._L, x)
        if plain:
            (ltl.solve_l if several else ltl.solve_vector_l)(self._parents, self._L, x)
        return x


def dof_parents(model: Model) -> IntArray:
    """Return the next degree of freedom towards the root for each one (nv,), -1 for none."""
    return structure(model).dof_parent


def factorize_ltl(model: Model, H: ArrayLike) -> LTLFactor:
    """Factorise H = L^T L, where H has the branch structure of the model's mass matrix.

    No entry that the tree makes zero becomes nonzero (Featherstone 2008, section 6.5), O(nv d^2) for branches of depth
    d.

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
    parents = dof_parents(model)
    ltl = kernels().mass_matrix
    if not ltl.copy_lower(given, L):
        check_finite("H", L)
    at = ltl.off_branch(parents, L)
    if at >= 0:
        i, j = divmod(at, model.nv)
        raise MultibodyError("H", f"entry [{i}, {j}] is {L[i, j]:g}, but no branch of the tree holds both")
    code = ltl.factor_ltl(parents, np.empty(model.nv), L)
    if code != GOOD:
        raise MultibodyError("H", f"is not positive definite: {singular_joint(model, SINGULAR - code).detail}")
    return LTLFactor(read_only(L), L, parents)


# one look-up less in a very short call
_empty = np.empty

_quick = fast_entry("fast_crba", 1, 1, 2)


def mass_matrix(model: Model, q: Instant, *, threads: int | None = None) -> FloatArray:
    """Return the mass matrix M(q), (nv, nv), symmetric: kinetic energy is v.M v / 2.

    The composite-rigid-body algorithm (Featherstone 2008, section 6.2). Entries between different branches are zero.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    threads
        Number of threads for many instants, None for one per core; short batches run on the caller's.
    """
    packed, nv = model.packed, model.nv
    if type(q) is np.ndarray and not packed.custom:
        M = _empty((nv, nv))
        try:
            work = ON_STACK if packed.compact else np.empty(packed.size)
            if _quick.call(packed.ints, packed.floats, q, work, M) == GOOD:
                return M
        except (TypeError, ValueError):
            pass  # no plain array
    if batched(q):
        many = BatchOperands.of(model, operand("q", q, model.nq))
        return fill_batch(many, kernels().entries.mass_matrix, threads, nv, nv)
    M = np.zeros((nv, nv))
    run(model, kernels().mass_matrix.crba, at_configuration(model, q), (), M)
    return M


@dataclass(frozen=True, eq=False)
class MassMatrixFactor:
    """M(q) of one configuration, ready to solve with at O(nv) per right-hand side; from `factorize_mass_matrix`."""

    model: Model
    _factor: FloatArray = field(repr=False)

    def solve(self, b: ArrayLike) -> FloatArray:
        """Return M^-1 b for a vector (nv,) or the columns of a matrix (nv, m)."""
        model, packed = self.model, self.model.packed
        given = np.asarray(b)
        if given.ndim == 2:
            rows = checked("tau", given, model.nv, given.shape[1]).T.copy()
        else:
            rows = checked("tau", given, model.nv).reshape(1, model.nv).copy()
        code = kernels().dynamics.solve_inertia(
            packed.ints, packed.floats, self._factor, np.empty((packed.nl, 6)), rows
        )
        if code != GOOD:
            check_finite("tau", np.asarray(given, dtype=np.float64))
            raise MultibodyError("tau", "the entries are finite but so large that the result is not")
        return np.ascontiguousarray(rows.T) if given.ndim == 2 else rows[0]


def factorize_mass_matrix(model: Model, q: Instant) -> MassMatrixFactor:
    """Return articulated-body inertias at q; `MassMatrixFactor.solve` applies M^-1 (Featherstone 2008, 7.3).

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.

    Raises
    ------
    MultibodyError
        The mass matrix is singular (Euler angles at their singularity); the joint is named.
    """
    factor = np.empty(13 * model.nv)
    run(model, kernels().dynamics.factor_inertia, at_configuration(model, q), (), factor)
    return MassMatrixFactor(model, factor)


def solve_mass_matrix(model: Model, q: Instant, tau: ArrayLike, *, threads: int | None = None) -> FloatArray:
    """Return M(q)^-1 tau, without velocity and gravity, for a vector (nv,) or the columns of a matrix (nv, m).

    For configurations q (..., nq), tau (..., nv) has one vector for each. O(nv) for each right-hand side;
    `factorize_mass_matrix` keeps the part that depends on q alone.
    """
    if batched(q):
        many = BatchOperands.of(model, operand("q", q, model.nq), operand("tau", tau, model.nv))
        return fill_batch(many, kernels().entries.solve_mass_matrix, threads, model.nv)
    return factorize_mass_matrix(model, q).solve(tau)
