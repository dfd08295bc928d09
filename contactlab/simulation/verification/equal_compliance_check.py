"""Distance of recorded forces from the equal-compliance forces, computed by an independent method.

The step follows a branch of compliances in the velocities. Here every contact of an island has the compliance eps along
its normal and both tangents, and the forces are computed by Newton's method from the recorded ones; if these are far,
with a pyramid also by Lemke's method. If the result is not close, it is extrapolated linearly from two values of eps to
0. If a contact creeps, or gaps are inconsistent, the forces depend on eps. Then the closest result counts, beginning
with the branch's end. Joint rows stay rigid: their reaction to a change of the contact forces is eliminated, except for
rows at their bounds. Islands with a regular W are skipped, because no other forces give the same velocities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from contactlab.constraint_solver.certificate import ForceChoice
from contactlab.multibody.spatial.arrays import BoolArray, FloatArray, IntArray
from contactlab.simulation.verification.island import ContactProblem, JointProblem
from contactlab.simulation.verification.joints import JointLaws
from contactlab.simulation.verification.portion import TINY, Found, Islands, StepSlice, groups, largest_of

MOST = 24  # maximum number of contacts of an island that is checked
REGULAR = 1e-9  # minimum eigenvalue of a regular W, relative to the largest
# Compliances from large to small, two per decade, relative to the largest response.
EPS = tuple(10.0 ** (-np.arange(8, 19) / 2.0))
END = 1e-7, 1e-9  # relative to the minimum and maximum response of a normal: the larger is the compliance at the end
# Smaller compliances, for inconsistent rates: eight per decade, because each has different forces.
SMALLER = tuple(10.0 ** (-np.arange(1, 37) / 8.0))
# Compliances of Lemke's method: relative to the largest response, and to the end.
BY_LEMKE = (1e-6, 1e-7, 1e-9), (1.0, 1e-1, 1e-2, 1e-3)
RATIO = 4.0  # ratio of the two compliances of the extrapolation to 0
NEAR = 1e-5  # distance that needs no closer check
WITHIN_SIGHT = 1e-2  # distance up to which all results count; a larger one is measured at the end of the path, or down
FAR = 1e-2  # to this part of it, where rounding does not show
ROUNDING = 1e-10  # relative to the forces that would stop the motion: if all are smaller, they are rounding
CLOSED = 1e-8  # rate of an unloaded contact, relative to the largest rate of a load, below which it may act
WITHIN = 1e-9  # relative distance to a bound of a force at the bound
NEWTON, ARRIVED = 40, 1e-12  # steps with the exact cone, and their accuracy relative to the largest force
# Their last step, relative to the largest force. In the null space of W a small compliance hardly changes the residual.
STEP = 1e-4
DEPENDENT = 1e-10  # singular value of dependent joint rows, relative to the largest


@dataclass(frozen=True)
class SelectionReport:
    """Distance of recorded forces from the equal-compliance forces.

    The distance covers all islands. If the branch of compliances ends early, a step uses forces that are not selected.
    The condition ``choice`` covers only islands whose forces are recorded as selected.
    """

    islands: int  # number of islands checked
    unique: int  # number of them in which no other forces give the same velocities
    larger: int  # number of islands with too many contacts to be checked
    lost: int  # number of islands whose selected forces were not found
    # The largest difference of forces over the largest force, over the compared islands, and its place (-1 without
    # any). It is infinite if forces should be compared and none of the selected ones were found.
    distance: float
    step: int
    island: int

    def __str__(self) -> str:
        far = "not selected" if math.isinf(self.distance) else f"{self.distance:.1e} of the largest force"
        where = f" (step {self.step}, island {self.island})" if self.step >= 0 else ""
        left = [f"{self.unique} of {self.islands} islands without a choice"]
        left += [f"{self.larger} larger ones not looked at"] if self.larger else []
        left += [f"{self.lost} not found anew"] if self.lost else []
        return f"selection: {far} off{where}; {', '.join(left)}"


class EqualComplianceCheck:
    """Collector of findings."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(("unique", "larger", "lost"), 0)
        # Distance, step and label of compared islands.
        self._compared: list[tuple[float, int, int]] = []

    def report(self) -> SelectionReport:
        """Return the findings."""
        unique, larger, lost = self._counts.values()
        none = (math.inf if lost else 0.0, -1, -1)
        worst = max(self._compared, key=lambda one: math.inf if math.isnan(one[0]) else one[0], default=none)
        return SelectionReport(len(self._compared) + unique + lost, unique, larger, lost, *worst)

    def take(
        self,
        portion: StepSlice,
        problem: ContactProblem,
        joined: JointProblem,
        laws: JointLaws,
        islands: Islands,
        sound: BoolArray,
    ) -> Found:
        """Compare the forces of the ``sound`` islands with the forces of equal compliance, and count the islands.

        Return the finding "choice": the distances between the two, of islands whose forces are recorded as selected.
        """
        found = list(self._distances(problem, joined, laws, sound))
        numbers, off = np.array([number for number, _ in found], dtype=np.int64), np.array([off for _, off in found])
        at, labels, rows = islands.at[numbers], islands.label[numbers], islands.row[numbers]
        self._compared += zip(off.tolist(), portion.steps[at].tolist(), labels.tolist(), strict=True)
        choices = np.append(portion.recording.rows["island_choice"], ForceChoice.UNCERTIFIED)
        said = choices[rows] == ForceChoice.EQUAL_COMPLIANCE
        return "choice", at[said], labels[said], -1, off[said]

    def _distances(
        self, problem: ContactProblem, joined: JointProblem, laws: JointLaws, sound: BoolArray
    ) -> Iterator[tuple[int, float]]:
        """Yield numbers and distances of the compared islands; count those too large, unique, or not found again.

        If a number of a ``sound`` island is not finite, all sound islands of the portion count as ``lost``.
        """
        k = problem.rows.k
        rates = problem.J @ problem.v_plus + np.concatenate((k[:, 0], problem.rows.kF))
        rates[: k.shape[0]] += problem.rows.gamma * problem.fN
        nc, island = problem.fN.size, problem.island
        looked = sound[island[problem.rows.row_contact]]
        if not all(np.isfinite(part).all() for part in (problem.W[looked].data, problem.force[looked], rates[looked])):
            self._counts["lost"] += np.unique(island[sound[island]]).size
            return
        give = problem.h * problem.W.diagonal()[:nc] + problem.rows.gamma
        least = np.full(problem.count, np.inf)
        np.minimum.at(least, island, np.where(give > 0.0, give, np.inf))
        ends = np.maximum(END[0] * least, END[1] * largest_of(give, island, problem.count))
        fast = problem.h * problem.W.diagonal()[:nc] * problem.fN + np.abs(rates[:nc])
        acting = (problem.fN > 0.0) | (rates[:nc] <= CLOSED * largest_of(fast, island, problem.count)[island])
        joints = dict(groups(joined.island))
        for number, contacts in groups(island):
            if not sound[number]:
                continue
            if contacts.size > MOST:
                self._counts["larger"] += 1
                continue
            found = _compared(
                problem, rates, contacts, acting[contacts], joined, laws, joints.get(number), ends[number]
            )
            if isinstance(found, float):
                yield number, found
            else:
                self._counts[found] += 1


