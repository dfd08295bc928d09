"""The energy ledger: the change of energy in a recorded run by cause, step by step.

A step leads from (q, v) to (q+, v+) over h. Let M and the contact Jacobians be at q, and b the bias forces (gravity,
centripetal and gyroscopic) in the form used by the step. Then

    M (v+ - v) = h (tau + b) + sum_c J_c^T p_c

with p_c the impulse of contact c on body B; joint actions add their impulses in the same way. Multiply by the mean
velocity v_m = (v + v+)/2: the left side becomes the change of 1/2 v M v at fixed q. So every impulse has an exact work:
impulse times mean velocity. Let u, u+ be the velocity of contact c's point before and after the step, _n its normal and
_t its tangential part. With torsional or rolling friction, _t includes moments and relative rotation::

    applied            = h tau . v_m
    friction_sliding   = sum_c p_t . u+_t                       force times the sliding distance in this step
    friction_stopping  = sum_c p_t . (u_t - u+_t)/2             the rest of p_t . (u_t + u+_t)/2
    impact_absorbed    = sum_c p_n * integral_0^1 min(0, u_n + s (u*_n - u_n)) ds
    impact_returned    = sum_c p_n * integral_0^1 max(0, u_n + s (u*_n - u_n)) ds
    stabilisation      = sum_c p_n (u+_n - u*_n)/2
    compliance         = sum_c p_n (u_n + u+_n)/2               only of contacts with a stiffness
    kinematic          = sum_c p_c . V_c                        V_c of the surface of a kinematic body at the contact
    projection         = [T + V](q+, v+) - [T + V](q*, v+)
    sleep              = -T(q, v) of trees that fall asleep     their velocity is set to 0; h b and h tau do no work
    limits, joint_friction, joint_damping, drives, loops
                       = force times mean rate of the rows and dampers of that kind
    integration_error  = [T(q*, v+) - T(q, v+)] + [V(q*) - V(q)] + h b . v_m

For a free tree that the Runge-Kutta method moves, h b is the change of momentum by its equations of motion in the step,
and q* is its end.

u*_n is the normal velocity after the step without correction of the gap. It is u+_n for an impact with restitution (kN
= e u_n), and 0 for any other contact (kN = gap/h or erp gap/h: u+_n comes only from the gap and from cfm). q* is q
moved only along v+: q+ without the displacement of a position projection. The three normal entries, or the entry of
compliance, add up to p_n (u_n + u+_n)/2, the two of friction to p_t . (u_t + u+_t)/2. All entries add up to the change
of T + V, in exact arithmetic for every step, with any h and with impacts. A spring at a contact stores energy that is
neither in T nor in V: its entry is negative while it is compressed.

If A is a kinematic body, u and u+ are relative to its surface, and the rest of the work of p_c is ``kinematic``.

Signs. friction_sliding <= 0: this is maximal dissipation, and it is zero for a sticking contact. friction_stopping is
of order h^2 in steady motion; in an impact it is the tangential work of the stop, mostly negative. It can be positive,
as in any scheme with impulses: friction that stops or reverses a motion is credited with half the initial speed.
impact_absorbed <= 0 <= impact_returned; a single frictionless bounce returns e^2 of the absorbed energy, and 1 - e^2 is
lost. The integration error contains no contact impulse: potential and inertia are taken at q while the bodies move on
to q+. It is of order h times the change of velocity: h^2 in a smooth step (in free fall -m |h g|^2 / 2), h in an
impact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from contactlab.constraint_solver.model_problem.drives import RowKind
from contactlab.multibody import difference
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.recording.record import Record, asleep_dofs, iter_slices, surface_velocities
from contactlab.simulation.stepping.kernels.layout import GYROSCOPIC_CODES, Parameters
from contactlab.simulation.stepping.memory import new_work
from contactlab.simulation.stepping.packing import (
    FREE_EULER,
    free_kinds,
    new_joints,
    new_record,
    touching_materials,
)
from contactlab.simulation.stepping.prepared import world_arrays
from contactlab.simulation.world.world import World


@dataclass(frozen=True, eq=False)
class EnergyLedger:
    """Energies of the n + 1 states and entries of the n steps of a record [J]; formulas are in the module's docstring.

    Attributes
    ----------
    time, kinetic, potential
        (n + 1,) of the states [s, J].
    applied
        (n,) work of the applied generalized force tau.
    friction_sliding, friction_stopping
        (n,) work of the tangential impulses at the velocity after the step, and the rest of their work.
    impact_absorbed, impact_returned
        (n,) work of the normal impulses during approach, and during separation.
    stabilisation
        (n,) work of closing gaps and correcting penetrations, and of cfm.
    compliance
        (n,) work of the springs and dampers of contacts whose materials have a stiffness.
    kinematic
        (n,) work of the kinematic bodies on the bodies that touch them.
    projection
        (n,) energy gained by the displacements of the position projection.
    sleep
        (n,) kinetic energy lost by falling asleep.
    limits, joint_friction, joint_damping, drives, loops
        (n,) work of stops, dry friction, viscous damping, motors and springs between points, and of loops and mimic
        joints.
    integration_error
        (n,) error of the scheme, which keeps inertia and potential of the start of each step.
    """

    time: FloatArray
    kinetic: FloatArray
    potential: FloatArray
    applied: FloatArray
    friction_sliding: FloatArray
    friction_stopping: FloatArray
    impact_absorbed: FloatArray
    impact_returned: FloatArray
    stabilisation: FloatArray
    compliance: FloatArray
    kinematic: FloatArray
    projection: FloatArray
    sleep: FloatArray
    limits: FloatArray
    joint_friction: FloatArray
    joint_damping: FloatArray
    drives: FloatArray
    loops: FloatArray
    integration_error: FloatArray

    @property
    def energy(self) -> FloatArray:
        """Kinetic plus potential energy of the states (n + 1,) [J]."""
        return self.kinetic + self.potential

    @property
    def change(self) -> FloatArray:
        """Change of the energy over each step (n,) [J]."""
        return np.diff(self.energy)

    @property
    def friction(self) -> FloatArray:
        """Work of friction per step (n,) [J]: tangential impulse times mean tangential velocity."""
        return self.friction_sliding + self.friction_stopping

    @property
    def impact(self) -> FloatArray:
        """Energy gained in impacts per step (n,) [J], negative for a loss."""
        return self.impact_absorbed + self.impact_returned

    @property
    def residual(self) -> FloatArray:
        """Change minus all entries (n,) [J]: rounding, if the record satisfies its equation of motion."""
        return np.asarray(self.change - np.sum([getattr(self, name) for name in ENTRIES], axis=0))

    @property
    def summary(self) -> Mapping[str, FloatArray]:
        """The entries (n,) [J] by name, one each for friction and impacts; of joints only nonzero entries."""
        names = ("applied", "friction", "impact", "stabilisation", "compliance", "kinematic", "projection", "sleep")
        joints = (name for name in JOINT_ENTRIES if getattr(self, name).any())
        return {name.replace("_", " "): getattr(self, name) for name in (*names, *joints, "integration_error")}

    def totals(self) -> Mapping[str, float]:
        """Return the sum of each entry over the run [J]."""
        return {name: float(getattr(self, name).sum()) for name in ENTRIES}

    def cumulative(self) -> Mapping[str, FloatArray]:
        """Return the running sum of each entry (n + 1,) [J], 0 at the first state."""
        return {name: np.concatenate(([0.0], np.cumsum(getattr(self, name)))) for name in ENTRIES}

    def __str__(self) -> str:
        account = ", ".join(f"{name} {values.sum():+.4g}" for name, values in self.summary.items())
        return f"{self.energy[0]:.4g} -> {self.energy[-1]:.4g} J: {account}, unaccounted {self.residual.sum():+.0e}"


#: Names of the entries, in the order of the ledger.
ENTRIES = tuple(field.name for field in fields(EnergyLedger))[3:]


def energy_ledger(recording: Record) -> EnergyLedger:
    """Compute the ledger of a record from its states, steps and contact impulses, one portion at a time."""
    parts = [_entries(part) for part in iter_slices(recording)]
    return EnergyLedger(
        time=recording.time,
        kinetic=recording.kinetic,
        potential=recording.potential,
        **{name: np.concatenate([part[name] for part in parts]) for name in ENTRIES},
    )


def _entries(recording: Record) -> dict[str, FloatArray]:
    """Return the entries (n,) [J] of all steps, by name of the ledger."""
    h, tau = recording.h, recording.rows["tau"]
    mean = 0.5 * (recording.v[:-1] + recording.v[1:])
    asleep = asleep_dofs(recording)
    mean[asleep] = 0.0
    bias, kinetic_at_q, u, u_plus = _recomputed(recording)
    surface = surface_velocities(recording, recording.contacts)
    table = recording.contacts
    acting = np.concatenate((table.impulse, table.moment), axis=1)
    carried = np.bincount(table.step, np.einsum("ij,ij->i", acting, surface), minlength=recording.n_steps)
    projected = _projected(recording) if recording.stepper.projection else np.zeros(recording.n_steps)
    return {
        "applied": h * np.einsum("ij,ij->i", mean, tau) if tau.shape[0] else np.zeros(recording.n_steps),
        **_contact_entries(recording, u - surface, u_plus - surface),
        "kinematic": carried.astype(np.float64),
        "projection": projected,
        "sleep": _fallen_asleep(recording, asleep),
        **joint_entries(recording),
        "integration_error": recording.kinetic[1:]
        - kinetic_at_q
        + np.diff(recording.potential)
        + np.einsum("ij,ij->i", mean, bias)
        - projected,
    }


def _recomputed(recording: Record) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Recompute terms of the steps that are not in a record: see `contactlab.simulation.stepping.kernels.free_motion`.

    Return the impulses h b (n, nv), the kinetic energy (n,) of v+ at q, and the velocities (contacts, 6) of the contact
    points and of rotation, B less A, before and after the step.
    """
    from contactlab.simulation.stepping.kernels.free_motion import recompute_energy_terms

    world, n, table = recording.world, recording.n_steps, recording.contacts
    bias, kinetic = np.zeros((n, world.nv)), np.zeros(n)
    u, u_plus = np.zeros((len(table), 6)), np.zeros((len(table), 6))
    # Copies, because for the compiler the read-only arrays of a record have another type.
    q, v, tau, h = (np.array(one) for one in (recording.q, recording.v, recording.rows["tau"], recording.h))
    pairs, parameters = np.stack((table.body_a, table.body_b), axis=1), new_record(Parameters)
    parameters.gyroscopic = GYROSCOPIC_CODES[recording.stepper.gyroscopic]
    parameters.accurate = recording.stepper.moves_accurately
    step, point = np.array(table.step), np.array(table.point)
    work, arrays = new_work(world, 1, 4), world_arrays(world)
    joints = None if arrays.joints is None else new_joints(arrays.joints, work.union_find_parent.size)
    targets, held = np.array(recording.rows["drive_target"]), held_trees(recording)
    moved = np.zeros(held.shape, dtype=np.int64)
    recompute_energy_terms(
        arrays.packed, work, parameters, q, v, tau, h, joints, targets, held, step, pairs, point, bias, kinetic,
        u, u_plus, moved,
    )  # fmt: skip
    if moved.any() and joints is not None:
        damping, drives = implicit_forces(world, q[:-1], v[1:], targets, h)
        own = np.repeat(moved, np.diff(world.tree_starts), axis=1) != 0
        bias -= np.where(own, h[:, None] * (damping + drives), 0.0)
    return bias, kinetic, u, u_plus


