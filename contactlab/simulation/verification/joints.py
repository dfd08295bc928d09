"""Joint rows of recorded steps, in plain numpy: stops, drives, friction, mimic joints, and loops."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from contactlab.constraint_solver.model_problem.drives import RowKind
from contactlab.multibody.constraints import ContactConstraint, LoopConstraint, PointPair
from contactlab.multibody.spatial.arrays import BoolArray, FloatArray
from contactlab.simulation.verification.contacts import normal_terms
from contactlab.simulation.verification.dynamics import Blocks, mass_solve
from contactlab.simulation.verification.motion import BodyKinematics, rotate, shifting
from contactlab.simulation.verification.portion import StepSlice, length_of
from contactlab.simulation.world.world import World

NO_MOTION = 1e-10  # fraction of a row's terms below which it is rounding
NEAR = 1e-9  # rad, or fraction of the world's length, within which rounding decides whether a stop is within reach

#: Rows (ns, n, nv) of loops, their position errors (ns, n), the rates (ns, n) independent of v, and the sizes (ns, n)
#: of the terms of their entries.
Loops = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


#: Default correction speed of limits [rad/s or m/s].
STOP_PUSH_RATE = 20.0


@dataclass(frozen=True, eq=False)
class JointLaws:
    """All n rows of a world at the steps of a slice, by number, and the terms implicit in the mass matrix."""

    J: FloatArray  # (ns, n, nv) rows
    error: FloatArray  # (ns, n) position errors, gaps of stops
    # (ns, n, 2) admissible k of each row: two values only if rounding decides between them.
    k: FloatArray
    # (n,) softening [s/kg], (ns, n) if it depends on h, and bounds of the forces.
    gamma: FloatArray
    lo: FloatArray
    hi: FloatArray
    equation: BoolArray  # (n,) rows without bounds on their forces
    scale: FloatArray  # (ns, n) sizes of the terms of their entries
    unit: FloatArray  # (n,) 1 for angles, for lengths the world's (`length_of`)
    #: (ns, n) amount by which a limit is within reach [rad, m]; infinite for rows that always take part
    expected: FloatArray
    # (nv,) of damping and of drives without bounds: h D and h^2 K are added to the diagonal of M.
    drag: FloatArray
    stiffness: FloatArray
    push: FloatArray  # (ns, nv) force of those drives at v+ = 0

    def missing_rows(self, listed: BoolArray) -> FloatArray:
        """Return for each step the largest amount by which a row not ``listed`` (ns, n) is within reach."""
        missing = np.where(listed, 0.0, self.expected / self.unit).max(axis=1, initial=0.0)
        return np.where(missing > NEAR, missing, 0.0)

    def inertia(self, M: Blocks, h: FloatArray) -> Blocks:
        """Return M with the implicit terms."""
        within = self.within(h)
        if not within.any():
            return M
        parts = np.split(within, np.cumsum([block.shape[1] for block in M])[:-1], axis=1)
        return tuple(block + part[..., None] * np.eye(part.shape[1]) for block, part in zip(M, parts, strict=True))

    def within(self, h: FloatArray) -> FloatArray:
        """Return the implicit terms on the diagonal of M (ns, nv)."""
        return h[:, None] * self.drag + h[:, None] ** 2 * self.stiffness


def joint_laws(portion: StepSlice, loops: Loops, J: FloatArray, momentum: FloatArray) -> JointLaws:
    """Return k, gamma and bounds of the joint rows J (ns, n, nv), and the terms of damping and unbounded drives.

    ``loops`` is from `loops_of`; ``momentum`` (ns, nv) is M v_free without joint actions.
    """
    recording, h = portion.recording, portion.h
    world, stepper, ns = recording.world, recording.stepper, portion.h.size
    actions, nv = world.joint_actions, world.nv
    q, v, targets = recording.q[portion.steps], portion.v, recording.rows["drive_target"][portion.steps]
    drag, stiffness, push = np.zeros(nv), np.zeros(nv), np.zeros((ns, nv))
    for one in actions.damping:
        drag[world.place_of(one.body, one.coordinate)[0]] += one.value
    for number, part in actions.springs:
        j, place = world.place_of(actions.drives[number].joint, actions.drives[number].coordinate)
        drag[j] += part.damping
        stiffness[j] += part.stiffness
        push[:, j] += part.damping * part.speed - part.stiffness * (q[:, place] - targets[:, number] - part.offset)
    n = len(world.joint_rows)
    error, k, gamma = np.zeros((ns, n)), np.zeros((ns, n, 2)), np.zeros((ns, n))
    lo, hi, expected = np.zeros(n), np.full(n, math.inf), np.full((ns, n), math.inf)
    _, phi, rate, sizes = loops
    scale, unit, equation = np.abs(J).max(axis=2, initial=0.0), _units(world), np.zeros(n, dtype=bool)
    laws = JointLaws(J, error, k, gamma, lo, hi, equation, scale, unit, expected, drag, stiffness, push)
    free = mass_solve(laws.inertia(portion.state.M, h), momentum + h[:, None] * push) if n else momentum
    for number, row in enumerate(world.joint_rows):
        erp = stepper.erp if math.isnan(row.erp) else row.erp
        soft = row.kind in (RowKind.MIMIC, RowKind.LOOP) and stepper.cfm > 0.0
        equation[number] = row.kind in (RowKind.VELOCITY_DRIVE_RIGID, RowKind.MIMIC, RowKind.LOOP) and not soft
        lo[number], hi[number] = row.low, row.bound
        motor = actions.drives[row.drive] if row.drive >= 0 else None
        if row.kind in (RowKind.SPRING, RowKind.LOOP, RowKind.MIMIC):
            off = q[:, row.place] - (row.factor * q[:, row.other_place] + row.offset)
            error[:, number] = off if row.kind == RowKind.MIMIC else phi[:, row.loop_row]
            gamma[:, number], term = stepper.cfm, erp * error[:, number] / h
        if row.kind == RowKind.SPRING:
            gamma[:, number] = 1.0 / (h * row.stiffness + row.dissipation)
            term = gamma[:, number] * row.stiffness * error[:, number]
        elif row.kind == RowKind.LOOP:
            term = term + rate[:, row.loop_row]
            scale[:, number] = np.maximum(scale[:, number], sizes[:, row.loop_row])
        elif row.kind == RowKind.LIMIT:
            lo[number], hi[number] = 0.0, math.inf
            gap = row.sign * (q[:, row.place] - row.bound)
            before, after = row.sign * v[:, row.dof], row.sign * free[:, row.dof]
            give = h * row.stiffness + row.dissipation
            yields = np.any(give > 0.0)
            error[:, number], gamma[:, number] = gap, 1.0 / give if yields else stepper.cfm
            margin, restitution_threshold = stepper.thresholds.of(row.angular)
            fastest = math.inf if stepper.max_depenetration_velocity == math.inf else STOP_PUSH_RATE
            terms = normal_terms(gap, before, after, h, row.factor, restitution_threshold, erp, fastest)
            approach = np.maximum(0.0, np.maximum(-before, -after))
            if motor is not None:
                wanted = targets[:, row.drive]
                if motor.needs_position:
                    wanted = (wanted - q[:, row.place]) / h + row.speed
                approach = np.maximum(approach, -row.sign * wanted)
            expected[:, number] = margin + h * approach - gap
            if not yields:
                k[:, number] = terms
                continue
            term = np.where(gap > 0.0, gap / h, row.stiffness * gap / give)
        elif row.stiffness or row.dissipation:
            error[:, number] = q[:, row.place] - targets[:, row.drive] - row.offset
            gamma[:, number] = 1.0 / (h * row.stiffness + row.dissipation)
            term = gamma[:, number] * (row.stiffness * error[:, number] - row.dissipation * row.speed)
        elif row.kind != RowKind.MIMIC:
            term = np.zeros(ns) if motor is None else -targets[:, row.drive]
        k[:, number] = term[:, None]
    return laws


def _units(world: World) -> FloatArray:
    """Return the error scales of the rows (n,): the world's length for translations, 1 for rotations and loops."""
    straight = shifting(world.model)[1]
    shifts = [row.dof >= 0 and bool(straight[row.dof]) for row in world.joint_rows]
    return np.where(shifts, length_of(world), 1.0) if shifts else np.zeros(0)


