"""How far recorded forces are from those selected among all that solve the rigid problem; by another method.

The step goes along a branch of compliances in the space of the velocities. Here the dense LCP of an island, every
contact giving way by eps along its normal and both tangents, is solved by Lemke's method for a small eps; where that is
not near, the line through the answers for two eps is read at 0. Where a contact creeps, or gaps contradict one another,
every eps has an answer of its own, and the nearest counts. Rows of joints stay rigid: what they do about a change of
the contact forces is eliminated, those at their bounds doing nothing. Nothing is asked of islands in which W is
regular: no other forces make the same velocities.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.verification.island import ContactProblem, JointProblem
from contactlab.verification.islands import Islands, Matrix, largest_of
from contactlab.verification.portion import TINY, Portion, groups
from contactlab.verification.report import SelectionReport

if TYPE_CHECKING:
    from contactlab.recording.recording import Recording
    from contactlab.verification.joints import JointLaws

MOST = 24  # contacts of an island that is looked at
REGULAR = 1e-9  # least eigenvalue of W, of the largest, at which it is regular
EPS = (1e-7, 1e-9, 1e-6)  # of the largest response, with RATIO times as much beside each
RATIO = 4.0
NEAR = 1e-5  # distance that is not looked at more closely
CLOSED = 1e-8  # rate of an unloaded contact, of the largest that a load of the island makes: below, it may act
WITHIN = 1e-9  # of a bound: a force nearer is at it
DEPENDENT = 1e-10  # singular value of rows of joints, of the largest, at which they are dependent


@dataclass(eq=False)
class Selections:
    """What was found so far."""

    compared: int = 0
    unique: int = 0
    larger: int = 0
    lost: int = 0
    worst: float = 0.0
    step: int = -1
    island: int = -1

    @staticmethod
    def of(recording: Recording) -> Selections | None:
        """Return an empty account, None for a record in which nothing was to be selected."""
        stepper = recording.stepper
        selects = stepper.solver is None and stepper.friction == "pyramid" and not recording.world.resists_turning
        return Selections() if selects else None

    def report(self) -> SelectionReport:
        """Return what was found."""
        distance = np.inf if self.lost and not self.compared else self.worst
        looked = self.compared + self.unique + self.lost
        return SelectionReport(looked, self.unique, self.larger, self.lost, distance, self.step, self.island)

    def take(
        self, portion: Portion, problem: ContactProblem, joined: JointProblem, laws: JointLaws, islands: Islands
    ) -> None:
        """Enter the islands of a portion."""
        k = problem.rows.k
        rates = problem.J @ problem.v_plus + np.concatenate((k[:, 0], problem.rows.kF))
        rates[: k.shape[0]] += problem.rows.gamma * problem.fN
        if not all(np.isfinite(part).all() for part in (problem.W.data, problem.force, rates)):
            self.lost += np.unique(problem.island).size
            return
        nc, island = problem.fN.size, problem.island
        fast = problem.h * problem.W.diagonal()[:nc] * problem.fN + np.abs(rates[:nc])
        acting = (problem.fN > 0.0) | (rates[:nc] <= CLOSED * largest_of(fast, island, problem.count)[island])
        joints = dict(groups(joined.island))
        alone: dict[int, list[IntArray]] = {}
        for number, contacts in groups(problem.island):
            if contacts.size > MOST:
                self.larger += 1
            elif number in joints:
                held = _Joints.of(joined, laws, joints[number])
                self._compare(portion, islands, problem, rates, contacts[acting[contacts]], held)
            else:
                alone.setdefault(contacts.size, []).append(contacts)
        for chosen in alone.values():
            own = np.array(chosen)
            regular = _regular(problem, own)
            self.unique += int(regular.sum())
            for contacts in own[~regular]:
                self._compare(portion, islands, problem, rates, contacts[acting[contacts]], None)

    def _compare(
        self,
        portion: Portion,
        islands: Islands,
        problem: ContactProblem,
        rates: FloatArray,
        contacts: IntArray,
        joints: _Joints | None,
    ) -> None:
        """Compare one island, of which these ``contacts`` act."""
        if not contacts.size:
            self.unique += 1
            return
        k = problem.rows.k[contacts]
        if np.any((k[:, 0] != k[:, 1]) & ~np.isnan(k[:, 0])):
            self.lost += 1
            return
        own = _rows_of(problem, contacts)
        W = problem.W[own][:, own].toarray()
        if joints is not None:
            W = joints.eliminated(W, (problem.J[own] @ joints.Y.T).toarray())
            if _is_regular(_three(W, contacts.size)[None])[0]:
                self.unique += 1
                return
        distance = _distance(problem, contacts, own, W, rates[own])
        if distance is None:
            self.lost += 1
            return
        self.compared += 1
        if self.step < 0 or not distance <= self.worst:
            number = problem.island[contacts[0]]
            self.worst, self.step = distance, int(portion.steps[islands.at[number]])
            self.island = int(islands.label[number])


@dataclass(frozen=True, eq=False)
class _Joints:
    """Rows of joints of an island that hold, whatever the contacts do."""

    Y: Matrix
    W: FloatArray  # softening over h included

    @staticmethod
    def of(joined: JointProblem, laws: JointLaws, own: IntArray) -> _Joints:
        """Return those of the rows ``own`` (m,) of an island that are not at a bound."""
        number, force = joined.number[own], joined.force[own]
        ends = [np.where(np.isfinite(end[number]), np.abs(end[number]), 0.0) for end in (laws.lo, laws.hi)]
        slack = WITHIN * np.maximum(np.abs(force), np.maximum(*ends))
        own = own[(force > laws.lo[number] + slack) & (force < laws.hi[number] - slack)]
        give = laws.gamma[joined.at[own], joined.number[own]] / joined.h[own]
        return _Joints(joined.Y[own], (joined.J[own] @ joined.Y[own].T).toarray() + np.diag(give))

    def eliminated(self, W: FloatArray, coupling: FloatArray) -> FloatArray:
        """Return W of contacts whose ``coupling`` with the rows is J M^-1 J_joints^T."""
        return W - coupling @ np.linalg.pinv(self.W, rcond=DEPENDENT, hermitian=True) @ coupling.T


def _rows_of(problem: ContactProblem, contacts: IntArray) -> IntArray:
    """Return the rows of some contacts: their normals, then r directions each."""
    nc, r = problem.fN.size, problem.rows.directions.shape[1] - 1
    return np.concatenate((contacts, (nc + r * contacts[:, None] + np.arange(r)).ravel()))


def _regular(problem: ContactProblem, contacts: IntArray) -> NDArray[np.bool_]:
    """Return whether W of islands is regular, whose contacts (m, n) are; over the normal and two directions each."""
    nc, r = problem.fN.size, problem.rows.directions.shape[1] - 1
    first = nc + r * contacts
    rows = np.stack([contacts, first, first + r // 2][: 1 + min(r, 2)], axis=2).reshape(contacts.shape[0], -1)
    size = rows.shape[1]
    # J M^-1 J^T of more rows than there are velocities they act on is singular, whatever its eigenvalues cost.
    part = problem.J[rows.ravel()].tocoo()
    acted = np.unique(np.stack((part.row // size, part.col)), axis=1)[0]
    regular = np.bincount(acted, minlength=rows.shape[0]) >= size
    if not regular.any():
        return regular
    rows = rows[regular]
    part = problem.W[rows.ravel()][:, rows.ravel()].tocoo()
    W = np.zeros((rows.shape[0], size, size))
    W[part.row // size, part.row % size, part.col % size] = part.data
    regular[regular] = _is_regular(W)
    return regular


def _three(W: FloatArray, nc: int) -> FloatArray:
    """Return W of normals and two directions of nc contacts of W of all their rows."""
    r = W.shape[0] // nc - 1
    first = nc + r * np.arange(nc)
    rows = np.concatenate([np.arange(nc), first, first + r // 2][: 1 + min(r, 2)])
    return np.asarray(W[np.ix_(rows, rows)])


def _is_regular(W: FloatArray) -> NDArray[np.bool_]:
    values = np.linalg.eigvalsh(W)
    return np.asarray(values[:, 0] > REGULAR * values[:, -1])


def _distance(
    problem: ContactProblem, contacts: IntArray, own: IntArray, W: FloatArray, rates: FloatArray
) -> float | None:
    """Return how far the recorded forces are from the selected ones, of the largest; None where they are not found."""
    import lcp

    nc, rows = contacts.size, problem.rows
    r = own.size // nc - 1
    slips = own[nc:] - problem.fN.size
    friction = (problem.plus - problem.minus)[slips]
    force = np.concatenate((problem.fN[contacts], friction))
    A = problem.h[contacts[0]] * W
    A[range(nc), range(nc)] += rows.gamma[contacts]
    axes, alike, of, sign, edges = _pattern(nc, r)
    z = np.concatenate((problem.fN[contacts], problem.plus[slips], problem.minus[slips], problem.slack[contacts]))
    M = np.zeros((z.size, z.size))
    M[nc:-nc, -nc:], M[-nc:, nc:-nc], M[-nc:, :nc] = edges, -edges.T, np.diag(rows.mu[contacts])
    q = np.append(sign * (rates - A @ force)[of], np.zeros(nc))
    recorded, size = np.concatenate((force[:nc], _resultants(friction, axes))), float(np.abs(A).max())
    largest, nearest = max(float(np.abs(recorded).max()), TINY), None

    def answer(eps: float) -> FloatArray | None:
        M[:-nc, :-nc] = sign[:, None] * (A + eps * size * alike)[np.ix_(of, of)] * sign
        result = lcp.solve(lcp.LCP(M, q), lcp.Lemke(), z0=z)
        fN, plus, minus, _ = np.split(result.z, (nc, nc + nc * r, nc + 2 * nc * r))
        solved = result.status is lcp.Status.SOLVED
        return np.concatenate((fN, _resultants(plus - minus, axes))) if solved else None

    for eps in EPS:
        one = answer(eps)
        other = None if one is None or np.abs(recorded - one).max() <= NEAR * largest else answer(RATIO * eps)
        if one is not None:
            along = 0.0 * one if other is None else (other - one) / (RATIO - 1.0)
            off = float(np.abs(recorded - one + along).max()) / largest
            nearest = off if nearest is None else min(off, nearest)
            if nearest <= NEAR:
                break
    return nearest


@functools.lru_cache(maxsize=4 * MOST)
def _pattern(nc: int, r: int) -> tuple[Any, ...]:
    """Return what LCPs of nc contacts with r directions have in common.

    Axes of the directions; the compliance alike for normals and tangents; rows and signs of the forces, which are along
    the rows, then against the directions; the slacks that the directions lean on.
    """
    angles, one = np.pi * np.arange(r) / r, np.eye(nc)
    axes = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    alike = np.zeros((nc * (1 + r), nc * (1 + r)))
    alike[:nc, :nc], alike[nc:, nc:] = one, np.kron(one, axes @ axes.T)
    of = np.append(np.arange(nc * (1 + r)), np.arange(nc, nc * (1 + r)))
    sign = np.append(np.ones(nc * (1 + r)), -np.ones(nc * r))
    return axes, alike, of, sign, np.tile(np.kron(one, np.ones((r, 1))), (2, 1))


def _resultants(friction: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the tangential forces of contacts along two axes, of those along r directions each."""
    return np.asarray((friction.reshape(-1, axes.shape[0]) @ axes).ravel())
