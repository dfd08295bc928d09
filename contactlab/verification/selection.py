"""How far recorded forces are from those selected among all that solve the rigid problem; by another method.

The step goes along a branch of compliances in the space of the velocities. Here the dense LCP of an island, every
contact giving way by eps along its normal and both tangents, is solved by Lemke's method for two small eps, and the
line through the two answers is read at eps = 0; where a contact creeps, or gaps contradict one another, there is one
for every eps, and the nearest counts. Rows of joints stay rigid: what they do about a change of the contact
forces is eliminated, those at their bounds doing nothing. Nothing is asked of islands in which W is regular: no other
forces make the same velocities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.verification.island import ContactProblem, JointProblem
from contactlab.verification.islands import Islands, Matrix
from contactlab.verification.portion import Portion, groups
from contactlab.verification.report import SelectionReport

if TYPE_CHECKING:
    from contactlab.recording.recording import Recording
    from contactlab.verification.joints import JointLaws

MOST = 24  # contacts of an island that is looked at
REGULAR = 1e-9  # least eigenvalue of W, of the largest, at which it is regular
EPS = (1e-7, 1e-9, 1e-6)  # of the largest response, with RATIO times as much beside each
RATIO = 4.0
NEAR = 1e-5  # distance that is not looked at more closely
CLOSED = 1e-8  # rate of an unloaded contact, of the largest one that the island's loads make: below, it may act
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
        joints = dict(groups(joined.island))
        alone: dict[int, list[IntArray]] = {}
        for number, contacts in groups(problem.island):
            if contacts.size > MOST:
                self.larger += 1
            elif number in joints:
                self._compare(portion, islands, problem, rates, contacts, _Joints.of(joined, laws, joints[number]))
            else:
                alone.setdefault(contacts.size, []).append(contacts)
        for chosen in alone.values():
            own = np.array(chosen)
            regular = _regular(problem, own)
            self.unique += int(regular.sum())
            for contacts in own[~regular]:
                self._compare(portion, islands, problem, rates, contacts, None)

    def _compare(
        self,
        portion: Portion,
        islands: Islands,
        problem: ContactProblem,
        rates: FloatArray,
        contacts: IntArray,
        joints: _Joints | None,
    ) -> None:
        """Compare one island, whose ``contacts`` these are."""
        number = problem.island[contacts[0]]
        k, s_plus = problem.rows.k[contacts], rates[contacts]
        loads = problem.h[contacts] * problem.W.diagonal()[contacts] * problem.fN[contacts]
        fast = np.abs(rates[_rows_of(problem, contacts)]).max() + np.abs(loads).max()
        acting = contacts[(problem.fN[contacts] > 0.0) | (s_plus <= CLOSED * fast)]
        if not acting.size:
            self.unique += 1
            return
        if np.any((k[:, 0] != k[:, 1]) & ~np.isnan(k[:, 0])):
            self.lost += 1
            return
        own = _rows_of(problem, acting)
        W = problem.W[own][:, own].toarray()
        if joints is not None:
            W = joints.eliminated(W, (problem.J[own] @ joints.Y.T).toarray())
            if _is_regular(_three(W, acting.size)[None])[0]:
                self.unique += 1
                return
        distance = _distance(problem, acting, own, W, rates[own])
        if distance is None:
            self.lost += 1
            return
        self.compared += 1
        if self.step < 0 or not distance <= self.worst:
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
        slack = WITHIN * (1.0 + np.abs(force))
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
    part = problem.W[rows.ravel()][:, rows.ravel()].tocoo()
    size = rows.shape[1]
    W = np.zeros((rows.shape[0], size, size))
    W[part.row // size, part.row % size, part.col % size] = part.data
    return _is_regular(W)


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
    q = rates - A @ force
    angles = np.pi * np.arange(r) / r
    axes = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    owner = np.kron(np.eye(nc), np.ones((r, 1)))
    alike = np.zeros_like(A)
    alike[:nc, :nc] = np.eye(nc)
    alike[nc:, nc:] = np.kron(np.eye(nc), axes @ axes.T)
    z = np.concatenate((problem.fN[contacts], problem.plus[slips], problem.minus[slips], problem.slack[contacts]))
    size = float(np.abs(A).max())
    recorded = np.concatenate((force[:nc], _resultants(friction, axes)))
    largest, nearest = float(np.abs(recorded).max()), None

    def answer(eps: float) -> FloatArray | None:
        soft = A + eps * size * alike
        NN, NF, FN, FF = soft[:nc, :nc], soft[:nc, nc:], soft[nc:, :nc], soft[nc:, nc:]
        none, mu = np.zeros((nc, nc)), np.diag(rows.mu[contacts])
        M = np.block([
            [NN, NF, -NF, none],
            [FN, FF, -FF, owner],
            [-FN, -FF, FF, owner],
            [mu, -owner.T, -owner.T, none],
        ])  # fmt: skip
        result = lcp.solve(lcp.LCP(M, np.concatenate((q, -q[nc:], np.zeros(nc)))), lcp.Lemke(), z0=z)
        fN, plus, minus, _ = np.split(result.z, (nc, nc + nc * r, nc + 2 * nc * r))
        solved = result.status is lcp.Status.SOLVED
        return np.concatenate((fN, _resultants(plus - minus, axes))) if solved else None

    for eps in EPS:
        one, other = answer(eps), answer(RATIO * eps)
        if one is not None and other is not None:
            off = float(np.abs(recorded - one + (other - one) / (RATIO - 1.0)).max())
            off = off / largest if largest > 0.0 else float(off > 0.0)
            nearest = off if nearest is None else min(off, nearest)
            if nearest <= NEAR:
                break
    return nearest


def _resultants(friction: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the tangential forces of contacts along two axes, of those along r directions each."""
    return np.asarray((friction.reshape(-1, axes.shape[0]) @ axes).ravel())
