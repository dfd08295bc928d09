"""Doubts that no certificate covers: bodies that overlap, steps too long for the motion, impacts that gain energy.

A certificate proves that a step's forces solve its problem. It does not prove that the problem is sensible: a cube that
starts inside the floor, or falls ten times its own length in a step, is also solved to rounding. Unsolved islands have
no certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from contactlab.constraint_solver.certificate import ForceChoice
from contactlab.constraint_solver.model_problem.drives import RowKind
from contactlab.multibody.spatial.arrays import FloatArray, warn_caller
from contactlab.simulation.recording.energy_ledger import EnergyLedger, held_trees, rigid_contacts
from contactlab.simulation.recording.long_steps import DEPTH, StepMotions, long_steps
from contactlab.simulation.recording.record import Record, surface_velocities
from contactlab.simulation.stepping import ARM, TimeStepping, size_of
from contactlab.simulation.stepping.island_tables import UncertifiedTable
from contactlab.simulation.stepping.island_view import ViewedContact
from contactlab.simulation.stepping.kernels.layout import FREE_EULER, FREE_KIND
from contactlab.simulation.stepping.prepared import world_arrays
from contactlab.simulation.stepping.record_schema import Rows, read_column
from contactlab.simulation.world.joint_actions import JointRow
from contactlab.simulation.world.motion import Conveyor
from contactlab.simulation.world.world import World

__all__ = ["ImplausibleWarning", "Notice", "find_notices", "warn_of"]

#: Energy gained in the impacts of a step, relative to the energy before it.
GAIN = 1e-3
#: Work of a kinematic body in a step, relative to the island's kinetic energy at the speed of its surface.
JAM = 100.0
#: Gain of velocity products in a step, relative to the kinetic energy; minimum rotation of such a step [rad]; kinetic
#: energy below which a step is ignored, relative to the largest of the run.
GAINED, TURN, LEAST = 0.01, 0.05, 1e-3
#: Rounding of joint limits [rad; relative to the size of the world's bodies].
BEYOND = 1e-3
#: Maximum number of joints or bodies named.
NAMES = 6

# The name of a step.
Named: TypeAlias = Callable[[int], str]
NAMED: Named = "step {}".format
# The energy ledger of the record, which is computed only if a notice needs it.
LedgerOf: TypeAlias = Callable[[], EnergyLedger]


class ImplausibleWarning(UserWarning):
    """A run that finished and is implausible; the text states the reason and the change that helps."""


@dataclass(frozen=True)
class Notice:
    """A doubt about a run that no certificate covers.

    Attributes
    ----------
    kind
        ``overlap``: bodies start inside one another. ``penetration``: they penetrate during the run. ``long step``: a
        shape passes another by more than its length in a step, turns by more than a radian next to one, or ends in a
        half-space. ``stop``: joints start beyond their limits, which do not move them back. ``energy``: an impact
        gained energy. ``jam``: a kinematic body added far more energy than its speed explains. ``integration``: the
        integration rule added energy to a tree of several links. ``uncertified``: an island was not solved, and the run
        continued.
    steps
        Number of such steps.
    step, worst
        The worst step, and its measure: depth by thickness, distance by length or angle [rad], distance beyond a limit
        [rad or m], energy gained or added [J], or violation of the mechanical certificate over its scale.
    text
        The bodies, the amount and a remedy.
    """

    kind: Literal["overlap", "penetration", "long step", "stop", "energy", "jam", "integration", "uncertified"]
    steps: int
    step: int
    worst: float
    text: str

    def __str__(self) -> str:
        return self.text


def find_notices(recording: Record, ledger: LedgerOf) -> tuple[Notice, ...]:
    """Return all notices of a record; empty for most records."""
    q, v, pose = recording.q, recording.v, recording.rows["motion_pose"]
    moves = StepMotions(recording.world, q[:-1], v[:-1], q[1:], v[1:], recording.h, pose[:-1], pose[1:])
    return (*step_notices(recording, ledger), *long_step_notices(moves), *product_gains(recording, ledger))


def step_notices(recording: Record, ledger: LedgerOf, name: Named = NAMED, begun: float = 0.0) -> Iterator[Notice]:
    """Yield the notices of a record about the start, contacts, energy gained and unsolved islands, not about motion.

    ``name`` gives the names of steps; ``begun`` is the largest depth from the start that is already reported.
    """
    world, rows, begins = recording.world, recording.rows, bool(recording.time[0] == 0.0)
    if begins:
        yield from limit_violation_notices(world, recording.stepper, recording.q, name)
    # One column shows for most runs that there are no deep contacts, and no table is made.
    if (read_column(rows, "contact_gap") < penetration_threshold(world)).any():
        yield from overlap_notices(world, recording.stepper, rows, begins=begins, begun=begun, name=name)
    yield from energy_gain_notices(recording, ledger, name)
    yield from jams(recording, name)
    if (read_column(rows, "island_choice") == ForceChoice.UNCERTIFIED).any():
        yield from uncertified_notices(recording.uncertified, world, rows, name)


def penetration_threshold(world: World) -> float:
    """Return the gap [m] below which a contact of a world may be too deep."""
    return -DEPTH * float(np.min(world.extents.min_width, initial=np.inf))


def new_kinds(found: Iterable[Notice], known: tuple[Notice, ...]) -> tuple[Notice, ...]:
    """Return the notices in ``found`` whose kind no notice in ``known`` has."""
    kinds = {notice.kind for notice in known}
    return tuple(notice for notice in found if notice.kind not in kinds)


def warn_of(notices: Iterable[Notice]) -> None:
    """Issue a warning for each notice, at the line that called the library."""
    for notice in notices:
        warn_caller(notice.text, ImplausibleWarning)


def deep_contact_text(world: World, contacts: Iterable[ViewedContact], step: int) -> str:
    """Return a sentence about the deepest contact of a failed step, or an empty text if its depth is rounding."""
    deepest = min(contacts, key=lambda contact: contact.gap, default=None)
    if deepest is None or deepest.gap >= 0.0:
        return ""
    bodies = [body for body in (deepest.body_b, deepest.body_a) if body >= 0]
    thick = [size for body, size in zip(world.surface_bodies, world.extents.min_width, strict=True) if body in bodies]
    if -deepest.gap <= DEPTH * min(thick, default=np.inf):
        return ""
    advice = "look at the applied forces, and at h" if step else "start them apart"
    names = [repr(world.model.names[body]) for body in bodies]
    names += [repr(world.half_space_names[deepest.half_space])] if deepest.half_space >= 0 else []
    return f"Before the step {' and '.join(names)} overlap, {-deepest.gap:.3g} m deep: {advice}. "


def overlap_notices(
    world: World, stepper: TimeStepping, rows: Rows, *, begins: bool, begun: float, name: Named
) -> Iterator[Notice]:
    """Yield at most two notices of contacts too deep for rounding: "overlap" from the start, and "penetration".

    A penetration is more than 1.1 times as deep as the start's deepest overlap, relative to the shapes' thickness.

    ``begins``: step 0 is the world's first step, not the start of a continued run; ``begun``: the largest depth already
    reported.
    """
    gap, step = rows["contact_gap"], rows["contact_step"]
    deep = np.flatnonzero(gap < 0.0)
    # One more entry, for half-spaces and external contacts, which have no shape and the number -1.
    thick = np.append(world.extents.min_width, np.inf)
    size = np.minimum(thick[rows["contact_shape_a"][deep]], thick[rows["contact_shape_b"][deep]])
    depth = -gap[deep] / size
    found = depth > DEPTH
    deep, depth = deep[found], depth[found]
    first = begins & (step[deep] == 0)
    # Contacts that start deep mostly stay deep: one notice is enough.
    old = depth <= 1.1 * np.max(depth[first], initial=begun)
    mends = "forces stop a penetration, but do not correct it"
    if stepper.projection:
        mends = "positions are corrected, at a bounded speed (`max_depenetration_velocity`)"
    for kind, own in (("overlap", old), ("penetration", ~old)):
        if not own.any() or (kind == "overlap" and begun):
            continue
        at = int(np.argmax(np.where(own, depth, 0.0)))
        row, worst = int(deep[at]), float(depth[at])
        who = f"{_touched(world, rows, row, 'b')} and {_touched(world, rows, row, 'a')}"
        how = f"{-gap[row]:.3g} m deep, {worst:.2g} times the thickness of the thinner"
        steps = np.unique(step[deep[own]]).size
        if kind == "overlap":
            text = f"{who} overlap from the start, {how} ({steps} such steps): start them apart; {mends}"
            yield Notice("overlap", steps, 0, worst, text)
        else:
            text = f"{who} get {how}, during the run, in {name(int(step[row]))} ({steps} such steps): "
            text += f"take smaller steps; {mends}"
            pair = int(rows["contact_body_a"][row]), int(rows["contact_body_b"][row])
            for mover in moving_as_prescribed(world, pair):
                text += f"; '{mover}' moves as prescribed, for any force, and presses bodies without space to move"
            yield Notice("penetration", steps, int(step[row]), worst, text)


def rigid_stops(world: World, stepper: TimeStepping) -> list[JointRow]:
    """Return the joints' rigid limits; none if the stepper corrects violations, by ``erp`` or ``projection``."""
    if stepper.erp > 0.0 or stepper.projection:
        return []
    return [row for row in world.joint_rows if row.kind == RowKind.LIMIT and row.stiffness == 0.0]


