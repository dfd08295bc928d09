"""Velocity-level constraint problem data: impacts and discretised (time-stepping) problems.

With v+ the velocity after the impact or step, the rows are

    0 <= fN  _|_  N v+ + kN + gammaN fN >= 0       contacts do not approach
    0 <= fL  _|_  L v+ + kL + gammaL fL >= 0       limits
    G v+ + kG = 0                                  bilateral constraints
    s = B v+ + kB + gammaB fB,  lo <= fB <= hi     boxed rows: s >= 0 where fB = lo, s <= 0 where fB = hi, else s = 0

Friction opposes F v+ + kF. At each contact it is within the pyramid mu fN >= sum of |fF| or, with ``friction="cone"``,
within Coulomb's exact cone mu fN >= |fF| over two tangents. Further cones, such as the cones of moments of torsional
and rolling friction, can be bounded by the same normal forces.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from problem_data.constrained import (
    ConstrainedDynamics,
    VelocityBlocks,
    common_blocks,
    known_of_blocks,
    map_of_any_rows,
    per_row,
    rows_of_blocks,
    solve_rows,
)
from problem_data.inertia import InertiaSolve, SolveInertia, inertia_solve
from problem_data.operators import LinearMap, Operator, as_linear_map
from problem_data.validation import (
    FloatArray,
    IntArray,
    check_cones,
    checked_cone_contacts,
    checked_tree_starts,
    contact_count,
    float_array,
    force_bounds,
    friction_law,
    length,
    nonnegative,
    rows_known,
    vector,
)
from problem_data.validation import friction as coefficients_and_counts


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ConstraintVelProblemData(ConstrainedDynamics[VelocityBlocks]):
    """Constrained dynamics at one instant, in velocities and impulses (or forces over a step).

    Parameters
    ----------
    Mv : array_like, shape (nv,)
        Generalised momentum M v before the impulses, in kg m/s and kg m^2/s; for a discretised problem h times the
        external forces is added. Its length defines nv.
    N : operator, shape (nc, nv)
        Rows of the contacts' normal velocities, positive when separating. An operator is an array, a scipy.sparse
        matrix, a LinearOperator or a pair of callables (forward, transpose), each of one vector.
    F : operator, shape (nr, nv)
        Rows of the friction directions, cone by cone; the negated directions are implied.
    L : operator, shape (nl, nv)
        Rows of further unilateral constraints (limits).
    G : operator, shape (nb, nv)
        Rows of bilateral constraints.
    B : operator, shape (nbox, nv)
        Boxed rows: constraints whose force has bounds on both sides, such as dry joint friction, drives of limited
        force, torsional and rolling friction under a given normal load.
    mu : array_like, shape (ncone,)
        Friction coefficients, >= 0. Its length defines nc, the number of contacts, if there are no further cones;
        without it the contacts of N are frictionless.
    r : array_like of int, shape (ncone,)
        Number of friction directions of each contact (k/2 for a cone of k edges); nr is their sum. 0 is a contact
        without friction rows, accepted if mu is 0: its cone row then reads mu fN >= 0 and the problem stays well
        posed. Without it all contacts must have mu = 0 and F must be missing.
    cone_contacts : array_like of int, shape (ncone,)
        The contact whose normal force bounds each friction cone: 0, 1, ..., nc - 1 for the contacts' sliding cones,
        then one number 0 .. nc - 1 for each further cone. Without it there are none. A torsional cone has one
        direction, a row of relative angular velocity along the normal, and a length [m] for mu; a rolling one has
        directions across the normal.
    kN, kF, kL, kG, kB : array_like, shapes (nc,), (nr,), (nl,), (nb,), (nbox,)
        Velocity terms of the rows, in each row's own unit (m/s or rad/s); zeros if missing.
    scaleG : array_like, shape (nb,)
        Size of the terms that the entries of each row of G were computed from, > 0, in the unit of the row's entries:
        entries below 1e-10 of it are rounding, for any size of other rows. Without it only the size of G is known:
        entries below eps max(nb, nv) of the largest row count as zero, as in `numpy.linalg.lstsq`.
    errorG : array_like, shape (nb,)
        Position errors of the bilateral rows [m, rad], which require scaleG. In a mechanism that is not assembled
        exactly, redundant rows and their terms kG agree only to the accuracy of these errors.
    gammaN, gammaF, gammaE, gammaL, gammaB : array_like, shapes (nc,), (nr,), (ncone,), (nl,), (nbox,)
        Softening, >= 0, in row velocity per force unit of the problem (1/kg for an impact, s/kg for a discretised
        problem); gammaF serves both signs of a direction, gammaE is on the diagonal of the friction slack. Zeros
        if missing.
    lo, hi : array_like, shape (nbox,)
        Bounds of the forces of the boxed rows, in the force unit of the problem (N or N m; N s or N m s for an impact);
        required if B has rows. -inf and inf mean no bound, lo = hi a given force. Use an infinite bound in place of a
        huge one, because forces are counted from a finite bound.
    solve_inertia : callable or operator
        B -> M^-1 B for B (nv,) and (nv, m); a callable that takes only one of the two is adapted. An array is taken
        as the inverse of M.
    M : array_like, shape (nv, nv)
        Mass matrix, symmetric positive definite, instead of `solve_inertia`.
    tree_starts : array_like of int, shape (nt + 1,)
        First velocity of each tree of bodies, then nv: 0 < ... < nv. M couples no velocity of one tree to one of
        another, so that contacts of many bodies can be solved with sparse matrices. Without it all is one tree.

    friction : str, optional
        ``"pyramid"``, also if None is given: the rows of F span a pyramid of friction. ``"cone"``: they are two
        orthonormal tangents of each contact (one in planar data), and friction has Coulomb's exact cone; then there are
        no further cones, and no gammaE. `contactlab.ConstraintSolver` solves the law that the data name.

    Raises
    ------
    ProblemDataError
        Naming the field and the offending entry.

    Notes
    -----
    Inputs are copied; the attributes are read-only and never change. Fields, shapes and
    signs agree with Drake's ``ConstraintVelProblemData``; the friction model is from Anitescu and Potra (1997),
    doi:10.1023/A:1008292328909.

    Examples
    --------
    A 2 kg particle falling onto the ground at 1 m/s, with friction 0.5 along one direction:

    >>> data = ConstraintVelProblemData(M=[[2, 0], [0, 2]], Mv=[0, -2], N=[[0, 1]], F=[[1, 0]], mu=[0.5], r=[1])
    >>> data
    ConstraintVelProblemData(nv=2, contacts=1, friction rows=1, limits=0, bilaterals=0)
    >>> data.N @ data.solve_inertia(data.Mv)
    array([-1.])
    """

    Mv: FloatArray
    B: LinearMap
    mu: FloatArray
    cone_contacts: IntArray
    kB: FloatArray
    gammaN: FloatArray
    gammaF: FloatArray
    gammaE: FloatArray
    gammaL: FloatArray
    gammaB: FloatArray
    lo: FloatArray
    hi: FloatArray
    tree_starts: IntArray
    friction: str

    def __init__(
        self,
        *,
        Mv: ArrayLike,
        N: Operator | None = None,
        F: Operator | None = None,
        L: Operator | None = None,
        G: Operator | None = None,
        B: Operator | None = None,
        mu: ArrayLike | None = None,
        r: ArrayLike | None = None,
        cone_contacts: ArrayLike | None = None,
        kN: ArrayLike | None = None,
        kF: ArrayLike | None = None,
        kL: ArrayLike | None = None,
        kG: ArrayLike | None = None,
        kB: ArrayLike | None = None,
        scaleG: ArrayLike | None = None,
        errorG: ArrayLike | None = None,
        gammaN: ArrayLike | None = None,
        gammaF: ArrayLike | None = None,
        gammaE: ArrayLike | None = None,
        gammaL: ArrayLike | None = None,
        gammaB: ArrayLike | None = None,
        lo: ArrayLike | None = None,
        hi: ArrayLike | None = None,
        solve_inertia: InertiaSolve | None = None,
        M: ArrayLike | None = None,
        tree_starts: ArrayLike | None = None,
        friction: str | None = "pyramid",
    ) -> None:
        momentum = float_array("Mv", Mv, (None,))
        nv = momentum.size
        solve = inertia_solve(solve_inertia, M, nv)

        # mu comes first, because its length defines nc. k comes before its pair of callables.
        given = None if mu is None else nonnegative("mu", mu, float_array("mu", mu, (None,)).size)
        cones = None if cone_contacts is None else checked_cone_contacts(cone_contacts, given)
        contacts = given.size if given is not None and cones is None else None
        normals = as_linear_map(
            "N",
            N,
            nv=nv,
            rows=contacts if cones is None else contact_count(cones),
            pair_rows=length("kN", kN),
            why="one row per entry of mu (without mu: of kN)" if cones is None else "as many as cone_contacts names",
        )
        nc = normals.shape[0]
        if cones is None:
            cones = np.arange(nc, dtype=np.int64)
        coefficients, counts = coefficients_and_counts(given, r, F is not None, cones.size)
        # Python integers: a sum of int64 could wrap round and pass as a small one.
        nr = sum(counts.tolist())
        tangents = as_linear_map("F", F, nv=nv, rows=nr, pair_rows=None, why="sum(r) rows")
        limits, bilaterals, boxed = (
            map_of_any_rows("L", L, kL, nv),
            map_of_any_rows("G", G, kG, nv),
            map_of_any_rows("B", B, kB, nv),
        )
        rows = {"N": nc, "F": nr, "L": limits.shape[0], "G": bilaterals.shape[0], "B": boxed.shape[0]}
        maps = {"N": normals, "F": tangents, "L": limits, "G": bilaterals, "B": boxed}
        terms = per_row(vector, "k", {"N": kN, "F": kF, "L": kL, "G": kG, "B": kB}, rows)
        softening = per_row(nonnegative, "gamma", {"N": gammaN, "F": gammaF, "L": gammaL, "B": gammaB}, rows)
        softening["gammaE"] = nonnegative("gammaE", gammaE, cones.size, "one entry per friction cone")
        low, high = force_bounds(lo, hi, rows["B"])
        known = rows_known(scaleG, errorG, rows["G"])
        vectors = {"Mv": momentum, "mu": coefficients, "r": counts, "cone_contacts": cones, "lo": low, "hi": high}
        vectors["tree_starts"] = checked_tree_starts(tree_starts, nv)
        law = friction_law(friction)
        if law == "cone":
            check_cones(counts, nc, softening["gammaE"])
        self._fill({**vectors, **maps, **terms, **known, **softening, "friction": law}, solve, None)

    @classmethod
    def from_blocks(
        cls, blocks: VelocityBlocks, *, solve_inertia: SolveInertia, friction: str | None = "pyramid"
    ) -> ConstraintVelProblemData:
        """Make problem data from existing blocks: nothing is copied and nothing is checked.

        Parameters
        ----------
        blocks : VelocityBlocks
            Returned as they are by `blocks`; they must not be written to afterwards.
        solve_inertia : callable
            B -> M^-1 B for B (nv,) and (nv, m), the one that Y and v_free were computed with.
        friction : str, optional
            The law of friction, ``"pyramid"`` or ``"cone"``; an unknown one is refused.
        """
        counts = (blocks.nc, blocks.nr, blocks.nl, blocks.nb, blocks.nbox)
        gammaN, gammaF, gammaL, _, gammaB = np.split(blocks.gamma, np.cumsum(counts)[:-1])
        softening = {"gammaN": gammaN, "gammaF": gammaF, "gammaL": gammaL, "gammaB": gammaB, "gammaE": blocks.gammaE}
        vectors = {
            name: getattr(blocks, name) for name in ("Mv", "mu", "r", "cone_contacts", "lo", "hi", "tree_starts")
        }
        data = cls.__new__(cls)
        law = {"friction": friction_law(friction)}
        rows = {**rows_of_blocks(blocks.J, blocks.k, counts), **known_of_blocks(blocks)}
        data._fill({**vectors, **rows, **softening, **law}, solve_inertia, blocks)
        return data

    def with_friction(self, friction: str | None) -> ConstraintVelProblemData:
        """Return the same rows under another law of friction, ``"pyramid"`` or ``"cone"``.

        Two tangents of a cone are a pyramid of four edges; a pyramid of more edges has no cone over its rows.

        Raises
        ------
        ProblemDataError
            There is no such law, or the rows are not tangents of a cone.
        """
        law = friction_law(friction)
        if law == "cone":
            check_cones(self.r, self.nc, self.gammaE)
        changed = copy.copy(self)
        object.__setattr__(changed, "friction", law)
        return changed

    @property
    def nv(self) -> int:
        """Number of generalised velocities."""
        return self.Mv.size

    @property
    def nbox(self) -> int:
        """Number of boxed rows."""
        return self.kB.size

    @property
    def ncone(self) -> int:
        """Number of friction cones: one for each contact, and the further ones."""
        return self.mu.size

    def _evaluate(self) -> VelocityBlocks:
        counts = ("nv", "nc", "nr", "nl", "nb", "nbox")
        vectors = ("r", "mu", "cone_contacts", "gammaE", "Mv", "lo", "hi", "tree_starts")
        return VelocityBlocks(
            **common_blocks(self, counts, vectors, "NFLGB"),
            gamma=np.concatenate((self.gammaN, self.gammaF, self.gammaL, np.zeros(self.nb), self.gammaB)),
            v_free=solve_rows(self.solve_inertia, self.Mv),
        )

    def __repr__(self) -> str:
        boxed = f", boxed rows={self.nbox}" if self.nbox else ""
        law = "" if self.friction == "pyramid" else f", friction='{self.friction}'"
        further = f", further cones={self.ncone - self.nc}" if self.ncone > self.nc else ""
        return (
            f"ConstraintVelProblemData(nv={self.nv}, contacts={self.nc}, friction rows={self.nr}, "
            f"limits={self.nl}, bilaterals={self.nb}{boxed}{further}{law})"
        )
