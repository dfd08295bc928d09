"""Check a record, step by step, with arithmetic of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import BodyShape
from contactlab.recording.codecs import ForgottenMotion
from contactlab.spatial.arrays import FloatArray, finite_number
from contactlab.verification.contacts import ContactRows, contact_rows, frame_of, pair_of
from contactlab.verification.coverage import uncovered
from contactlab.verification.dynamics import Dynamics, dynamics, free_momentum
from contactlab.verification.island import island_measures, liveliness
from contactlab.verification.joints import (
    JointLaws,
    joint_jacobian,
    joint_laws,
    joint_measures,
    row_forces,
)
from contactlab.verification.motion import moved
from contactlab.verification.pair_coverage import PairCoverage
from contactlab.verification.report import (
    CONDITIONS,
    ConditionReport,
    VerificationFailure,
    VerificationReport,
)
from contactlab.world.errors import SimulationConfigError, whole_number

if TYPE_CHECKING:
    from contactlab.recording.recording import Recording

SOFTENING = 1e-8  # of W's diagonal: what a body that has no room is given
ROUNDING = 1e-12  # of the time that a tree has rested

Found = tuple[str, int, int, float]  # condition, island, contact row, value


def verify(
    recording: Recording,
    *,
    every: int = 1,
    tolerance: float = 1e-9,
    max_failures: int = 20,
    progress: Callable[[int, int], None] | None = None,
) -> VerificationReport:
    """Check that the steps of a record are what they say: solved, certified, and motion.

    Nothing of the package's kernels is called: kinematics, mass matrix, rows and LCP are formed a second time, in plain
    numpy, from the world and the recorded states. `Recording.problem` would give the kernels' own problem instead.

    Parameters
    ----------
    recording
        Any record, of a run that ended or not.
    every
        Check the steps 0, every, 2 every, ... and the last one.
    tolerance
        Of each condition's violation over its scale (`CONDITIONS`); the LCP's is the stepper's where that is larger.
    max_failures
        How many failures are kept one by one.
    progress
        Called with (steps checked, steps to check).

    Raises
    ------
    SimulationConfigError
        An argument that cannot be used.
    """
    stride, keep = whole_number("every", every, 1), whole_number("max_failures", max_failures, 0)
    limit = finite_number(tolerance, "tolerance", SimulationConfigError)
    if limit <= 0.0:
        raise SimulationConfigError("tolerance", f"must be positive, got {limit}")
    solved = max(limit, 1.001 * recording.stepper.tolerance)
    last = recording.n_steps - 1
    steps = sorted({*range(0, recording.n_steps, stride), *([last] if last >= 0 else [])})
    counts = dict.fromkeys(CONDITIONS, (0, 0))
    worst: dict[str, VerificationFailure] = {}
    failures: list[VerificationFailure] = []
    islands = contacts = 0
    pairs = PairCoverage(recording.world, recording.stepper)
    for done, i in enumerate(steps, start=1):
        for condition, island, contact, value in _checked(recording, i, pairs):
            allowed = solved if condition in ("solved", "lcp") else limit
            found = VerificationFailure(condition, i, island, contact, value, allowed)
            # A value that is no number fails.
            bad = not value <= allowed
            checked, failed = counts[condition]
            counts[condition] = (checked + 1, failed + bad)
            if condition not in worst or not value <= worst[condition].value:
                worst[condition] = found
            if bad and len(failures) < keep:
                failures.append(found)
        islands += _rows_of(recording.rows["island_step"], i).size
        contacts += _rows_of(recording.rows["contact_step"], i).size
        if progress is not None:
            progress(done, len(steps))
    table = tuple(ConditionReport(name, *counts[name], worst.get(name)) for name in CONDITIONS)
    return VerificationReport(recording.n_steps, len(steps), islands, contacts, table, tuple(failures))


def _checked(recording: Recording, i: int, pairs: PairCoverage) -> list[Found]:
    """Return all that is said of step i; a record from anybody may hold numbers of which nothing can be formed."""
    try:
        with np.errstate(all="ignore"):
            return [("form", -1, -1, 0.0), *_step(recording, i, pairs)]
    except (IndexError, ValueError, np.linalg.LinAlgError):
        return [("form", -1, -1, np.inf)]


def _step(recording: Recording, i: int, pairs: PairCoverage) -> Iterator[Found]:
    """Yield all that is said of step i."""
    model, rows = recording.world.model, recording.rows
    q, v, v_plus, h = recording.q[i], recording.v[i], recording.v[i + 1], float(rows["h"][i])
    tau = rows["tau"][i] if rows["tau"].shape[0] else np.zeros(model.nv)
    state = dynamics(model, q, v)
    after = dynamics(model, recording.q[i + 1], v_plus)
    yield from (("energy", -1, -1, value) for value in (_energy(recording, i, state), _energy(recording, i + 1, after)))
    if recording.stepper.sleep is not None:
        yield "sleep", -1, -1, 0.0 if _sleeps_rightly(recording, i) else np.inf
    yield from (("kinematic", -1, -1, value) for value in _kinematic(recording, i, h))
    chosen = _rows_of(rows["contact_step"], i)
    covered = uncovered(
        recording.world, rows, chosen, state.bodies, v, h, recording.stepper.margin, recording.asleep[i]
    )
    yield "coverage", -1, -1, covered
    yield "coverage", -1, -1, pairs.uncovered(rows, chosen, state.bodies, v, h, i, recording.asleep[i])
    for c in chosen:
        yield from _table(recording, int(c), h)
    J, impulse = _impulses(recording, chosen, state)
    rows_of_joints, forces = joint_jacobian(recording, i, state.bodies), row_forces(recording, i)
    laid = np.abs(forces) @ np.abs(rows_of_joints)
    # What the impulses did taken off again: near v_free, whose midpoint is looked for.
    push = np.einsum("nij,ni->j", J, impulse) + h * forces @ rows_of_joints
    guess = v_plus - np.linalg.solve(state.M, push)
    momentum = free_momentum(model, state, v, tau, h, guess, recording.stepper.gyroscopic)
    laws = joint_laws(recording, i, state.bodies, state.M, momentum)
    M = laws.inertia(state.M, h)
    yield "integration", -1, -1, _integration(recording, i, h, _displacement(recording, chosen, J[:, :3], M))
    off = np.abs(M @ v_plus - momentum - h * laws.push - push)
    # What sleeps is held: the equation is not asked of it.
    off[np.isin(np.arange(model.nv), _sleeping_dofs(recording, i))] = 0.0
    size = state.momentum_size(v) + state.momentum_size(v_plus) + h * (np.abs(tau) + state.force_size + laid)
    for part in (slice(0, 3), slice(3, 6)):
        size += np.linalg.norm(impulse[:, part], axis=1) @ np.linalg.norm(J[:, part], axis=1)
    size += np.diag(M - state.M) * np.abs(v_plus) + h * np.abs(laws.push)
    yield "motion", -1, -1, _largest(off, size)
    v_free: FloatArray = np.linalg.solve(M, momentum + h * laws.push).astype(np.float64, copy=False)
    yield from _islands(recording, i, chosen, state, laws, v_free)


def _islands(
    recording: Recording, i: int, chosen: NDArray[np.int64], state: Dynamics, laws: JointLaws, v_free: FloatArray
) -> Iterator[Found]:
    """Yield the conditions of the islands of step i, and whether the record has a certificate for each."""
    rows = recording.rows
    own = _rows_of(rows["island_step"], i)
    claimed = {int(rows["island_index"][n]): n for n in own}
    labels, of_joints = rows["contact_island"][chosen], _rows_of(rows["joint_step"], i)
    joint_labels = rows["joint_island"][of_joints]
    listed = np.isin(np.arange(len(laws.k)), rows["joint_row"][of_joints])
    yield "rows", -1, -1, laws.unlisted(listed)
    h, v, v_plus = float(rows["h"][i]), recording.v[i], recording.v[i + 1]
    M, forces = laws.inertia(state.M, h), row_forces(recording, i)
    for island in sorted({*claimed, *map(int, np.unique(labels)), *map(int, np.unique(joint_labels))}):
        numbers, joints = chosen[labels == island], of_joints[joint_labels == island]
        sizes = (numbers.size, joints.size)
        n = claimed.get(island)
        if n is None or (rows["island_contacts"][n], rows["island_joints"][n]) != sizes or sizes == (0, 0):
            yield "solved", island, -1, np.inf
            continue
        yield "solved", island, -1, float(np.abs(rows["island_measures"][n, 1]))
        # What the rows of joints do is given for the contacts, and the other way round.
        members = rows["joint_row"][joints]
        Y_joints = np.linalg.solve(M, laws.J[members].T).T
        loaded = v_free + h * forces[members] @ Y_joints
        speed = np.abs(v_free) + h * np.abs(forces[members]) @ np.abs(Y_joints)
        if numbers.size:
            contacts = contact_rows(recording.world, recording.stepper, rows, numbers, state.bodies, v, v_free, h)
            J = np.vstack((contacts.N, contacts.F))
            Y: FloatArray = np.linalg.solve(M, J.T).T.astype(np.float64, copy=False)
            z = contacts.solution(rows["contact_z"][numbers])
            off, size = rows["contact_moment"][numbers] - h * contacts.moments(z), h * np.abs(z).max(initial=0.0)
            yield "impulse", island, -1, _largest(off.ravel(), np.full(off.size, size))
            lively = liveliness(M, np.vstack((Y, Y_joints)), v_free)
            cone = recording.stepper.friction == "cone"
            for condition, contact, value in island_measures(contacts, Y, loaded, v_plus, z, h, lively, cone=cone):
                yield condition, island, int(numbers[contact]), value
            yield from _projection(recording, i, island, contacts, Y)
            nc, nr = contacts.N.shape[0], contacts.F.shape[0]
            speed = speed + h * np.abs(z[: nc + nr]) @ np.abs(Y) + h * np.abs(z[nc + nr : nc + 2 * nr]) @ np.abs(Y[nc:])
            Y_joints = np.vstack((Y, Y_joints))
        lively = liveliness(M, Y_joints, v_free)
        for condition, value in joint_measures(recording, laws, joints, v_plus, speed, M, h, lively):
            yield condition, island, -1, value


def _projection(recording: Recording, i: int, island: int, contacts: ContactRows, Y: FloatArray) -> Iterator[Found]:
    """Yield whether the positions of an island of step i were projected as they should have been, or not at all."""
    push = recording.rows["contact_push"][contacts.numbers]
    rigid = np.flatnonzero(contacts.rigid) if recording.stepper.projection else np.zeros(0, dtype=np.int64)
    others = np.delete(push, rigid)
    if others.any():
        yield "projection", island, -1, np.inf
    if rigid.size:
        gap, h = recording.rows["contact_gap"][contacts.numbers[rigid]], float(recording.rows["h"][i])
        worst, value = _projection_measure(
            contacts.N[rigid], Y[rigid], gap, push[rigid], recording.v[i + 1], contacts.drive[rigid], h
        )
        yield "projection", island, int(contacts.numbers[rigid[worst]]), value


def _displacement(recording: Recording, chosen: NDArray[np.int64], J: FloatArray, M: FloatArray) -> FloatArray:
    """Return M^-1 N^T p (nv,), by which step i moved q besides."""
    normal, push = recording.rows["contact_normal"][chosen], recording.rows["contact_push"][chosen]
    if not push.any():
        return np.zeros(recording.world.nv)
    return np.asarray(np.linalg.solve(M, np.einsum("nij,ni,n->j", J, normal, push)))


def _rows_of(column: NDArray[np.int64], i: int) -> NDArray[np.int64]:
    """Return the rows of step i of a column that ascends."""
    first, last = np.searchsorted(column, (i, i + 1))
    return np.arange(first, last, dtype=np.int64)


def _impulses(recording: Recording, chosen: NDArray[np.int64], state: Dynamics) -> tuple[FloatArray, FloatArray]:
    """Return Jacobians (n, 6, nv) of contact points and turning, B relative to A, and their impulses (n, 6)."""
    rows, names = recording.rows, recording.world.model.names
    J = np.zeros((chosen.size, 6, recording.world.nv))
    for n, c in enumerate(chosen):
        for side, sign in (("contact_body_b", 1.0), ("contact_body_a", -1.0)):
            body = int(rows[side][c])
            if body >= 0:
                frame = state.bodies[names[body]]
                J[n, :3] += sign * frame.point_jacobian(rows["contact_point"][c])
                J[n, 3:] += sign * frame.Jw
    return J, np.concatenate((rows["contact_impulse"][chosen], rows["contact_moment"][chosen]), axis=1)


def _table(recording: Recording, c: int, h: float) -> Iterator[Found]:
    """Yield what the contact table says twice: impulses and forces, gap and place."""
    world, rows, r = recording.world, recording.rows, recording.stepper.edges_in(recording.world) // 2
    island, z = int(rows["contact_island"][c]), rows["contact_z"][c]
    normal, recorded = rows["contact_normal"][c], rows["contact_impulse"][c]
    directions = frame_of(normal, 2 * r, world.plane)
    wanted = h * (z[0] * normal + (z[1 : 1 + r] - z[1 + r : 1 + 2 * r]) @ directions[1:])
    t1 = directions[1]
    along = np.array([wanted @ normal, wanted @ t1, wanted @ np.cross(normal, t1)])
    said = np.append(rows["contact_impulse_normal"][c], rows["contact_impulse_tangential"][c])
    size = h * float(np.abs(z[: 1 + 2 * r]).sum())
    yield "impulse", island, c, _largest(np.append(recorded - wanted, said - along), np.full(6, size))
    half_space = int(rows["contact_half_space"][c])
    mu, restitution = pair_of(world, rows, c)
    off, scale = [rows["contact_mu"][c] - mu, rows["contact_restitution"][c] - restitution], [1.0, 1.0]
    if half_space >= 0:
        plane, point = world.half_spaces[half_space], rows["contact_point"][c]
        # Points of shapes touch with themselves; of a cylinder, whose rim has none, the point is midway to the plane.
        own = int(rows["contact_shape_b"][c])
        midway = 0 <= own < len(world.surfaces) and not isinstance(world.surfaces[own].shape, BodyShape)
        height = (2.0 if midway else 1.0) * (plane.normal @ point - plane.offset)
        off += [*(normal - plane.normal), rows["contact_gap"][c] - height]
        scale += [1.0, 1.0, 1.0, 1.0 + float(np.abs(point).sum()) + abs(plane.offset)]
    else:
        off.append(float(np.linalg.norm(normal)) - 1.0)
        scale.append(1.0)
    yield "geometry", island, c, _largest(np.array(off), np.array(scale))


def _integration(recording: Recording, i: int, h: float, displacement: FloatArray) -> float:
    q, v_plus, time = recording.q[i], recording.v[i + 1] + displacement / h, recording.time
    wanted = moved(recording.world.model, q, v_plus, h)
    # A quaternion of either sign is the same turn, but the record goes on from where it was.
    size = 1.0 + np.abs(q) + h * float(np.abs(v_plus).max(initial=0.0))
    off = _largest(recording.q[i + 1] - wanted, size)
    # numpy's maximum keeps NaN where Python's may drop it.
    return float(np.maximum(off, abs(float(time[i + 1] - time[i]) - h) / (abs(float(time[i + 1])) + h)))


def _kinematic(recording: Recording, i: int, h: float) -> Iterator[float]:
    """Yield how far pose and twist of each kinematic body are from its motion, where the record knows it."""
    time, rows = float(recording.time[i]), recording.rows
    for row, (_, motion) in enumerate(recording.world.motions):
        if isinstance(motion, ForgottenMotion):
            continue
        for state, t in ((i, time), (i + 1, time + h)):
            pose = motion.pose(t)
            wanted = np.append(pose.R.ravel(), pose.p)
            yield _largest(rows["motion_pose"][state, row] - wanted, 1.0 + np.abs(wanted))
        twist = motion.twist(time + 0.5 * h)
        yield _largest(rows["motion_twist"][i, row] - twist, 1.0 + np.abs(twist))


def _energy(recording: Recording, i: int, state: Dynamics) -> float:
    said = np.array([recording.kinetic[i], recording.potential[i]])
    size = abs(state.kinetic) + abs(state.potential) + 1e-3
    return _largest(said - np.array([state.kinetic, state.potential]), np.full(2, size))


def _largest(off: FloatArray, size: FloatArray) -> float:
    """Return max |off| / size; what is 0 out of nothing holds."""
    tiny = np.finfo(float).tiny
    return float(np.max(np.abs(off) / np.maximum(size, tiny), initial=0.0))


def _projection_measure(
    N: FloatArray, Y: FloatArray, gap: FloatArray, p: FloatArray, v_plus: FloatArray, drive: FloatArray, h: float
) -> tuple[int, float]:
    """Return the contact and the worst of |min(p, w)|, w = W p + gap + h N v+, each over its scale.

    Parameters
    ----------
    N, Y
        (nc, nv) normal rows of rigid contacts, and M^-1 applied to each; W is N Y^T, softened.
    gap, p
        (nc,) at the start of the step [m], as recorded [kg m].
    v_plus
        (nv,) velocity after the step.
    drive
        (nc,) what kinematic bodies bring to N v+ [m/s].
    h
        Step [s].
    """
    W = N @ Y.T
    W[np.diag_indices_from(W)] *= 1.0 + SOFTENING
    w = W @ p + gap + h * (N @ v_plus + drive)
    largest = float(np.abs(p).max(initial=0.0))
    scale = np.abs(W).max(axis=1) * largest + np.abs(gap) + h * (np.abs(N) @ np.abs(v_plus) + np.abs(drive))
    tiny = np.finfo(float).tiny
    off = np.abs(np.minimum(p / max(largest, tiny), w / np.maximum(scale, tiny)))
    worst = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
    return worst, float(off[worst])


def _sleeping_dofs(recording: Recording, i: int) -> NDArray[np.int64]:
    """Return where the velocities stand in v that were held at 0 through step i."""
    starts, asleep = recording.world.tree_starts, recording.rows["asleep"][i]
    parts = [np.arange(starts[k], starts[k + 1]) for k in np.flatnonzero(asleep)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _sleeps_rightly(recording: Recording, i: int) -> bool:
    """Return whether sleeping trees have rested, keep their bits and have no contact, and the others' rest adds up."""
    world, rows, sleep = recording.world, recording.rows, recording.stepper.sleep
    if sleep is None:
        return True
    asleep, before, after = rows["asleep"][i] != 0, rows["rest"][i], rows["rest"][i + 1]
    step = float(rows["h"][i])
    if np.any(asleep & (before < sleep.time)) or np.any(after[asleep] != before[asleep]):
        return False
    if np.any(after[~asleep] > (before[~asleep] + step) * (1.0 + ROUNDING)):
        return False
    fastest = np.maximum.reduceat(np.abs(recording.v[i + 1]), world.tree_starts[:-1])
    if np.any((after > 0.0) & (fastest >= sleep.speed)) or np.any(
        recording.v[i + 1][_sleeping_dofs(recording, i)] != 0.0
    ):
        return False
    chosen = rows["contact_step"] == i
    touching = np.concatenate([rows[name][chosen] for name in ("contact_body_a", "contact_body_b")])
    bodies = np.flatnonzero(recording.asleep[i])
    if np.isin(touching, bodies).any():
        return False
    where = [world.model.q_slice(world.model.names[b]) for b in bodies]
    return all(np.array_equal(recording.q[i][own], recording.q[i + 1][own]) for own in where)