def limit_violation(stops: list[JointRow], q: FloatArray) -> FloatArray:
    """Return by how much configurations q (n, nq) violate limits (n, limits) [rad or m]; negative inside the limits."""
    bound, sign = np.array([row.bound for row in stops]), np.array([row.sign for row in stops])
    off: FloatArray = (bound - q[:, [row.place for row in stops]]) * sign
    return off


def roundings(world: World, stops: list[JointRow]) -> FloatArray:
    """Return the largest violations (limits,) [rad or m] of limits that can be rounding."""
    length = ARM * size_of(world)
    return BEYOND * np.array([1.0 if row.angular else length for row in stops])


def limit_violation_notices(world: World, stepper: TimeStepping, q: FloatArray, name: Named) -> Iterator[Notice]:
    """Yield one notice if joints are beyond rigid limits in the first of the configurations q (n, nq) of a run."""
    stops = rigid_stops(world, stepper)
    off = limit_violation(stops, q)
    first = np.argsort(-off[0], kind="stable")
    rounding = roundings(world, stops)
    first = first[off[0, first] > rounding[first]]
    if not first.size:
        return
    bodies = {
        dof: world.model.bodies[world.model.index(body)] for (body, _), (dof, _) in world.coordinate_index.items()
    }
    ends = [f"{bodies[row.dof].joint_name!r} {'above' if row.sign < 0.0 else 'below'} {row.bound:.3g}" for row in stops]
    listed = join_names([f"{ends[i]} by {off[0, i]:.3g}" for i in first])
    steps = int(np.count_nonzero(np.any(off[:-1, first] > rounding[first], axis=1))) or 1
    text = (
        f"joints are beyond their limits from the start ({name(0)}) [rad or m]: {listed} ({steps} such steps): "
        "start inside, or set `erp` (0.2 corrects a fifth in each step); a stop alone does not correct the violation"
    )
    yield Notice("stop", steps, 0, float(off[0, first[0]]), text)


