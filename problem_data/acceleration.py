"""Acceleration-level constraint problem data: contact forces at one instant, without a step.

With a the generalised acceleration, the rows are

    0 <= fN  _|_  N a + kN >= 0       contacts do not accelerate into each other
    0 <= fL  _|_  L a + kL >= 0       limits
    G a + kG = 0                      bilateral constraints

A contact that slides has the friction -mu_sliding fN along its sliding direction; at one that does not, friction
opposes F a + kF within mu_non_sliding fN >= sum of |fF|. Together

    M a = tau + (N - mu_sliding Q)^T fN + F^T fF + L^T fL + G^T fG
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from problem_data.constrained import (
    AccelerationBlocks,
    ConstrainedDynamics,
    common_blocks,
    dense_rows,
    known_of_blocks,
    map_of_any_rows,
    per_row,
    rows_of_blocks,
    solve_rows,
)
from problem_data.inertia import InertiaSolve, SolveInertia, inertia_solve
from problem_data.operators import FunctionMap, LinearMap, Operator, as_linear_map
from problem_data.validation import (
    FloatArray,
    IntArray,
    ProblemDataError,
    check_finite,
    first_true,
    float_array,
    friction,
    length,
    nonnegative,
    rows_known,
    split_contacts,
    vector,
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ConstraintAccelProblemData(ConstrainedDynamics[AccelerationBlocks]):
    """Constrained dynamics at one instant, in accelerations and forces.

    Parameters
    ----------
    tau : array_like, shape (nv,)
        All external generalised forces (gravity, gyroscopic terms, actuation), in N and N m. Its length defines nv.
    N : operator, shape (nc, nv)
        Rows of the contacts' normal velocities, positive when separating; they define nc. An operator is an array, a
        scipy.sparse matrix, a LinearOperator or a pair of callables (forward, transpose), each of one vector.
    Q : operator, shape (ns, nv)
        Rows of the sliding contacts' velocities along their sliding directions, in the order of `sliding_contacts`:
        Q v is the slip speed, and friction is -mu_sliding fN along it. May be missing if all mu_sliding are 0.
    F : operator, shape (nr, nv)
        Rows of the friction directions of the non-sliding contacts only, contact by contact; the negated directions
        are implied.
    L : operator, shape (nl, nv)
        Rows of further unilateral constraints (limits).
    G : operator, shape (nb, nv)
        Rows of bilateral constraints.
    kN, kF, kL, kG : array_like, shapes (nc,), (nr,), (nl,), (nb,)
        Acceleration terms of the rows, in each row's own unit (m/s^2 or rad/s^2): the rate of change of the row times
        v, plus stabilisation if wanted. Zeros if missing.
    scaleG, errorG : array_like, shape (nb,)
        Sizes of the terms that the entries of each row of G were computed from, and position errors [m, rad], as for
        `ConstraintVelProblemData`.
    mu_sliding : array_like, shape (ns,)
        Kinetic friction coefficients, >= 0, in the order of `sliding_contacts`; zeros if both this
        and Q are missing.
    mu_non_sliding : array_like, shape (nns,)
        Static friction coefficients, >= 0, in the order of `non_sliding_contacts`; zeros if missing.
    sliding_contacts, non_sliding_contacts : array_like of int, shapes (ns,), (nns,)
        Contacts with and without tangential speed: ascending, and each of 0 to nc - 1 in exactly one. A missing list is
        the complement of the other; without both, no contact slides.
    r : array_like of int, shape (nns,)
        Number of friction directions of each non-sliding contact (k/2 for a cone of k edges); nr is their sum. 0 is a
        contact without friction rows, accepted if mu_non_sliding is 0. Without it all mu_non_sliding must be 0 and F
        must be missing.
    use_complementarity_problem_solver : bool
        True: the solver finds out which rows are active. False: every row is taken as active and one linear system is
        solved; no inequality is looked at.
    solve_inertia : callable or operator
        B -> M^-1 B for B (nv,) and (nv, m); a callable that takes only one of the two is adapted. An array is taken
        as the inverse of M.
    M : array_like, shape (nv, nv)
        Mass matrix, symmetric positive definite, instead of `solve_inertia`.

    Raises
    ------
    ProblemDataError
        Naming the field and the offending entry.

    Notes
    -----
    Inputs are copied; the attributes are read-only and never change. Fields, shapes and
    signs agree with Drake's ``ConstraintAccelProblemData``, with `Q` as a separate operator; there is no softening
    at this level.

    Examples
    --------
    A 2 kg particle on the ground under gravity, sliding along x with friction 0.5: a unit of normal force brings half a
    unit of friction against the motion.

    >>> data = ConstraintAccelProblemData(
    ...     M=[[2, 0], [0, 2]], tau=[0, -19.62], N=[[0, 1]], Q=[[1, 0]], mu_sliding=[0.5], sliding_contacts=[0]
    ... )
    >>> data
    ConstraintAccelProblemData(nv=2, contacts=1 (1 sliding), friction rows=0, limits=0, bilaterals=0)
    >>> data.N_minus_muQ_T @ [1.0]
    array([-0.5,  1. ])
    """

    tau: FloatArray
    Q: LinearMap
    mu_sliding: FloatArray
    mu_non_sliding: FloatArray
    sliding_contacts: IntArray
    non_sliding_contacts: IntArray
    use_complementarity_problem_solver: bool

    def __init__(
        self,
        *,
        tau: ArrayLike,
        N: Operator | None = None,
        Q: Operator | None = None,
        F: Operator | None = None,
        L: Operator | None = None,
        G: Operator | None = None,
        kN: ArrayLike | None = None,
        kF: ArrayLike | None = None,
        kL: ArrayLike | None = None,
        kG: ArrayLike | None = None,
        scaleG: ArrayLike | None = None,
        errorG: ArrayLike | None = None,
        mu_sliding: ArrayLike | None = None,
        mu_non_sliding: ArrayLike | None = None,
        sliding_contacts: ArrayLike | None = None,
        non_sliding_contacts: ArrayLike | None = None,
        r: ArrayLike | None = None,
        use_complementarity_problem_solver: bool = True,
        solve_inertia: InertiaSolve | None = None,
        M: ArrayLike | None = None,
    ) -> None:
        forces = float_array("tau", tau, (None,))
        nv = forces.size
        solve = inertia_solve(solve_inertia, M, nv)

        listed = (length("sliding_contacts", sliding_contacts), length("non_sliding_contacts", non_sliding_contacts))
        both = None if None in listed else sum(filter(None, listed))
        normals = as_linear_map(
            "N",
            N,
            nv=nv,
            rows=sum(filter(None, listed)) if N is None else None,
            pair_rows=both if kN is None else length("kN", kN),
            why="one row per listed contact" if N is None else "kN, or both lists of contacts,",
        )
        nc = normals.shape[0]
        sliding, non_sliding = split_contacts(sliding_contacts, non_sliding_contacts, nc)
        ns, nns = sliding.size, non_sliding.size
        kinetic, slips = _sliding(mu_sliding, Q, ns, nv)
        static, counts = friction(
            None
            if mu_non_sliding is None
            else nonnegative("mu_non_sliding", mu_non_sliding, nns, "one entry per non-sliding contact"),
            r,
            F is not None,
            nns,
            "mu_non_sliding",
        )
        # Python integers: a sum of int64 could wrap round and pass as a small one.
        nr = sum(counts.tolist())
        tangents = as_linear_map(
            "F", F, nv=nv, rows=nr, pair_rows=None, why="sum(r) rows, of non-sliding contacts only"
        )
        limits, bilaterals = map_of_any_rows("L", L, kL, nv), map_of_any_rows("G", G, kG, nv)
        rows = {"N": nc, "F": nr, "L": limits.shape[0], "G": bilaterals.shape[0]}
        maps = {"N": normals, "Q": slips, "F": tangents, "L": limits, "G": bilaterals}
        terms = per_row(vector, "k", {"N": kN, "F": kF, "L": kL, "G": kG}, rows)
        contacts = {"sliding_contacts": sliding, "non_sliding_contacts": non_sliding, "r": counts}
        vectors = {"tau": forces, "mu_sliding": kinetic, "mu_non_sliding": static}
        flag: object = use_complementarity_problem_solver  # whatever the caller's types say
        if not isinstance(flag, bool | np.bool_):
            raise ProblemDataError(
                "use_complementarity_problem_solver", f"{flag!r} of type {type(flag).__name__}, wanted True or False"
            )
        choice = {"use_complementarity_problem_solver": bool(flag)}
        known = rows_known(scaleG, errorG, rows["G"])
        self._fill({**vectors, **contacts, **choice, **maps, **terms, **known}, solve, None)

    @classmethod
    def from_blocks(
        cls,
        blocks: AccelerationBlocks,
        *,
        solve_inertia: SolveInertia,
        use_complementarity_problem_solver: bool = True,
    ) -> ConstraintAccelProblemData:
        """Make problem data from existing blocks: nothing is copied and nothing is checked.

        Parameters
        ----------
        blocks : AccelerationBlocks
            Returned as they are by `blocks`; they must not be written to afterwards.
        solve_inertia : callable
            B -> M^-1 B for B (nv,) and (nv, m), the one that Y, YR and a_free were computed with.
        use_complementarity_problem_solver : bool
        """
        counts = (blocks.nc, blocks.nr, blocks.nl, blocks.nb)
        vectors = {name: getattr(blocks, name) for name in ("tau", "mu_sliding", "mu_non_sliding", "r", "Q")}
        contacts = {"sliding_contacts": blocks.sliding, "non_sliding_contacts": blocks.non_sliding}
        choice = {"use_complementarity_problem_solver": use_complementarity_problem_solver}
        data = cls.__new__(cls)
        rows = {**rows_of_blocks(blocks.J, blocks.k, counts), **known_of_blocks(blocks)}
        data._fill({**vectors, **contacts, **choice, **rows}, solve_inertia, blocks)
        return data

    @property
    def nv(self) -> int:
        """Number of generalised velocities."""
        return self.tau.size

    @property
    def ns(self) -> int:
        """Number of sliding contacts."""
        return self.mu_sliding.size

    @property
    def nns(self) -> int:
        """Number of non-sliding contacts."""
        return self.mu_non_sliding.size

    @property
    def friction(self) -> str:
        """The law of friction: at this level contacts that do not slide have a pyramid."""
        return "pyramid"

    @property
    def N_minus_muQ_T(self) -> LinearMap:
        """The map (N - mu_sliding Q)^T, shape (nv, nc); rows of Q of non-sliding contacts count as zero.

        It maps normal forces to their generalised force, including the sliding friction that they cause.
        """
        return FunctionMap("N_minus_muQ_T", (self.nv, self.nc), self._with_sliding_friction, self._less_sliding)

    def _with_sliding_friction(self, fN: FloatArray) -> FloatArray:
        return self.N.T @ fN - self.Q.T @ (self.mu_sliding * fN[self.sliding_contacts])

    def _less_sliding(self, w: FloatArray) -> FloatArray:
        out = np.array(self.N @ w)
        out[self.sliding_contacts] -= self.mu_sliding * (self.Q @ w)
        return out

    def _evaluate(self) -> AccelerationBlocks:
        """Evaluate the linear maps and the inertia: dense rows, their responses, and the free acceleration."""
        counts = ("nv", "nc", "ns", "nns", "nr", "nl", "nb")
        common = common_blocks(self, counts, ("r", "mu_sliding", "mu_non_sliding", "tau"), "NFLG")
        Q, sliding = dense_rows("Q", self.Q), self.sliding_contacts.copy()
        with np.errstate(over="ignore"):
            R = normal_minus_friction(common["J"][: self.nc], Q, self.mu_sliding, sliding)
        check_finite("N_minus_muQ_T.T", R)
        # Only the rows that differ are solved for: elsewhere YR has the bits of Y, so that a problem in which nothing
        # slides is exactly symmetric.
        YR = common["Y"][: self.nc].copy()
        YR[sliding] = solve_rows(self.solve_inertia, R[sliding])
        return AccelerationBlocks(
            **common,
            sliding=sliding,
            non_sliding=self.non_sliding_contacts.copy(),
            Q=Q,
            R=R,
            YR=YR,
            a_free=solve_rows(self.solve_inertia, self.tau),
        )

    def __repr__(self) -> str:
        return (
            f"ConstraintAccelProblemData(nv={self.nv}, contacts={self.nc} ({self.ns} sliding), "
            f"friction rows={self.nr}, limits={self.nl}, bilaterals={self.nb})"
        )


def normal_minus_friction(N: FloatArray, Q: FloatArray, mu: FloatArray, sliding: IntArray) -> FloatArray:
    """Return the rows of N - mu Q as a new dense array (nc, nv), from dense N (nc, nv) and Q (ns, nv).

    A contact that slides has the friction -mu fN along its sliding direction, so that its normal force acts along its
    row of (N - mu Q)^T. The rows of Q of the non-sliding contacts, which are not stored, are zero.
    """
    rows = np.array(N, order="C")
    rows[sliding] -= mu[:, np.newaxis] * Q
    return rows


def _sliding(mu: ArrayLike | None, Q: Operator | None, ns: int, nv: int) -> tuple[FloatArray, LinearMap]:
    """Return the coefficients (ns,) and the rows (ns, nv) of the sliding directions, zero if they are missing.

    Raise an error if a coefficient is positive without Q, or Q is given without coefficients.
    """
    if mu is None and Q is not None and ns:
        raise ProblemDataError("mu_sliding", f"missing, wanted shape ({ns},): Q is given")
    kinetic = nonnegative("mu_sliding", mu, ns, "one entry per sliding contact")
    if Q is None and (i := first_true(kinetic > 0.0)) is not None:
        raise ProblemDataError(
            "Q", f"missing, wanted shape ({ns}, {nv}): mu_sliding[{i}] = {kinetic[i]} needs a direction"
        )
    rows = np.zeros((ns, nv)) if Q is None else Q
    return kinetic, as_linear_map("Q", rows, nv=nv, rows=ns, pair_rows=None, why="one row per sliding contact")
