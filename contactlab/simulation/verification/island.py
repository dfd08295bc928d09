"""The conditions of islands, in plain numpy, on the recorded forces and velocities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse

from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.verification.contacts import ContactRows
from contactlab.simulation.verification.joints import JointLaws
from contactlab.simulation.verification.portion import TINY, Matrix, groups, largest_of, worst_of

#: Measures: condition, its contacts or rows, values.
Measures = tuple[str, IntArray, FloatArray]
#: A measure, not a condition: the residual in Coulomb's law if a friction backend was used.
COULOMB = "coulomb"
# Fraction of the island's largest force below which a force counts as zero: its rounding is 1e-10 of the largest.
NOTHING = 1e-6
# Minimum scale of a rate, relative to the largest rate of a motion with the same energy.
FAINT = 1e-4
ROUNDING = 64.0 * float(np.finfo(np.float64).eps)  # of a row's rate, relative to its terms before cancellation
# Equations that do not agree, as in the solvers: `contactlab.constraint_solver.kernels.bilateral`, and `constraints`.
CONSISTENT, NEARLY = 1e-9, 1e-2
ROUNDED, CONFIGURATION, MAX_UNCERTAIN, NEARLY_ASSEMBLED = 1e-10, 10.0, 3e-2, 3e-2
MANY = 6  # number of contacts with uncertain kN up to which all combinations are tried
SLACK = 1e-3  # allowance of values that follow from rates, relative to the allowance of slacks


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """The contacts of islands: rows, forces and velocities; columns are the velocities of all steps."""

    rows: ContactRows
    island: IntArray  # (nc,)
    count: int  # islands
    h: FloatArray  # (nc,)
    J: Matrix
    W: Matrix  # (nc + nr, nc + nr) J M^-1 J^T, without softening
    # (nc,), (nr,), (nr,), (ncone,) as recorded.
    fN: FloatArray
    plus: FloatArray
    minus: FloatArray
    slack: FloatArray
    v_free: FloatArray  # (n,) computed velocities without the forces of contacts and joints
    v_joints: FloatArray  # (n,) velocity changes by the rows of joints
    v_plus: FloatArray  # (n,) recorded velocities, with all forces
    speed: FloatArray  # (n,) the size of each velocity before cancellation
    kinetic_norm: FloatArray  # (count,) sqrt(v' M v) of the motion without contacts
    of_joints: FloatArray  # (count,) the largest balanced force of a compliant joint row
    cone: bool  # whether friction has the exact cone over two tangents (in a plane, one) in place of a pyramid
    law: str | None  # "coulomb" or "relaxed", the law of a friction backend; None without one

    @property
    def force(self) -> FloatArray:
        """The forces (nc + nr,) along the rows."""
        return np.concatenate((self.fN, self.plus - self.minus))

    @property
    def response(self) -> Matrix:
        """Change of the rates (nc + nr, nc + nr) per force, softening included."""
        return sparse.csr_matrix(sparse.diags(self.h[self.rows.row_contact]) @ self.W + sparse.diags(self._gamma))

    @property
    def diagonal(self) -> FloatArray:
        """Change of each row's rate (nc + nr,) per unit of its force, softening included."""
        return np.asarray(self.h[self.rows.row_contact] * self.W.diagonal() + self._gamma)

    @property
    def _gamma(self) -> FloatArray:
        return np.concatenate((self.rows.gamma, np.zeros(self.plus.size)))

    def measures(self) -> list[Measures]:
        """Return the largest violation over its scale of every condition, by island.

        If rounding decides the value of kN, the better choice for an island counts.
        """
        k, island = self.rows.k, self.island
        rank, doubtful = np.zeros(island.size, dtype=np.int64), ~((k[:, 0] == k[:, 1]) | np.isnan(k).any(axis=1))
        rows = np.flatnonzero(doubtful)
        for _, own in groups(island[rows]):
            rank[rows[own]] = np.arange(1, own.size + 1)
        found: list[Measures] = []
        least = np.full(self.count, np.inf)
        # If too many rows of an island are uncertain, the last ones have one value together.
        rank = np.minimum(rank, MANY)
        for choice in range(2 ** int(rank.max())) if island.size else ():
            second = doubtful & (choice >> np.maximum(rank - 1, 0) & 1 != 0)
            tried = list(self._measures(np.where(second, k[:, 1], k[:, 0])))
            worst = self._worst(tried)
            better, least = worst < least, np.minimum(worst, least)
            found = [
                (name, np.where(better[island[own]], own, old), np.where(better[island[own]], values, old_values))
                for (name, own, values), (_, old, old_values) in zip(tried, found or tried, strict=True)
            ]
        return found

    def _worst(self, measures: list[Measures]) -> FloatArray:
        """Return the largest violation of a condition (count,) in each island."""
        stated = [(own, values) for condition, own, values in measures if condition != COULOMB]
        own, values = (np.concatenate(part) for part in zip(*stated, strict=True))
        return largest_of(np.where(np.isnan(values), np.inf, values), self.island[own], self.count)

    def _measures(self, k: FloatArray) -> Iterator[Measures]:
        """Yield the residual of the problem and the mechanical conditions, with k the constant terms of the rows."""
        yield self._cone_residual(k) if self.cone else self._lcp_residual(k)
        yield from self._mechanics(k - self._relaxation() if self.law == "relaxed" else k)
        if self.law is not None:
            for _, own, values in self._mechanics(k):
                yield COULOMB, own, values

    def _relaxation(self) -> FloatArray:
        """Return mu times the largest sliding speed along an edge (nc,), by which a relaxed contact opens."""
        nc, leans, opening = self.fN.size, self.rows.cone_contacts, np.zeros(self.fN.size)
        slip = np.abs(self.J[nc:] @ self.v_plus + self.rows.kF)
        opening[leans] = self.rows.mu * largest_of(slip, self.rows.cone, leans.size)
        return opening

    def _rounding_error(self, k: FloatArray) -> FloatArray:
        """Return the maximum change of each rate (nc + nr,) by rounding of J v_free, in any arithmetic.

        For bodies that fall side by side, or a ball that rolls without load, the rate is only rounding and gives no
        scale. A normal is known only to rounding, so its rate contains this fraction of the tangential motion.
        """
        terms = abs(self.J) @ np.abs(self.v_free) + np.abs(np.concatenate((k, self.rows.kF)))
        motion = self.kinetic_norm[self.island[self.rows.row_contact]]
        return np.asarray(ROUNDING * (terms + np.sqrt(np.maximum(0.0, self.W.diagonal())) * motion))

    def _lcp_residual(self, k: FloatArray) -> Measures:
        """Return max |min(z, w)| of islands, in the scales of `lcp.contacts.kernels.island_acceptance`.

        Let R_i = h W_ii + gamma_i of a row, in friction the largest of its cone. sqrt(R_i) z_i and w_i / sqrt(R_i) are
        both roots of a power; a slack is a rate. z is measured relative to Z, the island's largest sqrt(R_i) |z_i|, and
        w_i relative to |q_i| + s_i Z, s_i = sqrt(R_i), for a cone max(mu / sqrt(R_N), 1 / sqrt(R_F)).
        """
        rows, nc = self.rows, self.fN.size
        owner, leans = rows.cone, rows.cone_contacts
        change = self.response @ self.force + self.J @ self.v_joints
        q = self.J @ self.v_free + np.concatenate((k, rows.kF))
        slip = q[nc:]
        used = np.bincount(owner, self.plus + self.minus, minlength=leans.size)
        q_all = np.concatenate((q[:nc], slip, -slip, np.zeros(leans.size)))
        left = rows.mu * self.fN[leans] - used
        blur = self._rounding_error(k)
        blur = np.concatenate((blur[:nc], blur[nc:], blur[nc:], np.zeros(leans.size)))
        owners = rows.owners
        island = self.island[owners]
        root = np.sqrt(np.maximum(0.0, self.diagonal))
        cones = largest_of(root[nc:], owner, leans.size)
        normals, along = root[:nc], cones[owner]
        unit = np.concatenate((normals, along, along, _inverse(cones)))
        opened = normals.copy()
        if self.law == "relaxed":
            # The slack of the cone enters the normal's row with mu.
            opened[leans] = np.maximum(normals[leans], rows.mu * cones)
        size = np.concatenate((opened, along, along, np.maximum(rows.mu * _inverse(normals[leans]), _inverse(cones))))
        forces = np.concatenate((self.fN, self.plus, self.minus))
        largest = largest_of(unit[: forces.size] * np.abs(forces), island[: forces.size], self.count)
        largest = np.maximum(largest, self.of_joints)[island]
        terms = np.abs(q_all) + size * largest
        # As in the step, a force at its bound has the slip speed.
        rate = slip + change[nc:]
        fastest = largest_of(np.abs(rate), owner, leans.size)
        first = np.searchsorted(owner, np.arange(leans.size))
        formed = np.where(left * self.diagonal[nc:][first] <= fastest, fastest, 0.0) if leans.size else self.slack

        def off(slack: FloatArray) -> FloatArray:
            along, normal = slack[owner], q[:nc] + change[:nc]
            if self.law == "relaxed":
                normal[leans] -= rows.mu * slack
            w = np.concatenate((normal, rate + along, along - rate, left))
            w = np.copysign(np.maximum(np.abs(w) - blur, 0.0), w)
            w_part = np.divide(w, terms, out=np.zeros_like(w), where=terms > 0.0)
            balanced = unit * np.concatenate((forces, slack))
            z_part = np.divide(balanced, largest, out=np.zeros_like(w), where=largest > 0.0)
            return np.asarray(np.abs(np.minimum(z_part, w_part)))

        # The recorded slack comes from rates that contain rounding of other equations.
        found = np.maximum(off(formed), SLACK * off(self.slack))
        _, worst = worst_of(found, island)
        return "lcp", owners[worst], found[worst]

    def _cone_residual(self, k: FloatArray) -> Measures:
        """Return the largest |r - P_K(r - u_hat)| over the contacts of islands, u_hat = (u_N + mu |u_T|, u_T).

        r = (fN, fF) is relative to the largest force, u to |q_i| + W_ii max |r|. A projection does not enlarge
        differences, so the effect of rounding of u on u_hat is subtracted.
        """
        rows, nc = self.rows, self.fN.size
        force, island = self.force, self.island
        q = self.J @ self.v_free + np.concatenate((k, rows.kF))
        size = largest_of(np.abs(force), island[rows.row_contact], self.count)
        size = np.where(size == 0.0, 1.0, size)[island]
        u = q + self.response @ force + self.J @ self.v_joints
        unit = np.abs(q) + self.diagonal * size[rows.row_contact]
        unit_c = np.maximum(unit[:nc], unit[nc:].reshape(nc, -1).max(axis=1))
        scale, mu = np.where(unit_c > 0.0, unit_c, 1.0), rows.mu
        own, slip = force[nc:].reshape(nc, -1) / size[:, None], u[nc:].reshape(nc, -1) / scale[:, None]
        normal = self.fN / size - (u[:nc] / scale + mu * np.linalg.norm(slip, axis=1))
        across = own - slip
        t = np.linalg.norm(across, axis=1)
        inside, below = (normal >= 0.0) & (t <= mu * normal), mu * t <= -normal
        edge = (normal + mu * t) / (1.0 + mu * mu)
        nearest = np.where(inside, normal, np.where(below, 0.0, edge))
        share = np.where(inside, 1.0, np.where(below, 0.0, mu * edge / np.where(t > 0.0, t, 1.0)))
        off = np.hypot(self.fN / size - nearest, np.linalg.norm(own - share[:, None] * across, axis=1))
        blur = self._rounding_error(k)
        aside = np.linalg.norm(blur[nc:].reshape(nc, -1), axis=1)
        off = np.maximum(off - np.hypot(blur[:nc] + mu * aside, aside) / scale, 0.0)
        _, worst = worst_of(off, island)
        return "lcp", worst, off[worst]

    def _mechanics(self, k: FloatArray) -> Iterator[Measures]:
        """Check the mechanical conditions of each contact on the recorded velocity, not on the velocity from z.

        A rate is relative to the size of its terms before cancellation, a force to the force that changes the row by
        this rate. A correct solution gives a few units of rounding, for any masses. A force is known only to the
        rounding of the island's largest force, so its scale is at least a small fraction of that. The scale of a rate
        is at least a fraction of the largest rate of such a motion.
        """
        rows, nc, island = self.rows, self.fN.size, self.island[self.rows.row_contact]
        fN, plus, minus, f = self.fN, self.plus, self.minus, self.force
        give = rows.gamma * fN
        rate = self.J @ self.v_plus + np.concatenate((k + give, rows.kF))
        scale = abs(self.J) @ self.speed + np.concatenate((np.abs(k) + np.abs(give), np.abs(rows.kF)))
        own = self.W.diagonal()
        scale = np.maximum(scale, FAINT * np.sqrt(np.maximum(0.0, own)) * self.kinetic_norm[island])
        force = np.divide(scale, self.diagonal, out=np.abs(f), where=self.diagonal > 0.0)
        product = np.maximum(np.abs(fN) * scale[:nc], force[:nc] * np.abs(rate[:nc]))
        contacts = np.arange(nc)
        yield "sign", contacts, np.maximum(0.0, -fN / _unit(force[:nc]))
        yield "gap", contacts, np.maximum(0.0, -rate[:nc]) / _unit(scale[:nc])
        yield "complementarity", contacts, np.abs(fN * rate[:nc]) / _unit(product)
        if not plus.size:
            return
        leans = rows.cone_contacts
        first = np.searchsorted(rows.cone, np.arange(leans.size))
        friction, slip = plus - minus, rate[nc:]

        def total(values: FloatArray) -> FloatArray:
            return np.asarray(np.add.reduceat(values, first))

        def most(values: FloatArray) -> FloatArray:
            return np.asarray(np.maximum.reduceat(values, first))

        # A moment cone has other units of speed than the normal row.
        sliding = np.where(np.arange(leans.size) < nc, scale[:nc][leans], 0.0)
        slip_scale = np.maximum(most(scale[nc:]), sliding)
        slip_force = most(force[nc:]) + rows.mu * force[:nc][leans]
        used, bound, fastest = total(plus + minus), rows.mu * fN[leans], most(np.abs(slip))
        if self.cone:
            # Lengths over orthonormal tangents; a pyramid uses sums and the fastest edge instead.
            used, fastest = np.sqrt(total(friction**2)), np.sqrt(total(slip**2))
        power = np.maximum((np.abs(bound) + used) * slip_scale, slip_force * fastest)
        yield "sign", leans, np.maximum(0.0, most(np.maximum(-plus, -minus)) / _unit(slip_force))
        yield "cone", leans, np.maximum(0.0, used - bound) / _unit(slip_force)
        yield "dissipation", leans, np.abs(total(friction * slip) + bound * fastest) / _unit(power)