def _touched(world: World, rows: Rows, row: int, side: str) -> str:
    """Return the name of a body, half-space or the world on one side of a contact."""
    body, half_space = int(rows[f"contact_body_{side}"][row]), int(rows["contact_half_space"][row])
    if body >= 0:
        return f"'{world.model.names[body]}'"
    return f"'{world.half_space_names[half_space]}'" if half_space >= 0 else "the world"


def moving_as_prescribed(world: World, bodies: Iterable[int]) -> tuple[str, ...]:
    """Return the names of the kinematic bodies among ``bodies`` that move, in the order of the world."""
    there = set(bodies)
    moving = (body for body, motion in world.motions if not isinstance(motion, Conveyor))
    return tuple(world.model.names[body] for body in moving if body in there)


def pressed_by(names: tuple[str, ...]) -> str:
    """Return advice, for an error message, about kinematic bodies with these names that press others."""
    listed = " and ".join(map(repr, names))
    moves, them, motion = ("moves", "it", "its motion") if len(names) == 1 else ("move", "them", "their motions")
    return (
        f"{listed} {moves} as prescribed, for any force: if bodies have no space left, no forces solve the step at "
        f"any h. Stop {them} earlier (change {motion}), let a drive with a `max_force` push, or give the materials a "
        "stiffness"
    )


def long_step_notices(moves: StepMotions) -> Iterator[Notice]:
    """Yield a notice of motion for which steps are too long."""
    found = long_steps(moves)
    if found is not None:
        yield Notice("long step", *found)