def held_trees(recording: Record) -> IntArray:
    """Return for each step the trees (n, nt) that are in an island, or asleep."""
    world, table, rows = recording.world, recording.contacts, recording.joint_rows
    held = np.zeros((recording.n_steps, world.tree_starts.size - 1), dtype=np.int64)
    for body in (table.body_a, table.body_b):
        touching = np.append(world.body_trees, -1)[body]
        held[table.step[touching >= 0], touching[touching >= 0]] = 1
    for number, row in enumerate(world.joint_rows):
        for tree in row.trees:
            held[rows.step[rows.row == number], tree] = 1
    if recording.rows["asleep"].shape[1]:
        held |= recording.rows["asleep"] != 0
    return held


def _fallen_asleep(recording: Record, asleep: NDArray[np.bool_]) -> FloatArray:
    """Return the kinetic energy (n,) of velocities that were set to 0, negative."""
    from contactlab.simulation.stepping.kernels.free_motion import energies_unmoved

    lost, still = np.zeros(recording.n_steps), np.where(asleep, 0.0, recording.v[:-1])
    at = np.flatnonzero(np.any(still != recording.v[:-1], axis=1))
    energies, work = np.zeros((at.size, 2)), new_work(recording.world, 1, 4)
    packed, v = world_arrays(recording.world).packed, still[at]
    energies_unmoved(packed, work, recording.q[at], v, v, np.zeros(at.size), energies)
    lost[at] = energies[:, 0] - recording.kinetic[at]
    return lost


