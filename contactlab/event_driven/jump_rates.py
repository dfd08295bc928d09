"""How the velocity after an impact changes with the state before it and with parameters: D_x R of its law R.

Newton's law at once, and a capture, leave linear equations in the modes that their answer has, differentiated as the
phases are::

    M (v+ - v-) = R' p        J v+ = -e J v- of normals, 0 of what sticks

with rows of a contact that slips along an edge of the pyramid, [N] and forces N + mu d T; between two edges also what
holds slip across them; of one that sticks, [N; T] of both. Other laws are differenced.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.event_driven.candidates import BallOnBall
from contactlab.event_driven.contact_rates import ContactRates, contact_rates
from contactlab.event_driven.course import Course, Jump
from contactlab.event_driven.differenced_jump import JumpRates, differenced_jump
from contactlab.event_driven.impacts import law_of
from contactlab.event_driven.recording import EventKind
from contactlab.event_driven.smooth_rates import Layout, solved
from contactlab.impact import Newton
from contactlab.impact.restitution import Restitution, coefficients
from contactlab.multibody import inverse_dynamics_derivatives, kinematics
from contactlab.multibody.derivatives import STENCIL
from contactlab.spatial.arrays import FloatArray

#: Speeds and forces below this part of the largest are none, and modes nearer to another than this are told.
NEAR = 1e-6
_NONE = 1e-9


def jump_rates(course: Course, layout: Layout, jump: Jump, q: FloatArray) -> JumpRates:
    """Differentiate one jump."""
    pairs = [layout.candidates[k] for k in jump.pairs]
    if jump.event.kind is EventKind.ZENO:
        return _linear(layout, jump, q, *_captured(layout, jump), np.zeros((2, len(pairs))))
    law = law_of(course.stepper.impact, pairs)
    if jump.event.kind is EventKind.JAM or not isinstance(law, Newton) or law.order != "simultaneous":
        return differenced_jump(course, layout, jump, q, law)
    assert jump.event.problem is not None
    u = jump.event.problem.blocks().J[: len(pairs)] @ jump.event.v_minus
    return _linear(layout, jump, q, *_modes(course, layout, jump, q), _restitution(law.restitution, u))


@dataclass(frozen=True, eq=False)
class _Mode:
    """A contact that bears an impulse: rows held, and forces per unknown with those per unit of mu, in (n, t1, t2)."""

    place: int  # in the pairs
    rows: FloatArray
    columns: FloatArray
    by_mu: FloatArray


def _captured(layout: Layout, jump: Jump) -> tuple[list[_Mode], list[tuple[int, float]]]:
    """Modes of a capture, as `capture` decides them."""
    data = jump.event.problem
    assert data is not None
    u = data.blocks().J @ jump.event.v_minus
    approach = float(-u[: data.nc].min(initial=0.0))
    slip = np.abs(u[data.nc : data.nc + data.nr]).reshape(data.nc, -1).max(axis=1, initial=0.0)
    modes, near = [], []
    for i, k in enumerate(jump.pairs):
        bound = layout.candidates[k].mu * approach
        sticks = layout.candidates[k].mu > 0.0 and slip[i] <= bound
        eye = np.eye(3)[: 3 if sticks else 1]
        modes.append(_Mode(i, eye, eye, np.zeros_like(eye)))
        near.append((k, abs(float(slip[i]) - bound) / max(approach, 1e-300)))
    return modes, near


def _modes(course: Course, layout: Layout, jump: Jump, q: FloatArray) -> tuple[list[_Mode], list[tuple[int, float]]]:
    """Modes of the answer of Newton's law, each with how far it is from the next."""
    edges, event = course.stepper.edges, jump.event
    turn = 2.0 * np.pi / edges
    kin = kinematics(layout.model, q, event.v_minus)
    largest = float(np.linalg.norm(event.impulses, axis=1).max(initial=0.0))
    normal = np.eye(3)[:1]
    modes, near = [], []
    for place, k in enumerate(jump.pairs):
        candidate = layout.candidates[k]
        local = candidate.local(layout.model, kin)
        f = np.vstack((local.normal, local.tangents)) @ event.impulses[k]
        if f[0] <= _NONE * largest:
            continue
        if candidate.mu == 0.0:
            modes.append(_Mode(place, normal, normal, _edge(-local.u_t, turn)))
            continue
        before = np.concatenate(([local.u_n], local.u_t))
        size = float(np.linalg.norm(before))
        slip = local.T @ event.v_plus
        speed, bound = float(np.linalg.norm(slip)), candidate.mu * f[0]
        angle = float(np.arctan2(f[2], f[1]))
        corners = [np.array([np.cos(j * turn), np.sin(j * turn)]) for j in (np.floor(angle / turn) + np.arange(2))]
        shares = np.linalg.solve(np.column_stack(corners), f[1:]) / bound
        if speed <= _NONE * size:
            modes.append(_Mode(place, np.eye(3), np.eye(3), np.zeros((3, 3))))
            near.append((k, 1.0 - float(shares.sum())))
            continue
        if isinstance(candidate, BallOnBall):  # whose pyramid turns about the normal where its axes change
            least, next_least, _ = np.sort(np.abs(local.normal))
            near.append((k, float(next_least - least)))
        d = corners[int(np.argmax(shares))]
        columns, rows = np.concatenate(([1.0], candidate.mu * d))[None], normal
        by_mu = np.concatenate(([0.0], d))[None]
        if float(shares.min()) > _NONE:  # between two edges slip is held across
            across = np.concatenate(([0.0], corners[1] - corners[0]))[None]
            columns, rows, by_mu = (
                np.vstack((columns, across)),
                np.vstack((rows, across)),
                np.vstack((by_mu, 0.0 * across)),
            )
            near.append((k, min(speed / size, float(shares.min()))))
        else:
            angle = float(np.arctan2(d[1], d[0]))
            others = [np.array([np.cos(angle + way), np.sin(angle + way)]) for way in (turn, -turn)]
            near.append((k, min(speed, *(float(slip @ (other - d)) / turn for other in others)) / size))
        modes.append(_Mode(place, rows, columns, by_mu))
    return modes, near