def energy_gain_notices(recording: Record, ledger: LedgerOf, name: Named) -> Iterator[Notice]:
    """Yield one notice of the steps with impacts in which the energy rose, by the states and by the ledger."""
    allowed, rows = GAIN * recording.kinetic[:-1], recording.rows
    steps = np.flatnonzero(np.diff(recording.kinetic + recording.potential) > allowed)
    # In most runs no energy rises, or no contact bounces, and no table and no ledger is made.
    if not steps.size or not (read_column(rows, "contact_restitution") > 0.0).any():
        return
    struck = (rows["contact_restitution"] > 0.0) & (rows["contact_impulse_normal"] > 0.0)
    steps = np.intersect1d(steps, rows["contact_step"][struck])
    if steps.size:
        gained = ledger().impact + ledger().friction
        steps = steps[gained[steps] > allowed[steps]]
    if not steps.size:
        return
    step = int(steps[np.argmax(gained[steps])])
    text = (
        f"the impacts of {name(step)} gain {gained[step]:.3g} J of {recording.kinetic[step]:.3g} J ({steps.size} such "
        "steps): Newton's law of restitution may, with friction and several contacts; a smaller restitution or "
        "`EventDriven` with Poisson's or Stronge's law does not"
    )
    yield Notice("energy", int(steps.size), step, float(gained[step]), text)


def uncertified_notices(table: UncertifiedTable, world: World, rows: Rows, name: Named) -> Iterator[Notice]:
    """Yield a notice of islands with uncertified forces; ``rows`` have the contacts of their steps."""
    if not len(table):
        return
    at, steps = table.worst, table.steps.size
    step, worst = int(table.step[at]), float(table.mechanical[at])
    text = (
        f"island {table.island[at]} ({table.contacts[at]} contacts) was not solved in {name(step)}, and "
        f"the best forces found were accepted, uncertified: their scaled residual, which decides, is "
        f"{table.residual[at]:.2g}, and the worst condition is violated by {worst:.2g} of its scale ({len(table)} "
        f"such islands, in {steps} steps): a smaller h, compliant materials (Material(stiffness=, dissipation=)) or "
        "another solver may help; on_unsolved='raise' stops instead"
    )
    own = (rows["contact_step"] == table.step[at]) & (rows["contact_island"] == table.island[at])
    movers = moving_as_prescribed(world, np.concatenate([rows[f"contact_body_{side}"][own] for side in "ab"]).tolist())
    text += f". {pressed_by(movers)}" if movers else ""
    yield Notice("uncertified", steps, step, worst, text)


def join_names(names: Sequence[str]) -> str:
    """Return the first NAMES names as text, followed by the number of other names."""
    return ", ".join(names[:NAMES]) + (f" and {len(names) - NAMES} more" if len(names) > NAMES else "")


def jams(recording: Record, name: Named) -> Iterator[Notice]:
    """Yield one notice if moving kinematic bodies give islands far more energy than their speed explains.

    It names the step with the largest energy, and counts all such steps. The limit is `JAM` times the kinetic energy of
    the island's bodies if each had the speed sqrt(s^2 + (g h)^2), s the surface's speed. g h is the speed gained by
    weight in a step, so that a lift with its load is below the limit. Compliant contacts are left out, because they
    store the energy; so are conveyors.
    """
    world = recording.world
    moving = [body for body, motion in world.motions if not isinstance(motion, Conveyor)]
    if not moving:
        return
    table = recording.contacts
    pushed = np.isin(table.body_a, moving) & (table.impulse_normal > 0.0)
    rows = np.flatnonzero(pushed & rigid_contacts(recording))
    surface = surface_velocities(recording, table)[rows, :3]
    work = np.einsum("ij,ij->i", table.impulse[rows], surface)
    if not (work > 0.0).any():
        return
    _, islands = np.unique(np.stack((table.step, table.island), axis=1), axis=0, return_inverse=True)
    islands = islands.reshape(-1)
    given, speed, mass = np.zeros((3, int(islands.max()) + 1))
    np.add.at(given, islands[rows], work)
    np.maximum.at(speed, islands[rows], np.linalg.norm(surface, axis=1))
    # The mass of each island, and the step of each.
    sides, trees = np.tile(islands, 2), np.append(world.body_trees, -1)[np.concatenate((table.body_a, table.body_b))]
    members = np.unique(np.stack((sides, trees), axis=1)[trees >= 0], axis=0)
    np.add.at(mass, members[:, 0], _tree_masses(world)[members[:, 1]])
    step = np.zeros(given.size, dtype=np.int64)
    step[islands] = table.step
    fall = float(np.linalg.norm(world.model.gravity)) * recording.h[step]
    excess = np.divide(given, 0.5 * JAM * mass * (speed**2 + fall**2), out=np.zeros(given.size), where=given > 0.0)
    if not (excess > 1.0).any():
        return
    island = int(np.argmax(np.where(excess > 1.0, given, 0.0)))
    whole, at, worst = np.flatnonzero(islands == island), int(step[island]), float(given[island])
    pushing = whole[np.isin(table.body_a[whole], moving)]
    pushers = tuple(world.model.names[body] for body in np.unique(table.body_a[pushing]))
    jamming = [repr(name) for name in pushers]
    bodies = [repr(world.model.names[body]) for body in np.unique(table.body_b[pushing])]
    steps = np.unique(step[excess > 1.0]).size
    text = (
        f"{join_names(jamming)} jams {join_names(bodies)}, in an island of {whole.size} contacts: in {name(at)} "
        f"it gives {worst:.3g} J, {JAM * excess[island]:.3g} times the kinetic energy that the island would have at "
        f"its speed of {speed[island]:.3g} m/s ({steps} such steps). {pressed_by(pushers)}"
    )
    yield Notice("jam", steps, at, worst, text)