def _projected(recording: Record) -> FloatArray:
    """Return the energy (n,) added by the displacements of the position projection."""
    from contactlab.simulation.stepping.kernels.free_motion import energies_unmoved

    without, work = np.zeros((recording.n_steps, 2)), new_work(recording.world, 1, 4)
    q, v, h = (np.array(one) for one in (recording.q, recording.v[1:], recording.h))
    way = v.copy()
    if recording.stepper.moves_accurately:
        # Without active rows nothing is projected, and a tree of several links may not move along v+.
        free = (held_trees(recording) == 0) & (free_kinds(recording.world) != FREE_EULER)
        gone = difference(recording.world.model, q[:-1], q[1:]) / h[:, None]
        way = np.where(np.repeat(free, np.diff(recording.world.tree_starts), axis=1), gone, v)
    energies_unmoved(world_arrays(recording.world).packed, work, q, v, way, h, without)
    return np.asarray(recording.kinetic[1:] + recording.potential[1:] - without.sum(axis=1))


def _contact_entries(recording: Record, u: FloatArray, u_plus: FloatArray) -> dict[str, FloatArray]:
    """Return the entries (n_steps,) [J] of contacts; u and u_plus (nc, 6) are relative velocities before and after."""
    table, stepper = recording.contacts, recording.stepper
    step = table.step
    un, un_plus = (np.einsum("ij,ij->i", one[:, :3], table.normal) for one in (u, u_plus))
    friction = np.concatenate((table.impulse - table.impulse_normal[:, None] * table.normal, table.moment), axis=1)

    # u+_n shows which rule applied to the contact: if an impulse acts, u+_n = -kN - cfm fN.
    e = table.restitution
    rigid = rigid_contacts(recording)
    left = un_plus + stepper.cfm * table.impulse_normal / recording.h[step]
    by_gap = -np.where(table.gap > 0.0, 1.0, stepper.erp) * table.gap / recording.h[step]
    bounced = (un < -stepper.thresholds.restitution_threshold) & (np.abs(left + e * un) <= np.abs(left - by_gap))
    un_star = np.where(bounced, un_plus, 0.0)
    absorbed, returned = _path_means(un, un_star)
    push = np.where(rigid, table.impulse_normal, 0.0)
    spring = np.where(rigid, 0.0, table.impulse_normal)

    def by_step(values: FloatArray) -> FloatArray:
        return np.bincount(step, weights=values, minlength=recording.n_steps).astype(np.float64)

    return {
        "friction_sliding": by_step(np.einsum("ij,ij->i", friction, u_plus)),
        "friction_stopping": by_step(0.5 * np.einsum("ij,ij->i", friction, u - u_plus)),
        "impact_absorbed": by_step(push * absorbed),
        "impact_returned": by_step(push * returned),
        "stabilisation": by_step(0.5 * push * (un_plus - un_star)),
        "compliance": by_step(0.5 * spring * (un + un_plus)),
    }