def _compared(
    problem: ContactProblem,
    rates: FloatArray,
    contacts: IntArray,
    active: BoolArray,
    joined: JointProblem,
    laws: JointLaws,
    joints: IntArray | None,
    end: float,
) -> float | str:
    """Return the distance of the forces of one island with these ``contacts`` from the selected ones.

    ``joints`` are its joint rows, None without any. The result is "unique" if no other forces give the same velocities,
    and "lost" if no equal-compliance forces are found.
    """
    # The rows of the contacts: their normals, then r directions each.
    n, r = contacts.size, problem.rows.directions.shape[1] - 1
    own = np.concatenate((contacts, (problem.fN.size + r * contacts[:, None] + np.arange(r)).ravel()))
    W = problem.W[own][:, own].toarray()
    if joints is not None:
        W = _without_joints(problem, own, W, joined, laws, joints)
    # The forces are unique if W of the normals and of two directions, at 0 and 90 degrees, is regular.
    some = np.append(np.full(n, True), np.tile(np.isin(np.arange(r), (0, r // 2)), n))
    values = np.linalg.eigvalsh(W[np.ix_(some, some)])
    if values[0] > REGULAR * values[-1] or not active.any():
        return "unique"
    acting = np.append(active, np.repeat(active, r))
    own, W, contacts = own[acting], W[np.ix_(acting, acting)], contacts[active]
    k = problem.rows.k[contacts]
    if np.any((k[:, 0] != k[:, 1]) & ~np.isnan(k[:, 0])):
        return "lost"
    distance = _distance(problem, contacts, own, W, rates[own], end)
    return "lost" if distance is None else distance


def _without_joints(
    problem: ContactProblem, own: IntArray, W: FloatArray, joined: JointProblem, laws: JointLaws, joints: IntArray
) -> FloatArray:
    """Return W of the contact rows ``own`` after elimination of those joint rows ``joints`` that are not at a bound."""
    number, force = joined.number[joints], joined.force[joints]
    ends = [np.where(np.isfinite(end[number]), np.abs(end[number]), 0.0) for end in (laws.lo, laws.hi)]
    slack = WITHIN * np.maximum(np.abs(force), np.maximum(*ends))
    held = joints[(force > laws.lo[number] + slack) & (force < laws.hi[number] - slack)]
    give = laws.gamma[joined.at[held], joined.number[held]] / joined.h[held]
    response = (joined.J[held] @ joined.Y[held].T).toarray() + np.diag(give)
    coupling = (problem.J[own] @ joined.Y[held].T).toarray()
    return np.asarray(W - coupling @ np.linalg.pinv(response, rcond=DEPENDENT, hermitian=True) @ coupling.T)


def _distance(
    problem: ContactProblem, contacts: IntArray, own: IntArray, W: FloatArray, rates: FloatArray, end: float
) -> float | None:
    """Return the relative distance of the recorded forces from the selected ones; None if these are not found.

    ``end`` is the compliance at the branch's end.
    """
    nc, rows = contacts.size, problem.rows
    r = own.size // nc - 1
    slips = own[nc:] - problem.fN.size
    friction = (problem.plus - problem.minus)[slips]
    force = np.concatenate((problem.fN[contacts], friction))
    A = problem.h[contacts[0]] * W
    A[range(nc), range(nc)] += rows.gamma[contacts]
    free, mu = rates - A @ force, rows.mu[contacts]
    response = float(np.abs(A).max())
    compliances = np.append(end, np.sort([*(response * np.array(EPS)), *(end * np.array(SMALLER))])[::-1])
    angles = np.pi * np.arange(r) / r
    axes = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    recorded = np.concatenate((force[:nc], _resultants(friction, axes)))
    to_axes = np.zeros((nc * 3, own.size))
    to_axes[:nc, :nc], to_axes[nc:, nc:] = np.eye(nc), np.kron(np.eye(nc), np.linalg.pinv(axes))
    law = to_axes @ A @ to_axes.T, to_axes @ free, mu, 0 if problem.cone or r < 2 else 2 * r
    stopping = (abs(problem.J[own]) @ problem.speed) / np.maximum(np.diagonal(A), TINY)
    largest = max(float(np.abs(recorded).max()), ROUNDING * float(stopping.max()), TINY)
    nearest = _nearest(recorded, largest, compliances, lambda eps, start: _solve_by_newton(*law, eps, start))
    if problem.cone or (nearest is not None and nearest <= NEAR):
        return nearest
    z = np.concatenate((force[:nc], problem.plus[slips], problem.minus[slips], problem.slack[contacts]))
    # Below a thousandth of the branch's end, any recorded forces solve this LCP to its tolerance.
    compliances = np.concatenate((end * np.array(BY_LEMKE[1]), response * np.array(BY_LEMKE[0])))
    answered = _nearest(recorded, largest, compliances, lambda eps, _: _solve_by_lemke(A, free, mu, axes, eps, z))
    return min((one for one in (nearest, answered) if one is not None), default=None)


def _nearest(
    recorded: FloatArray,
    largest: float,
    compliances: FloatArray,
    solve: Callable[[float, FloatArray], FloatArray | None],
) -> float | None:
    """Return the distance of recorded forces from the closest equal-compliance forces, relative to ``largest``.

    ``solve(eps, start)`` returns the forces with compliance eps, or None. The first of ``compliances`` is the end of
    the path; the others decrease. Forces that are not close to the recorded ones are also extrapolated to eps = 0. The
    search ends at the first close forces. If all are far, only compliances near the first one count. Return None if
    no forces are found.

    Each search starts at the recorded forces. If it fails, it starts again at the previous result: for a small
    compliance Newton's method may converge only from the forces of a larger one.
    """
    starts, distances = [recorded], list[tuple[float, float]]()
    for eps in compliances.tolist():
        for start in starts:
            one = solve(eps, start)
            if one is not None:
                break
        else:
            continue
        starts = [recorded, one]
        off = float(np.abs(recorded - one).max()) / largest
        other = None if off <= NEAR else solve(RATIO * eps, start)
        if other is not None:
            off = min(off, float(np.abs(recorded - one + (other - one) / (RATIO - 1.0)).max()) / largest)
        distances.append((eps, off))
        if off <= NEAR:
            break
    nearest = min((off for _, off in distances), default=math.inf)
    by_end = [off for eps, off in distances if FAR * compliances[0] <= eps <= compliances[0]]
    found = nearest if not by_end or nearest <= WITHIN_SIGHT else min(by_end)
    return found if distances else None


def _solve_by_lemke(
    A: FloatArray, free: FloatArray, mu: FloatArray, axes: FloatArray, eps: float, z: FloatArray
) -> FloatArray | None:
    """Solve the LCP of contacts with compliance eps by Lemke's method; return their forces, or None without a solution.

    A is the response of the contact rows to forces (h W + gamma), ``free`` their rates without forces, both
    [normals; directions]; ``z`` is the start. The forces (3 nc,) are normals, then tangential forces along two axes
    contact by contact.
    """
    from scipy.linalg import block_diag

    import lcp

    nc, r, one = mu.size, axes.shape[0], np.eye(mu.size)
    soft = A + eps * block_diag(one, np.kron(one, axes @ axes.T))
    # The row and the sign of each force in [fN | fF+ | fF-], and the rows of the cones.
    of = np.append(np.arange(nc * (1 + r)), np.arange(nc, nc * (1 + r)))
    sign, edges = np.repeat((1.0, -1.0), (nc * (1 + r), nc * r)), np.tile(np.kron(one, np.ones((r, 1))), (2, 1))
    M = np.zeros((z.size, z.size))
    M[:-nc, :-nc] = sign[:, None] * soft[np.ix_(of, of)] * sign
    M[nc:-nc, -nc:], M[-nc:, nc:-nc], M[-nc:, :nc] = edges, -edges.T, np.diag(mu)
    result = lcp.solve(lcp.LCP(M, np.append(sign * free[of], np.zeros(nc))), lcp.Lemke(), z0=z)
    fN, plus, minus, _ = np.split(result.z, (nc, nc + nc * r, nc + 2 * nc * r))
    solved = result.status is lcp.Status.SOLVED
    return np.concatenate((fN, _resultants(plus - minus, axes))) if solved else None


def _solve_by_newton(
    W: FloatArray, b: FloatArray, mu: FloatArray, corners: int, eps: float, start: FloatArray
) -> FloatArray | None:
    """Solve p = P(p - T (W p + eps p + b)) by Newton's method from ``start``; return p, or None without convergence.

    p has normals (nc,), then two axes of each contact. P clamps normal forces at 0 and projects tangential ones onto
    the disc mu pN, or onto the regular polygon of this radius with this number of corners.
    """
    nc = mu.size
    A, one = W + eps * np.eye(b.size), np.eye(b.size)
    T = 1.0 / np.maximum(np.diagonal(A), TINY)
    T[nc:] = np.repeat(T[nc:].reshape(nc, 2).min(axis=1), 2)
    p, last = start.copy(), np.inf
    for _ in range(NEWTON):
        x = p - T * (A @ p + b)
        moved, slope = np.zeros(b.size), np.zeros((b.size, b.size))
        pressed = np.flatnonzero(x[:nc] > 0.0)
        across = nc + 2 * pressed[:, None] + np.arange(2)
        moved[pressed], slope[pressed, pressed] = x[pressed], 1.0
        moved[across], turned, widened = _project(x[across], mu[pressed] * x[pressed], corners)
        slope[across[:, :, None], across[:, None, :]] = turned
        slope[across, pressed[:, None]] = mu[pressed, None] * widened
        largest = np.abs(moved).max()
        if last <= STEP * largest and np.abs(moved - p).max() <= ARRIVED * largest:
            return moved
        try:
            step = np.linalg.solve(one - slope @ (one - T[:, None] * A), moved - slope @ (x + T * b))
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(step).all():
            return None
        last = float(np.abs(step - p).max())
        p[:] = step
    return None


def _project(x: FloatArray, radii: FloatArray, corners: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Project x (n, 2) onto regular polygons with these radii (n,), or onto discs if they have no corners.

    Return the points, and their derivatives by x (n, 2, 2) and by the radius (n, 2). The first corner is on the first
    axis.
    """
    angle, shape = np.arctan2(x[:, 1], x[:, 0]), np.array([1.0, 0.0])
    if corners:
        # The nearest side is the one in the direction of x.
        half = np.pi / corners
        angle, shape = (2.0 * np.floor(0.5 * angle / half) + 1.0) * half, np.array([np.cos(half), np.sin(half)])
    # Rows: the normal of the side, and its direction.
    frames = np.stack((np.cos(angle), np.sin(angle), -np.sin(angle), np.cos(angle)), axis=1).reshape(-1, 2, 2)
    local, ends = np.einsum("nij,nj->ni", frames, x), radii[:, None] * shape
    beyond = np.abs(local) > ends
    share = np.where(beyond, 0.0, 1.0)
    if not corners:
        share[:, 1] = np.where(beyond[:, 0], radii / np.maximum(local[:, 0], TINY), 1.0)
    points, widened = np.clip(local, -ends, ends), np.where(beyond, np.sign(local) * shape, 0.0)
    turned = np.swapaxes(frames, 1, 2) @ (share[:, :, None] * frames)
    return np.einsum("nij,ni->nj", frames, points), turned, np.einsum("nij,ni->nj", frames, widened)


def _resultants(friction: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the tangential forces of contacts along two axes, from forces along r directions each."""
    return np.asarray((friction.reshape(-1, axes.shape[0]) @ axes).ravel())