def least_jam(world: World, h: float) -> float:
    """Return the minimum work [J] of a jam in a step of h: for the lightest tree, at the speed gained by weight."""
    mass = _tree_masses(world)
    return (
        0.5
        * JAM
        * float(np.min(mass[mass > 0.0], initial=np.inf))
        * float(h**2 * world.model.gravity @ world.model.gravity)
    )


def _tree_masses(world: World) -> FloatArray:
    """Return the mass (nt,) [kg] of the bodies of each tree."""
    mass = np.array([0.0 if spec.inertia is None else spec.inertia.mass for spec in world.model.bodies])
    moving = world.body_trees >= 0
    return np.bincount(world.body_trees[moving], mass[moving], world.tree_starts.size - 1).astype(np.float64)


def product_gains(recording: Record, ledger: LedgerOf) -> Iterator[Notice]:
    """Yield one notice of the steps in which the integration rule adds energy to trees of several links.

    The rule evaluates velocity products and inertia at the start of the step. Free trees moved by the Runge-Kutta
    method are excluded. The energy is the ledger's, without the part of the weights: half the change of their work.
    """
    world, h = recording.world, recording.h
    trees = np.flatnonzero(world_arrays(world).packed.free[:, FREE_KIND] != FREE_EULER)
    if not trees.size or not h.size or np.max(h) * np.max(np.abs(recording.v)) <= TURN:
        return
    starts, speeds = world.tree_starts, np.maximum(np.abs(recording.v[:-1]), np.abs(recording.v[1:]))
    turned = h[:, None] * np.maximum.reduceat(speeds, starts[:-1], axis=1)[:, trees]
    if recording.stepper.moves_accurately and (turned > TURN).any():
        turned[held_trees(recording)[:, trees] == 0] = 0.0
    suspect = turned.max(axis=1) > TURN
    if not suspect.any():
        return
    lifted = np.diff(recording.potential)
    gained = ledger().integration_error - 0.5 * np.diff(lifted, prepend=lifted[0])
    bad = suspect & (gained > GAINED * recording.kinetic[:-1]) & (gained > LEAST * float(np.max(recording.kinetic)))
    if not bad.any():
        return
    step = int(np.argmax(np.where(bad, gained, 0.0)))
    k = int(np.argmax(turned[step]))
    bodies = [repr(world.model.names[body]) for body in np.flatnonzero(world.body_trees == trees[k])]
    text = (
        f"the integration rule adds {gained[step]:.3g} J to the tree of {join_names(bodies)}, which has "
        f"{recording.kinetic[step]:.3g} J with all others, in step {step} ({np.count_nonzero(bad)} such steps): it "
        f"uses velocity products and inertia of the step's start, and a coordinate changes by {turned[step, k]:.2g} in "
        f"it; h = {0.2 * h[step]:.1g} s would do"
    )
    if not recording.stepper.moves_accurately:
        text += ", or integrator='rk4' if no row acts on it"
    yield Notice("integration", int(np.count_nonzero(bad)), step, float(gained[step]), text)
