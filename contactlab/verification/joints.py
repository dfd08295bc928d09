"""Rows of joints of a recorded step, in plain numpy: stops, drives, friction, joints that follow others, and loops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.constraints import ContactConstraint, LoopConstraint
from contactlab.formulation.bridge.joint_actions import PositionDrive
from contactlab.spatial.arrays import FloatArray
from contactlab.verification.contacts import normal_terms
from contactlab.verification.island import FAINT
from contactlab.verification.motion import Body
from contactlab.world.joint_rows import RowKind

if TYPE_CHECKING:
    from contactlab.recording.recording import Recording
    from contactlab.world.world import World

NO_MOTION = 1e-12  # part of the largest entry of all loops below which a row is rounding
NEAR = 1e-9  # rad or m: on which side of its reach a stop lies may be rounding


@dataclass(frozen=True, eq=False)
class JointLaws:
    """All rows of a world at one step, by number, and what acts within the mass matrix."""

    J: FloatArray  # (n, nv) rows
    error: FloatArray  # (n,) position errors, gaps of stops
    # For each row what its term may be: two values only where rounding decides between them.
    k: tuple[tuple[float, ...], ...]
    # (n,) softening and bounds of the forces.
    gamma: FloatArray
    lo: FloatArray
    hi: FloatArray
    expected: FloatArray  # (n,) by how much a stop is within reach [rad, m]; infinite for what always takes part
    # (nv,) of damping and of drives without bounds: h D and h^2 K join the diagonal of M.
    drag: FloatArray
    stiffness: FloatArray
    push: FloatArray  # (nv,) force of those drives at v+ = 0

    def unlisted(self, listed: NDArray[np.bool_]) -> float:
        """Return by how much the worst row that should take part and is not ``listed`` (n,) should."""
        missing = self.expected[~listed]
        return float(missing.max(initial=0.0)) if np.any(missing > NEAR) else 0.0

    def inertia(self, M: FloatArray, h: float) -> FloatArray:
        """Return M with what acts within it."""
        return M + np.diag(h * self.drag + h**2 * self.stiffness)


def joint_jacobian(recording: Recording, i: int, bodies: dict[str, Body]) -> FloatArray:
    """Return the rows (n, nv) of step i, whose bodies are at ``bodies``, in the order of their numbers."""
    return _rows(recording.world, _loops(recording, i, bodies)[0])


def joint_laws(recording: Recording, i: int, bodies: dict[str, Body], M: FloatArray, momentum: FloatArray) -> JointLaws:
    """Return what the rows of step i say; M v_free = momentum without what acts on joints."""
    world, stepper, h = recording.world, recording.stepper, float(recording.h[i])
    actions, nv = world.joint_actions, world.nv
    q, v, targets = recording.q[i], recording.v[i], recording.rows["drive_target"][i]
    drag, stiffness, push = np.zeros(nv), np.zeros(nv), np.zeros(nv)
    for one in actions.damping:
        drag[world.place_of(one.body, one.coordinate)[0]] += one.value
    for drive, target in zip(actions.drives, targets, strict=True):
        if isinstance(drive, PositionDrive) and math.isinf(drive.max_force):
            j, place = world.place_of(drive.joint, drive.coordinate)
            drag[j] += drive.damping
            stiffness[j] += drive.stiffness
            push[j] += drive.damping * drive.target_velocity - drive.stiffness * (q[place] - target)
    free = np.linalg.solve(M + np.diag(h * drag + h**2 * stiffness), momentum + h * push)
    n = len(world.joint_rows)
    error = np.zeros(n)
    k: list[tuple[float, ...]] = [(0.0,)] * n
    gamma, lo, hi = np.zeros(n), np.zeros(n), np.full(n, math.inf)
    expected = np.full(n, math.inf)
    G, phi, rate = _loops(recording, i, bodies)
    J = _rows(world, G)
    for number, row in enumerate(world.joint_rows):
        erp = stepper.erp if math.isnan(row.erp) else row.erp
        if row.kind == RowKind.LOOP:
            error[number] = phi[row.loop_row]
            k[number] = (rate[row.loop_row] + erp * phi[row.loop_row] / h,)
            gamma[number], lo[number] = stepper.cfm, -math.inf
            continue
        if row.kind == RowKind.STOP:
            gap = row.sign * (q[row.place] - row.bound)
            before, after = row.sign * v[row.dof], row.sign * free[row.dof]
            error[number] = gap
            give = h * row.stiffness + row.dissipation
            if give > 0.0:
                gamma[number] = 1.0 / give
                k[number] = (gap / h if gap > 0.0 else row.stiffness * gap / give,)
            else:
                gamma[number] = stepper.cfm
                k[number] = normal_terms(gap, before, after, h, row.factor, stepper.v_min, erp)
            approach = max(0.0, -before, -after)
            if row.drive >= 0:
                wanted, drive = targets[row.drive], actions.drives[row.drive]
                if isinstance(drive, PositionDrive):
                    wanted = (wanted - q[row.place]) / h + drive.target_velocity
                approach = max(approach, -row.sign * wanted)
            expected[number] = stepper.margin + h * approach - gap
        elif row.kind == RowKind.FOLLOW:
            error[number] = q[row.place] - (row.factor * q[row.other_place] + row.offset)
            k[number], gamma[number], lo[number] = (erp * error[number] / h,), stepper.cfm, -math.inf
        elif row.kind == RowKind.SERVO:
            drive = actions.drives[row.drive]
            assert isinstance(drive, PositionDrive)
            error[number] = q[row.place] - targets[row.drive]
            gamma[number] = 1.0 / (h * drive.stiffness + drive.damping)
            law = drive.stiffness * error[number] - drive.damping * drive.target_velocity
            k[number], lo[number], hi[number] = (gamma[number] * law,), -row.bound, row.bound
        else:
            wanted = 0.0 if row.kind == RowKind.FRICTION else targets[row.drive]
            k[number], lo[number], hi[number] = (-wanted,), -row.bound, row.bound
    return JointLaws(J, error, tuple(k), gamma, lo, hi, expected, drag, stiffness, push)


def _rows(world: World, G: FloatArray) -> FloatArray:
    """Return all rows of a world, those of its loops being G."""
    J = np.zeros((len(world.joint_rows), world.nv))
    for number, row in enumerate(world.joint_rows):
        if row.kind == RowKind.LOOP:
            J[number] = G[row.loop_row]
            continue
        J[number, row.dof] = row.sign if row.kind == RowKind.STOP else 1.0
        if row.kind == RowKind.FOLLOW:
            J[number, row.other] -= row.factor
    return J


def _loops(recording: Recording, i: int, bodies: dict[str, Body]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows (n, nv), position errors (n,) and the rates that v does not make of all rows of loops."""
    world = recording.world
    G, phi, rate = np.zeros((len(world.loops), world.nv)), np.zeros(len(world.loops)), np.zeros(len(world.loops))
    model, q, v, t, h = world.model, recording.q[i], recording.v[i], float(recording.time[i]), float(recording.h[i])
    custom = {own.rows.start: own for own in world.loops.packed.custom}
    for loop, place in zip(world.joint_actions.loops, world.loops._places, strict=True):
        at = place.start
        if isinstance(loop.constraint, LoopConstraint):
            G[at], phi[at] = _closure(loop.constraint, bodies)
        elif isinstance(loop.constraint, ContactConstraint):
            body = bodies[loop.constraint.body]
            G[at] = loop.constraint.normal @ body.point_jacobian(body.p + body.R @ loop.constraint.point)
        else:
            own = custom[at]
            G[place] = own.jacobian(model, q, v, t)
            if own.level == "acceleration":
                rate[place] = -(G[place] @ v) - h * own.gamma(model, q, v, t)
            else:
                phi[place] = own.position_error(model, q, t)
                rate[place] = own.velocity_error(model, q, v, t) - G[place] @ v
    still = np.abs(G).max(axis=1, initial=0.0) <= NO_MOTION * np.abs(G).max(initial=0.0)
    G[still], phi[still], rate[still] = 0.0, 0.0, 0.0
    return G, phi, rate


