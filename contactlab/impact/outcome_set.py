"""All outcomes of an impact for different orders of its contacts, and for interleavings.

For rigid bodies, the order of contacts that close simultaneously is unknown. Each impulse consists of parts, of one
contact at a time along its impulse path. A contact compresses while it approaches, and otherwise returns impulse by
its restitution. Any contact may act next, by any amount; the final velocity is a member of the set. Outcomes of whole
impacts in every order are members. In the limit of small parts, so is every result of a mixture of contacts (Halm and
Posa's differential inclusion, the closure by Filippov and Wazewski's theorem).

M. Halm, M. Posa, Set-valued rigid-body dynamics for simultaneous, inelastic, frictional impacts, Int. J. Robotics
Research 43 (2024); Modeling and analysis of non-unique behaviors in multiple frictional impacts, RSS (2019).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.impact.collision import Collision, ImpactProblem, Restitution, check_restitution, coefficients
from contactlab.impact.single import (
    Ending,
    NoSeparationError,
    State,
    impulse_path,
    normal_impulse,
    normal_velocity,
    normal_work,
    single_impact,
)
from contactlab.multibody.spatial.arrays import FloatArray, ImpactError, IntArray, finite_array
from problem_data import ConstraintVelProblemData

# Approach speed, relative to the first, that counts as zero; extent, relative to the initial speed, that counts as
# zero.
_REST, _FLAT = 1e-8, 1e-6
_MAX_DIMENSIONS = 6
# Number of courses in which all contacts take small parts in turn.
_EVEN = 4


@dataclass(frozen=True, eq=False)
class OutcomeSet:
    """Velocities after an impact, as members of the set of all outcomes; `str` is a summary.

    Parameters
    ----------
    v_minus : ndarray, shape (nv,)
        Velocity before.
    v_plus : ndarray, shape (m, nv)
        Members: first the outcomes of whole impacts in sequence, then of interleavings.
    orders : int
        Number of outcomes of whole impacts.
    complete : bool
        Whether all orders are included.
    unfinished : int
        Number of courses that did not end within their limits, and are omitted.
    M : ndarray, shape (nv, nv)
        Mass matrix: distances are measured by kinetic energy.
    """

    v_minus: FloatArray
    v_plus: FloatArray
    orders: int
    complete: bool
    unfinished: int
    M: FloatArray

    @property
    def energy_ratios(self) -> FloatArray:
        """Energy after over energy before (m,)."""
        return np.asarray(np.einsum("mi,ij,mj->m", self.v_plus, self.M, self.v_plus) / self._size**2)

    @property
    def lowest(self) -> FloatArray:
        """Minimum of each velocity (nv,)."""
        return np.asarray(self.v_plus.min(axis=0))

    @property
    def highest(self) -> FloatArray:
        """Maximum of each velocity (nv,)."""
        return np.asarray(self.v_plus.max(axis=0))

    def extremes(self, direction: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the members (nv,) with minimum and maximum velocity along a direction (nv,)."""
        along = self.v_plus @ finite_array(direction, "direction", (self.v_plus.shape[1],), ImpactError)
        return self.v_plus[int(np.argmin(along))], self.v_plus[int(np.argmax(along))]

    @property
    def dimension(self) -> int:
        """Dimension of the smallest affine space that contains all members; 0 if there is one outcome."""
        return int(self._flat.shape[1])

    @property
    def spread(self) -> float:
        """Maximum extent of the set along a principal axis, in the norm of M, relative to the initial speed."""
        return float(np.ptp(self._flat, axis=0).max(initial=0.0))

    @cached_property
    def measure(self) -> float:
        """Volume of the convex hull of the members, in lengths of |v_minus|_M; 0 for a point.

        It is measured in the smallest affine space of the members, in the norm of M: a length in one dimension, an area
        in two. Raise `ImpactError` for more dimensions than are computed.
        """
        return self.spread if self.dimension < 2 else float(self._convex_hull("measure").volume)

    @cached_property
    def hull(self) -> FloatArray:
        """Members that are vertices of the convex hull (k, nv)."""
        if self.dimension == 0:
            return self.v_plus[:1]
        if self.dimension == 1:
            return self.v_plus[[int(np.argmin(self._flat[:, 0])), int(np.argmax(self._flat[:, 0]))]]
        return np.asarray(self.v_plus[self._convex_hull("hull").vertices])

    def _convex_hull(self, wanted: str) -> Any:
        """Return the convex hull of the members, in at least two dimensions."""
        from scipy.spatial import ConvexHull

        if self.dimension > _MAX_DIMENSIONS:
            raise ImpactError(wanted, f"in {self.dimension} dimensions is not computed; look at `extremes`")
        return ConvexHull(self._flat, qhull_options="QJ")

    def distance(self, v: ArrayLike) -> float:
        """Return the distance |v - v_i|_M of v (nv,) from the closest member, divided by |v_minus|_M."""
        off = self.v_plus - finite_array(v, "v", (self.v_plus.shape[1],), ImpactError)
        return float(np.sqrt(np.einsum("mi,ij,mj->m", off, self.M, off).min())) / self._size

    @cached_property
    def _root(self) -> FloatArray:
        """Matrix R (nv, nv) with |v|_M = |R v|."""
        return np.asarray(np.linalg.cholesky(self.M).T)

    @cached_property
    def _size(self) -> float:
        """Speed before the impact in the norm of M, |v_minus|_M."""
        return float(np.sqrt(self.v_minus @ self.M @ self.v_minus))

    @cached_property
    def _flat(self) -> FloatArray:
        """Coordinates (m, dimension) of the members along the principal axes with nonzero extent.

        They are relative to the members' mean, in the norm of M, and in units of |v_minus|_M.
        """
        points = (self.v_plus - self.v_plus.mean(axis=0)) @ self._root.T / self._size
        _, _, axes = np.linalg.svd(points, full_matrices=False)
        along = points @ axes.T
        return np.asarray(along[:, np.ptp(along, axis=0) > _FLAT])

    def __str__(self) -> str:
        energies = self.energy_ratios
        count = f"{'all' if self.complete else 'some'} {self.orders} orders and {len(self.v_plus) - self.orders} others"
        if self.dimension == 0:
            v = " ".join(f"{x:.6g}" for x in self.v_plus[0])
            return f"one outcome whatever the order ({count}): {v}"
        ranges = "; ".join(f"{a:.4g} to {b:.4g}" for a, b in zip(self.lowest, self.highest, strict=True))
        left = f", {self.unfinished} left out that did not end" if self.unfinished else ""
        return (
            f"outcomes of {count} spread over {self.spread:.3g} of the speed before in {self.dimension} dimensions, "
            f"energy {energies.min():.4g} to {energies.max():.4g} of that before{left}; v+ {ranges}"
        )