def rigid_contacts(recording: Record) -> NDArray[np.bool_]:
    """Return True for each contact without a spring; contacts without two known surfaces are rigid."""
    packed, table = world_arrays(recording.world).packed, recording.contacts
    known, a, b = touching_materials(packed, table.half_space, table.shape_a, table.shape_b)
    rigid = np.ones(known.size, dtype=np.bool_)
    rigid[known] = np.isinf(packed.stiffness[a, b])
    return rigid


def _path_means(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the means of min(0, y) and max(0, y) for y linear from a to b; they add up to (a + b)/2."""
    # A path that changes sign is split at the fraction |a| / (|a| + |b|).
    crossing = a * b < 0.0
    span = np.where(crossing, np.abs(a) + np.abs(b), 1.0)
    first, second = 0.5 * a * np.abs(a) / span, 0.5 * b * np.abs(b) / span
    whole = 0.5 * (a + b)
    low = np.where(crossing, np.minimum(first, second), np.minimum(whole, 0.0))
    high = np.where(crossing, np.maximum(first, second), np.maximum(whole, 0.0))
    return low, high


#: Entries of the ledger that this module computes.
JOINT_ENTRIES = ("limits", "joint_friction", "joint_damping", "drives", "loops")


def joint_entries(recording: Record) -> dict[str, FloatArray]:
    """Return the work (n_steps,) [J] of each kind of joint action on the motion in a step, by ledger entry."""
    n, world = recording.n_steps, recording.world
    entries = {name: np.zeros(n) for name in JOINT_ENTRIES}
    mean, h = 0.5 * (recording.v[:-1] + recording.v[1:]), recording.h
    damping, drives = implicit_forces(world, recording.q[:-1], recording.v[1:], recording.rows["drive_target"], h)
    entries["joint_damping"] += h * np.einsum("ij,ij->i", damping, mean)
    entries["drives"] += h * np.einsum("ij,ij->i", drives, mean)
    table = recording.joint_rows
    loop_rates = _loop_rates(recording, mean)
    for number, row in enumerate(world.joint_rows):
        chosen = np.flatnonzero(table.row == number)
        step = table.step[chosen]
        if row.kind in (RowKind.LOOP, RowKind.SPRING):
            rate = loop_rates[step, row.loop_row]
        else:
            rate = (row.sign if row.kind == RowKind.LIMIT else 1.0) * mean[step, row.dof]
            if row.kind == RowKind.MIMIC:
                rate = rate - row.factor * mean[step, row.other]
        np.add.at(entries[row.kind.ledger_entry], step, h[step] * table.force[chosen] * rate)
    return entries


def implicit_forces(
    world: World, q: FloatArray, v_plus: FloatArray, targets: FloatArray, h: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the forces (n, nv) of damping and of unbounded drives over n steps from q (n, nq) to v+ (n, nv).

    ``targets`` (n, drives), ``h`` (n,).
    """
    damping, drives = np.zeros_like(v_plus), np.zeros_like(v_plus)
    for one in world.joint_actions.damping:
        j = world.model.v_slice(one.body).start + one.coordinate
        damping[:, j] -= one.value * v_plus[:, j]
    for number, term in world.joint_actions.springs:
        drive = world.joint_actions.drives[number]
        j, place = world.place_of(drive.joint, drive.coordinate)
        error = q[:, place] + h * v_plus[:, j] - targets[:, number] - term.offset
        drives[:, j] -= term.stiffness * error + term.damping * (v_plus[:, j] - term.speed)
    return damping, drives


def _loop_rates(recording: Record, mean: FloatArray) -> FloatArray:
    """Return the rates G v (n_steps, nloop) of the loops' rows at the mean velocities ``mean`` (n_steps, nv).

    G is evaluated at the state before each step.
    """
    from contactlab.multibody.constraints.evaluation import evaluated
    from contactlab.multibody.constraints.kernels import JACOBIAN

    world = recording.world
    rates: FloatArray = np.zeros((recording.n_steps, len(world.loops)))
    if len(world.loops):
        for i in range(recording.n_steps):
            q, v, t = recording.q[i], recording.v[i], float(recording.time[i])
            rates[i] = evaluated(world.model, q, v, world.loops, JACOBIAN, t).G @ mean[i]
    return rates