def _closure(loop: LoopConstraint, bodies: dict[str, Body]) -> tuple[FloatArray, float]:
    """Return the row (nv,) and the position error of a loop, as `LoopConstraint` states them."""
    p, s = bodies[loop.predecessor], bodies[loop.successor]
    R_p, R_s = p.R @ loop.X_p.R, s.R @ loop.X_s.R
    x_p, x_s = p.p + p.R @ loop.X_p.p, s.p + s.R @ loop.X_s.p
    turn = R_p.T @ R_s
    sine = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    error = np.concatenate((sine, R_p.T @ (x_s - x_p)))
    at = x_s if loop.sliding else x_p
    angular, linear = R_p @ loop.axis[:3], R_p @ loop.axis[3:]
    row = angular @ (s.Jw - p.Jw) + linear @ (s.point_jacobian(x_s) - p.point_jacobian(at))
    return row, float(loop.axis @ error)


def row_forces(recording: Recording, i: int) -> FloatArray:
    """Return the recorded forces of all rows of the world in step i; 0 for those that took no part."""
    forces = np.zeros(len(recording.world.joint_rows))
    rows = recording.rows
    chosen = rows["joint_step"] == i
    forces[rows["joint_row"][chosen]] = rows["joint_force"][chosen]
    return forces


def joint_measures(
    recording: Recording,
    laws: JointLaws,
    chosen: NDArray[np.int64],
    v_plus: FloatArray,
    speed: FloatArray,
    M: FloatArray,
    h: float,
    liveliness: float,
) -> Iterator[tuple[str, float]]:
    """Yield the conditions of the rows ``chosen`` of the record's table.

    ``speed`` (nv,) is the size of each velocity before cancellation; M (nv, nv) has what acts within it; `liveliness`
    is that of the island's motion.
    """
    rows = recording.rows
    soft = recording.stepper.cfm > 0.0
    for c in chosen:
        number = int(rows["joint_row"][c])
        row = recording.world.joint_rows[number]
        J, gamma, f = laws.J[number], float(laws.gamma[number]), float(rows["joint_force"][c])
        lo, hi = float(laws.lo[number]), float(laws.hi[number])
        off = abs(rows["joint_error"][c] - laws.error[number]) / (1.0 + abs(laws.error[number]))
        own = float(J @ np.linalg.solve(M, J))
        least = FAINT * math.sqrt(max(0.0, own)) * liveliness
        rate_off = abs(rows["joint_rate"][c] - J @ v_plus) / _unit(max(least, float(np.abs(J) @ speed)))
        yield "rows", float(np.maximum(off, min(rate_off, abs(rows["joint_rate"][c] - J @ v_plus) / 1e-12)))
        response = h * own + gamma
        equation = row.kind == RowKind.HOLD or (row.kind in (RowKind.FOLLOW, RowKind.LOOP) and not soft)
        found = []
        for k in laws.k[number]:
            give = 0.0 if equation else gamma * f
            s = float(J @ v_plus) + k + give
            scale = max(least, float(np.abs(J) @ speed) + abs(k) + abs(give))
            unit = scale / response if response > 0.0 else abs(f)
            if equation:
                found.append({"equations": abs(s) / _unit(scale)})
                continue
            up, down = max(0.0, s), max(0.0, -s)
            worst = {"bounds": max(0.0, lo - f, f - hi) / _unit(unit)}
            for room, slack in ((f - lo, up), (hi - f, down)):
                if math.isinf(room):
                    value = slack / _unit(scale)
                else:
                    value = abs(room) * slack / _unit(max(abs(room) * scale, unit * slack))
                worst["joint_law"] = max(worst.get("joint_law", 0.0), value)
            found.append(worst)
        yield from min(found, key=lambda one: max(one.values())).items()


def _unit(scale: float) -> float:
    return scale if scale > 0.0 else float(np.finfo(float).tiny)