def outcome_set(
    data: ConstraintVelProblemData,
    restitution: Restitution = 0.0,
    *,
    law: Ending = "stronge",
    contacts: ArrayLike | None = None,
    samples: int = 200,
    max_orders: int = 200,
    max_collisions: int = 2000,
    seed: int = 0,
) -> OutcomeSet:
    """Return outcomes of all orders and of interleavings of an impact.

    Parameters
    ----------
    data : ConstraintVelProblemData
        Problem with Mv = M v before the impact; its normal terms are not used.
    restitution : float, (nc,) or RestitutionLaw
        Coefficient; limits have none. A law that depends on speed is evaluated at the initial speed, or at the speed of
        the fastest contact.
    law : {"newton", "poisson", "stronge"}
        Restitution law; for Newton's there are only whole impacts, because it does not define parts of an impact.
    contacts : (k,), optional
        Numbers of the contacts that take part, such as the closed ones of a recorded step; default all.
    samples, seed : int
        Number of random interleavings, and the seed.
    max_orders : int
        Maximum number of orders of whole impacts; if there are more, this number of random ones.
    max_collisions : int
        Maximum number in one course, parts included.

    Raises
    ------
    ImpactError
        The laws do not support the data, or no course ended.

    Examples
    --------
    A dumbbell that falls flat, inelastic: the end that strikes first lifts, or both stay down.

    >>> import problem_data
    >>> data = problem_data.ConstraintVelProblemData(
    ...     M=[[1, 0, 0], [0, 1, 0], [0, 0, 4]], Mv=[0, -1, 0], N=[[0, 1, -1], [0, 1, 1]]
    ... )
    >>> found = outcome_set(data)
    >>> found.dimension, found.highest.round(4)
    (2, array([0.  , 0.12, 0.12]))
    """
    check_restitution(restitution)
    chosen = np.arange(data.nc) if contacts is None else np.atleast_1d(np.array(contacts, dtype=np.int64))
    if np.any((chosen < 0) | (chosen >= data.nc)):
        raise ImpactError("contacts", f"must be numbers from 0 to {data.nc - 1}, got {contacts!r}")
    course = _ImpactSequences(ImpactProblem(data, "the set of outcomes"), chosen, restitution, law, max_collisions)
    found, complete = course.orders(max_orders, np.random.default_rng(seed))
    whole = len(found)
    if law != "newton":
        random = np.random.default_rng((seed, 1))
        found += [v for i in range(samples) if (v := course.interleaved(random, even=i < _EVEN)) is not None]
    if not found:
        raise ImpactError("data", f"no sequence finished within {max_collisions} collisions")
    M = np.linalg.inv(np.asarray(data.solve_inertia(np.eye(data.nv))))
    return OutcomeSet(course.problem.v_minus, np.array(found), whole, complete, course.unfinished, M)