def joint_jacobian(world: World, loops: Loops) -> FloatArray:
    """Return the Jacobian (ns, n, nv) of the world's joint rows, with the rows of ``loops`` from `loops_of`."""
    G = loops[0]
    J = np.zeros((G.shape[0], len(world.joint_rows), world.nv))
    for number, row in enumerate(world.joint_rows):
        if row.kind in (RowKind.LOOP, RowKind.SPRING):
            J[:, number] = G[:, row.loop_row]
            continue
        J[:, number, row.dof] = row.sign if row.kind == RowKind.LIMIT else 1.0
        if row.kind == RowKind.MIMIC:
            J[:, number, row.other] -= row.factor
    return J


def loops_of(portion: StepSlice) -> Loops:
    """Return G (ns, n, nv) of all loops' rows, and (ns, n) their position errors, constant rates and sizes of terms.

    A constant rate is the part of the rate that does not depend on v+, as phi_t. Rows in G are 0 if their entries are
    only rounding of their terms.
    """
    recording, world, ns = portion.recording, portion.recording.world, portion.h.size
    n = len(world.loops)
    G = np.zeros((ns, n, world.nv))
    phi, rate, size = np.zeros((3, ns, n))
    model, q, v, t = world.model, recording.q[portion.steps], portion.v, recording.time[portion.steps]
    bodies = portion.state.bodies
    custom = {own.rows.start: own for own in world.loops.packed.custom}
    for loop, place in zip(world.joint_actions.loops, world.loops._places, strict=True):
        at = place.start
        if isinstance(loop.constraint, LoopConstraint):
            phi[:, at] = _closure(loop.constraint, bodies, G[:, at], size[:, at])
        elif isinstance(loop.constraint, PointPair):
            phi[:, at] = _stretch(loop.constraint, bodies, G[:, at], size[:, at])
        elif isinstance(loop.constraint, ContactConstraint):
            body = bodies[loop.constraint.body]
            x = body.p + rotate(body.R, loop.constraint.point)
            G[:, at, body.own] = loop.constraint.normal @ body.point_jacobian(x)
            size[:, at] = _terms(body, x, bodies, 0.0, 1.0)
        else:
            own = custom[at]
            for s in range(ns):
                G[s, place] = own.jacobian(model, q[s], v[s], t[s])
                if own.level == "acceleration":
                    rate[s, place] = -(G[s, place] @ v[s]) - portion.h[s] * own.gamma(model, q[s], v[s], t[s])
                else:
                    phi[s, place] = own.position_error(model, q[s], t[s])
                    rate[s, place] = own.velocity_error(model, q[s], v[s], t[s]) - G[s, place] @ v[s]
    still = np.abs(G).max(axis=2, initial=0.0) <= NO_MOTION * size
    G[still] = 0.0
    return G, phi, rate, size