@dataclass(frozen=True, eq=False)
class JointProblem:
    """Joint rows (m,) of islands; columns are the velocities of all steps."""

    # (m,) numbers, steps in the portion, islands, and recorded values.
    number: IntArray
    at: IntArray
    island: IntArray
    force: FloatArray
    error: FloatArray
    rate: FloatArray
    J: Matrix
    Y: Matrix
    v_plus: FloatArray  # (n,) as recorded
    speed: FloatArray  # (n,) the size of each velocity before cancellation
    kinetic_norm: FloatArray  # (m,) sqrt(v' M v) of the island's motion
    h: FloatArray  # (m,)

    def measures(self, laws: JointLaws) -> Iterator[Measures]:
        """Check the conditions of the rows; if rounding decides a row's k, the better choice counts."""
        rows, f, at = self.number, self.force, (self.at, self.number)
        equation, gamma, lo, hi = laws.equation[rows], laws.gamma[at], laws.lo[rows], laws.hi[rows]
        wanted = laws.error[at]
        off = np.abs(self.error - wanted) / (laws.unit[rows] + np.abs(wanted))
        own = np.asarray(self.J.multiply(self.Y).sum(axis=1)).ravel()
        least = FAINT * np.sqrt(np.maximum(0.0, own)) * self.kinetic_norm
        moving, size = self.J @ self.v_plus, abs(self.J) @ self.speed
        rate_off = np.abs(self.rate - moving)
        everywhere = np.arange(rows.size)
        yield (
            "rows",
            everywhere,
            np.maximum(off, np.minimum(rate_off / _unit(np.maximum(least, size)), rate_off / 1e-12)),
        )
        response, give = self.h * own + gamma, np.where(equation, 0.0, gamma * f)
        # A force between bounds is computed as its distance to one of them, and has the rounding of that bound.
        largest = np.maximum(*(np.abs(np.where(np.isfinite(end), end, 0.0)) for end in (lo, hi)))
        least = np.maximum(least, FAINT * response * largest)
        found, residuals = [], []
        for k in laws.k[at].T:
            s = moving + k + give
            scale = np.maximum(least, size + np.abs(k) + np.abs(give))
            unit = np.divide(scale, response, out=np.abs(f), where=response > 0.0)
            residuals.append((s, scale, k))
            outside = np.maximum(0.0, np.maximum(lo - f, f - hi)) / _unit(unit)
            law = np.zeros(rows.size)
            for room, slack in ((f - lo, np.maximum(0.0, s)), (hi - f, np.maximum(0.0, -s))):
                product = np.abs(room) * slack / _unit(np.maximum(np.abs(room) * scale, unit * slack))
                law = np.maximum(law, np.where(np.isinf(room), slack / _unit(scale), product))
            found.append(np.stack((np.abs(s) / _unit(scale), outside, law)))
        worst = [np.where(equation, one[0], np.maximum(one[1], one[2])) for one in found]
        equations, outside, law = np.where(worst[1] < worst[0], found[1], found[0])
        held, bounded = np.flatnonzero(equation), np.flatnonzero(~equation)
        yield "equations", held, self._least_squares(laws, held, equations, *residuals[0])[held]
        yield "bounds", bounded, outside[bounded]
        yield "joint_law", bounded, law[bounded]

    def _least_squares(
        self, laws: JointLaws, held: IntArray, off: FloatArray, s: FloatArray, scale: FloatArray, k: FloatArray
    ) -> FloatArray:
        """Return the residuals of equations, ``off`` (m,), or of least squares if the equations nearly agree.

        The tolerance is in `contactlab.constraint_solver.kernels.bilateral`. The sum of squares of the rates s (m,) of
        an island's equations is then minimal over the velocities: G' s = 0.
        """
        out = off.copy()
        for island in np.unique(self.island[held[off[held] > CONSISTENT]]):
            own = held[self.island[held] == island]
            at = self.at[own], self.number[own]
            size, error = laws.scale[at], np.abs(laws.error[at])
            explained = np.where(error > ROUNDED * size, np.minimum(np.abs(k[own]), error / self.h[own]), 0.0)
            worst = float(np.max(error / _unit(size), initial=0.0))
            floor = size * (ROUNDED + (min(CONFIGURATION * worst, MAX_UNCERTAIN) if worst <= NEARLY_ASSEMBLED else 0.0))
            J, rates = self.J[own], np.abs(s[own])
            columns = np.unique(J.nonzero()[1])
            motion = float(self.speed[columns].sum())
            if (rates > np.linalg.norm(explained) + NEARLY * scale[own] + floor * motion).any():
                continue
            # Rates are uncertain by their scale, as for equations that agree.
            pull, terms = np.abs(J.T @ s[own]), abs(J).T @ scale[own]
            pull = np.maximum(0.0, pull - floor @ rates)
            out[own] = np.minimum(off[own], float(np.max(pull / _unit(terms), initial=0.0)))
        return out


def _inverse(values: FloatArray) -> FloatArray:
    """Return 1 / values, 0 for 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0.0)


def _unit(scale: FloatArray) -> FloatArray:
    """Return the scale, or the smallest positive number, so that for scale 0 only a violation of 0 passes."""
    return np.where(scale > 0.0, scale, TINY)