class _ImpactSequences:
    """Sequences of one impact: states of the contacts, possible next parts, and their effects."""

    def __init__(
        self, problem: ImpactProblem, chosen: IntArray, restitution: Restitution, law: Ending, max_collisions: int
    ) -> None:
        self.problem, self.law, self.most = problem, law, max_collisions
        nc, every = problem.blocks.nc, problem.collisions
        speeds = -np.array([one.velocity(problem.v_minus)[0] for one in every])
        taking_part = [*np.unique(chosen).tolist(), *range(nc, len(every))]
        fastest = float(speeds[taking_part].max(initial=0.0))
        self.rest = _REST * fastest
        approach = np.where(speeds > self.rest, speeds, fastest)[:nc]
        e = np.concatenate((coefficients(restitution, approach), np.zeros(len(every) - nc)))
        self.e = e[taking_part]
        self.collisions = [every[i] for i in taking_part]
        self.u_rows = np.array([one.J[0] for one in self.collisions]).reshape(-1, problem.blocks.nv)
        self.u_terms = np.array([one.k[0] for one in self.collisions])
        self.unfinished = 0

    def _normal(self, v: FloatArray) -> FloatArray:
        return np.asarray(self.u_rows @ v + self.u_terms)

    def orders(self, most: int, random: np.random.Generator) -> tuple[list[FloatArray], bool]:
        """Return the outcomes of impacts at one contact after another; the bool is True if all orders were followed."""
        found: list[FloatArray] = []
        waiting = [(self.problem.v_minus, 0)]
        while waiting and len(found) + len(waiting) <= most:
            v, count = waiting.pop()
            approaching = self._approaching(v)
            if not approaching.size:
                found.append(v)
            waiting += [(after, count + 1) for after in self._after(v, approaching, count)]
        if not waiting:
            return found, True
        # Too many orders: random ones, which begin with any contact with equal probability.
        found, self.unfinished = [], 0
        for _ in range(most):
            v, count = self.problem.v_minus, 0
            while (approaching := self._approaching(v)).size:
                ends = list(self._after(v, random.permutation(approaching)[:1], count))
                if not ends:
                    break
                v, count = ends[0], count + 1
            else:
                found.append(v)
        return found, False

    def _approaching(self, v: FloatArray) -> IntArray:
        """Return the numbers of the collisions that approach at velocity v."""
        return np.flatnonzero(self._normal(v) < -self.rest)

    def _after(self, v: FloatArray, numbers: IntArray, count: int) -> Iterator[FloatArray]:
        """Yield the velocities after whole impacts of single collisions ``numbers``, each starting from v.

        None is yielded, and ``unfinished`` counted, if ``count`` collisions are too many or no impulse separates.
        """
        for i in numbers:
            one = self.collisions[i]
            try:
                if count >= self.most:
                    raise NoSeparationError
                yield v + single_impact(one, one.velocity(v), float(self.e[i]), self.law).impulse @ one.Y
            except NoSeparationError:
                self.unfinished += 1

    def interleaved(self, random: np.random.Generator, *, even: bool = False) -> FloatArray | None:
        """Return the velocity after impulses in parts, at random contacts or evenly at all; None if they do not end."""
        n = len(self.collisions)
        v, left = self.problem.v_minus, np.zeros(n)
        prefer = random.dirichlet(np.full(n, 0.5)) + 1e-3
        late = random.choice([0.02, 0.3, 1.0, 5.0, 50.0])  # weight of restitution while other contacts still compress
        pieces = float(np.exp(random.uniform(np.log(0.03), np.log(0.06) if even else 0.0)))
        # For each contact: impulse so far, impulse of its longest compression, and its largest restitution impulse.
        taken, longest, stored = np.zeros(n), np.zeros(n), np.zeros(n)
        for _ in range(self.most):
            u = self._normal(v)
            presses = u < -self.rest
            gives = ~presses & (left > 0.0)
            weight = prefer * (presses + late * gives)
            if not weight.any():
                return v
            if even:
                i = int(np.argmin(np.where((presses if presses.any() else gives), taken, np.inf)))
            else:
                total = weight.cumsum()
                i = int(np.searchsorted(total, random.random() * total[-1], side="right"))
            one = self.collisions[i]
            start = State(np.zeros(len(one.J)), one.velocity(v), 0.0)
            try:
                if presses[i]:
                    longest[i] = max(longest[i], -u[i] / one.W[0, 0])
                    last = self._compress(one, start, pieces * float(longest[i]))
                    given = self.e[i] * last.p[0] if self.law == "poisson" else -(self.e[i] ** 2) * last.work
                    left[i] += float(given)
                else:
                    start.u[0] = max(0.0, float(start.u[0]))
                    stored[i] = max(stored[i], left[i])
                    piece = min(float(left[i]), pieces * float(stored[i]))
                    quantity = normal_impulse if self.law == "poisson" else normal_work
                    last = impulse_path(one.W, one.mu, start, quantity, piece)[-1].states[-1]
                    left[i] -= piece
            except NoSeparationError:
                break
            v = v + last.p @ one.Y
            taken[i] += float(last.p[0])
        self.unfinished += 1
        return None

    @staticmethod
    def _compress(one: Collision, start: State, piece: float) -> State:
        """Return the state of a collision after a normal impulse ``piece``, or at maximum compression if earlier."""
        if one.mu == 0.0:
            u, w = float(start.u[0]), float(one.W[0, 0])
            p = min(piece, -u / w) * np.eye(len(one.J))[0]
            return State(p, start.u + one.W @ p, float(u * p[0] + 0.5 * w * p[0] ** 2))
        last = impulse_path(one.W, one.mu, start, normal_impulse, piece)[-1].states[-1]
        if last.u[0] <= 0.0:
            return last
        return impulse_path(one.W, one.mu, start, normal_velocity, 0.0)[-1].states[-1]