def _terms(
    body: BodyKinematics, x: FloatArray, bodies: dict[str, BodyKinematics], angular: float, linear: float
) -> FloatArray:
    """Return upper bounds (ns,) of the sizes of the terms in the entries of a loop's row on one of its bodies.

    The row is a_w . w + a_v . v of the body's point at x (ns, 3), with axes of the lengths |a_w| = ``angular`` and
    |a_v| = ``linear``. The farthest of all bodies' origins from x bounds the lever arms.
    """
    reach = np.max([np.linalg.norm(x - other.p, axis=1) for other in bodies.values()], axis=0)
    turns, moves = (np.linalg.norm(part, axis=1) for part in (body.Jw, body.point_jacobian(x)))
    return np.asarray(((angular + linear * reach[:, None]) * turns + linear * moves).max(axis=1, initial=0.0))


def _closure(loop: LoopConstraint, bodies: dict[str, BodyKinematics], G: FloatArray, size: FloatArray) -> FloatArray:
    """Fill the row (ns, nv) and its size, and return the position errors (ns,) as `LoopConstraint` defines them."""
    p, s = bodies[loop.predecessor], bodies[loop.successor]
    R_p, R_s = p.R @ loop.X_p.R, s.R @ loop.X_s.R
    x_p, x_s = p.p + rotate(p.R, loop.X_p.p), s.p + rotate(s.R, loop.X_s.p)
    turn = np.swapaxes(R_p, 1, 2) @ R_s
    sine = 0.5 * np.stack([turn[:, j, i] - turn[:, i, j] for i, j in ((1, 2), (2, 0), (0, 1))], axis=1)
    error = np.hstack((sine, rotate(np.swapaxes(R_p, 1, 2), x_s - x_p)))
    at = x_s if loop.sliding else x_p
    angular, linear = ((R_p @ part)[:, None] for part in (loop.axis[:3], loop.axis[3:]))
    for body, point, sign in ((s, x_s, 1.0), (p, at, -1.0)):
        G[:, body.own] += sign * (angular @ body.Jw + linear @ body.point_jacobian(point))[:, 0]
        lengths = float(np.linalg.norm(loop.axis[:3])), float(np.linalg.norm(loop.axis[3:]))
        size[:] = np.maximum(size, _terms(body, point, bodies, *lengths))
    return np.asarray(error @ loop.axis)


def _stretch(pair: PointPair, bodies: dict[str, BodyKinematics], G: FloatArray, size: FloatArray) -> FloatArray:
    """Fill the row (ns, nv), 0 for coincident points, and its size; return the errors (ns,) of the distance."""
    a, b = bodies[pair.body_a], bodies[pair.body_b]
    x_a, x_b = a.p + rotate(a.R, pair.point_a), b.p + rotate(b.R, pair.point_b)
    distance = np.linalg.norm(x_b - x_a, axis=1)
    n = (x_b - x_a) / np.where(distance > 0.0, distance, 1.0)[:, None]
    for body, point, sign in ((b, x_b, 1.0), (a, x_a, -1.0)):
        G[:, body.own] += sign * (n[:, None] @ body.point_jacobian(point))[:, 0]
        size[:] = np.maximum(size, _terms(body, point, bodies, 0.0, 1.0))
    return np.asarray(distance - pair.zero)


def row_forces(portion: StepSlice) -> FloatArray:
    """Return the recorded forces (ns, n) of all rows of the world; 0 for inactive rows."""
    rows = portion.recording.rows
    forces = np.zeros((portion.h.size, len(portion.recording.world.joint_rows)))
    forces[portion.joint_at, rows["joint_row"][portion.joints]] = rows["joint_force"][portion.joints]
    return forces
