"""Smooth motion between two events, with contacts in fixed modes and forces from linear equations.

The rows are of the closed contacts: sticking ones with both tangents, sliding ones with friction against their slip::

    M a = tau - bias + sum (N - mu s T)' fN + sum T' fT
    N a + bias_n = -2 c u_n - c^2 gap          closed
    T a + bias_t = -c u_t                      sticking

c, the stabilisation, only removes the drift from the integrator's errors. Forces of redundant contacts are the
least-squares solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from contactlab.event_driven.candidates import Candidate, PairKinematics
from contactlab.multibody import Kinematics, Model, forward_dynamics, kinematics, mass_matrix, normalize
from contactlab.multibody.spatial.arrays import FloatArray

Tau = Callable[[float, FloatArray, FloatArray], FloatArray]

# Multiple of the speed of rest below which slip keeps its direction.
SLOW = 1e3


class Mode(Enum):
    """Mode of a closed contact."""

    STICK = "stick"
    SLIDE = "slide"


@dataclass(frozen=True, eq=False)
class ContactMode:
    """A closed contact in its mode."""

    index: int  # number of the candidate
    mode: Mode
    # (2,) direction of slip in the contact's tangents, initial or last; unit length, zero for a sticking contact
    direction: FloatArray


@dataclass(frozen=True, eq=False)
class Forces:
    """Acceleration and contact forces at one instant."""

    a: FloatArray  # (nv,) generalised acceleration
    # (n,) and (n, 2) of the closed contacts [N].
    fN: FloatArray
    fT: FloatArray


@dataclass(frozen=True, eq=False)
class Instant:
    """Quantities of a state: kinematics, mass matrix, motion without contacts."""

    kin: Kinematics
    M: FloatArray
    a_free: FloatArray


def slip_direction(local: PairKinematics, side: ContactMode, slow: float) -> FloatArray:
    """Return the direction of slip: of the velocity, or the known one if slip is slower than ``slow``.

    Close to rest the direction is the stiffest variable (its rate is an acceleration over the speed). Beyond a stop
    that an event will locate, it would jump.
    """
    speed = float(np.linalg.norm(local.u[1:]))
    return local.u[1:] / speed if speed > slow else side.direction


class Phase:
    """Right-hand side of the motion y = (q, v) with fixed modes."""

    def __init__(
        self,
        model: Model,
        candidates: Sequence[Candidate],
        sides: Sequence[ContactMode],
        tau: Tau,
        rate: float,
        slow: float,
    ) -> None:
        self.model, self.candidates, self.sides, self.tau = model, candidates, tuple(sides), tau
        self._rate, self.slow = rate, slow
        self._turns, self._last = rotations(model), lru_cache(maxsize=1)(self._at)
        self._plain = np.ones(model.nq, dtype=bool), np.ones(model.nv, dtype=bool)
        for place, at in self._turns:
            self._plain[0][place : place + 4] = self._plain[1][at : at + 3] = False

    def split(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return q (unit quaternions) and v of y."""
        return normalize(self.model, y[: self.model.nq]), y[self.model.nq :]

    def instant(self, t: float, y: FloatArray) -> Instant:
        """Return kinematics, mass matrix and acceleration without contacts at time t [s] in the state y = (q, v)."""
        q, v = self.split(y)
        kin = kinematics(self.model, q, v)
        a_free = forward_dynamics(self.model, kin, None, self.tau(t, q, v))
        return Instant(kin, mass_matrix(self.model, kin), a_free)

    def locals(self, kin: Kinematics) -> list[PairKinematics]:
        """Return the closed pairs at one instant."""
        return [self.candidates[side.index].local(self.model, kin) for side in self.sides]

    def forces(self, t: float, y: FloatArray) -> tuple[Instant, list[PairKinematics], Forces]:
        """Return the instant (t, y), its closed pairs, and the acceleration and forces of the contact equations."""
        # The rate and the events of a phase are evaluated at the same instants.
        return self._last(t, y.tobytes())

    def _at(self, t: float, state: bytes) -> tuple[Instant, list[PairKinematics], Forces]:
        instant = self.instant(t, np.frombuffer(state).copy())
        found = self.locals(instant.kin)
        return instant, found, self._solve(instant, found)

    def __call__(self, t: float, y: FloatArray) -> FloatArray:
        """Return the rate of y."""
        instant, _, forces = self.forces(t, y)
        return np.concatenate((self.q_rate(instant.kin.q, y[self.model.nq :]), forces.a))

    def _solve(self, instant: Instant, found: list[PairKinematics]) -> Forces:
        """Return acceleration and contact forces of the linear equations of the modes."""
        n, c = len(found), self._rate
        if n == 0:
            return Forces(instant.a_free, np.zeros(0), np.zeros((0, 2)))
        rows, columns, wanted, slides = [], [], [], []
        for local, side in zip(found, self.sides, strict=True):
            held = -local.bias - c * local.u
            held[0] -= c * local.u[0] + c * c * local.gap
            last = 3 if side.mode is Mode.STICK else 1
            rows.append(local.L[:last])
            wanted.append(held[:last])
            # Friction of a sliding contact per normal force.
            slides.append(-self.candidates[side.index].mu * slip_direction(local, side, self.slow))
            columns.append(local.L if last == 3 else local.L[:1] + slides[-1] @ local.L[1:])
        responses = np.linalg.solve(instant.M, np.vstack(columns).T)
        a, x, _ = solve_rows(responses, np.vstack(rows), instant.a_free, np.concatenate(wanted))
        fN, fT, at = np.zeros(n), np.zeros((n, 2)), 0
        for i, row in enumerate(rows):
            fN[i] = x[at]
            fT[i] = x[at + 1 : at + 3] if len(row) == 3 else x[at] * slides[i]
            at += len(row)
        return Forces(a, fN, fT)

    def q_rate(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the rate of q: v itself, and q (0, w) / 2 for unit quaternions with w in body axes."""
        rate = np.empty(self.model.nq)
        rate[self._plain[0]] = v[self._plain[1]]
        for place, at in self._turns:
            w, (a, x, y, z) = v[at : at + 3], q[place : place + 4]
            rate[place] = -0.5 * (x * w[0] + y * w[1] + z * w[2])
            rate[place + 1 : place + 4] = 0.5 * (a * w + np.cross((x, y, z), w))
        return rate


def solve_rows(responses: Any, J: FloatArray, free: Any, wanted: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """Return x = free + responses f with J x = wanted for the shortest f, this f, and the rank of J responses."""
    f, _, rank, _ = np.linalg.lstsq(J @ responses, wanted - J @ free, rcond=1e-11)
    return np.asarray(free + responses @ f, dtype=np.float64), np.asarray(f, dtype=np.float64), int(rank)


def rotations(model: Model) -> list[tuple[int, int]]:
    """Return the first entries in q and in v of every quaternion, which has one entry more in q."""
    return [(place, place - number) for number, place in enumerate(model.quaternion_starts)]


def coupling(model: Model, v: FloatArray) -> FloatArray:
    """Return W (nv, nv) of the variation dq' = dv - W dq: a rotation in body axes is itself rotated by w."""
    W = np.zeros((model.nv, model.nv))
    for _, at in rotations(model):
        W[at : at + 3, at : at + 3] = np.cross(np.eye(3), v[at : at + 3])
    return W