def _edge(direction: FloatArray, turn: float) -> FloatArray:
    """The force per unit of mu that a contact would have whose friction begins, along the nearest edge."""
    if not direction.any():
        return np.zeros((1, 3))
    angle = turn * np.round(np.arctan2(direction[1], direction[0]) / turn)
    return np.array([[0.0, np.cos(angle), np.sin(angle)]])


def _restitution(given: Restitution | None, u: FloatArray) -> FloatArray:
    """Coefficients of contacts with normal velocities u (nc,), and those of u_n in J v+ = -e u_n: (2, nc)."""
    assert given is not None
    approach = np.maximum(0.0, -u)
    e = coefficients(given, approach)
    h = 1e-3 * np.maximum(approach, 1e-12)
    slope = sum(w * coefficients(given, approach + place * h) for place, w in STENCIL) / (12.0 * h)
    return np.where(approach > 0.0, np.vstack((e, e + slope * approach)), 0.0)


def _linear(
    layout: Layout,
    jump: Jump,
    q: FloatArray,
    modes: list[_Mode],
    near: list[tuple[int, float]],
    e: FloatArray,
) -> JumpRates:
    """Differentiate the equations of a jump in its modes; e (2, nc) is the restitution and that of changes."""
    model, nv, width = layout.model, layout.model.nv, layout.width
    before, after, still = jump.event.v_minus, jump.event.v_plus, np.zeros(layout.model.nv)

    def rates(mode: _Mode, v: FloatArray) -> ContactRates:
        return contact_rates(model, kinematics(model, q, v), still, layout.candidates[jump.pairs[mode.place]])

    ahead, behind = ([rates(mode, v) for mode in modes] for v in (after, before))
    J = np.vstack([mode.rows @ r.L for mode, r in zip(modes, ahead, strict=True)])
    R = np.vstack([mode.columns @ r.L for mode, r in zip(modes, ahead, strict=True)])
    M = inverse_dynamics_derivatives(model, q, still, still).dtau_da
    p = np.linalg.lstsq(J @ np.linalg.solve(M, R.T), J @ (after - before), rcond=1e-11)[0]
    pushed, wrenches = np.zeros((nv, width)), np.zeros((model.nb, 6))
    wanted, at = [], 0
    for mode, plus, minus in zip(modes, ahead, behind, strict=True):
        k, own = jump.pairs[mode.place], p[at : at + len(mode.rows)]
        at += len(mode.rows)
        force = own @ mode.columns
        pushed[:, :nv] += plus.carried(force)
        wrenches += plus.wrenches(model, force)
        pushed[:, layout.column("mu", k)] += (plus.L.T @ (own @ mode.by_mu))[:, None]
        row = np.zeros((len(mode.rows), width))
        row[:, :nv] = -mode.rows @ plus.u_q
        row[0, :nv] -= e[1, mode.place] * minus.u_q[0]
        row[0, nv : 2 * nv] -= e[1, mode.place] * minus.L[0]
        row[0, layout.column("restitution", k)] -= minus.u[0]
        wanted.append(row)
    # M moves with q: of inverse dynamics at rest, at the acceleration v+ - v-, gravity left out.
    pushed[:, :nv] -= inverse_dynamics_derivatives(model, q, still, after - before, wrenches).dtau_dq
    pushed[:, :nv] += inverse_dynamics_derivatives(model, q, still, still).dtau_dq
    pushed[:, nv : 2 * nv] += M
    return JumpRates(solved(M, J, R, pushed, np.vstack(wanted))[0], tuple(near))
