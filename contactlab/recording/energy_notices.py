"""Notices of energy gained without cause: from kinematic bodies that jam others, or from the integration rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.stepping.kernels.layout import GYROSCOPIC_CODES, Parameters
from contactlab.stepping.memory import new_work
from contactlab.stepping.packing import FREE_EULER, free_kinds, moves_accurately, new_record
from contactlab.stepping.prepared import world_arrays
from contactlab.world.motion import Conveyor

if TYPE_CHECKING:
    from contactlab.recording.notices import Named, Notice
    from contactlab.recording.recording import Recording
    from contactlab.world.world import World

#: Work of a kinematic body in a step, relative to the island's kinetic energy at the speed of its surface.
JAM = 100.0
#: Gain of velocity products in a step, relative to a tree's kinetic energy; minimum rotation of such a step [rad];
#: kinetic energy below which a step is ignored, relative to the largest of the run; number of steps inspected, the
#: fastest first.
GAINED, TURN, LEAST, LOOK = 0.01, 0.05, 1e-3, 500
#: Maximum number of bodies named.
NAMES = 6


def join_names(names: list[str]) -> str:
    """Return the first NAMES names as text, followed by the number of other names."""
    shown = ", ".join(map(repr, names[:NAMES]))
    return shown + (f" and {len(names) - NAMES} more" if len(names) > NAMES else "")


def jams(recording: Recording, name: Named) -> Iterator[Notice]:
    """Yield one notice if moving kinematic bodies give islands far more energy than their speed explains.

    It names the step with the largest energy, and counts all such steps. The limit is `JAM` times the kinetic energy of
    the island's bodies if each had the speed sqrt(s^2 + (g h)^2), s the surface's speed. g h is the speed gained by
    weight in a step, so that a lift with its load is below the limit. Compliant contacts are left out, because they
    store the energy; so are conveyors.
    """
    from contactlab.recording.energy_ledger import rigid_contacts, surface_velocities
    from contactlab.recording.notices import Notice, pressed_by

    world = recording.world
    moving = [body for body, motion in world.motions if not isinstance(motion, Conveyor)]
    if not moving:
        return
    table = recording.contacts
    pushed = np.isin(table.body_a, moving) & (table.impulse_normal > 0.0)
    if not pushed.any():
        return
    rows = np.flatnonzero(pushed & rigid_contacts(recording))
    surface = surface_velocities(recording)[rows, :3]
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
    bodies = [world.model.names[body] for body in np.unique(table.body_b[pushing])]
    steps = np.unique(step[excess > 1.0]).size
    text = (
        f"{join_names(list(pushers))} jams {join_names(bodies)}, in an island of {whole.size} contacts: in {name(at)} "
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
    out = np.zeros(world.tree_starts.size - 1)
    for spec, tree in zip(world.model.bodies, world.body_trees, strict=True):
        if tree >= 0 and spec.inertia is not None:
            out[tree] += spec.inertia.mass
    return out


def product_gains(recording: Recording) -> Iterator[Notice]:
    """Yield one notice of the steps in which the integration rule adds energy to trees of several links.

    The rule evaluates velocity products and inertia at the start of the step. Free trees moved by the Runge-Kutta
    method are excluded.
    """
    from contactlab.recording.notices import Notice

    world = recording.world
    kinds = free_kinds(world)
    if not np.any(kinds != FREE_EULER):
        return
    from contactlab.recording.energy_ledger import held_trees

    trees, h = np.flatnonzero(kinds != FREE_EULER), recording.h
    starts = world.tree_starts
    fastest = np.maximum.reduceat(np.maximum(np.abs(recording.v[:-1]), np.abs(recording.v[1:])), starts[:-1], axis=1)
    suspect = h[:, None] * fastest[:, trees] > TURN
    if moves_accurately(recording.stepper) and suspect.any():
        suspect &= held_trees(recording)[:, trees] != 0
    steps = np.flatnonzero(suspect.any(axis=1))
    if not steps.size:
        return
    steps = np.sort(steps[np.argsort(-(h[:, None] * fastest)[steps].max(axis=1), kind="stable")[:LOOK]])
    gained, kinetic = product_errors(recording, steps, trees)
    where = np.isin(np.arange(recording.n_steps), steps)
    gained = np.where(suspect[where], gained, 0.0)
    bad = (gained > GAINED * kinetic) & (gained > LEAST * float(np.max(recording.kinetic)))
    if not bad.any():
        return
    i, k = np.unravel_index(int(np.argmax(np.where(bad, gained, 0.0))), gained.shape)
    step, tree = int(steps[i]), int(trees[k])
    bodies = [world.model.names[body] for body in np.flatnonzero(world.body_trees == tree)]
    count = int(np.count_nonzero(bad.any(axis=1)))
    text = (
        f"the integration rule adds {gained[i, k]:.3g} J to the tree of {join_names(bodies)}, which "
        f"has {kinetic[i, k]:.3g} J, in step {step} ({count} such steps): it uses velocity products and "
        f"inertia of the step's start, and a coordinate "
        f"changes by {h[step] * fastest[step, tree]:.2g} in it; h = {0.2 * h[step]:.1g} s would do"
    )
    if not moves_accurately(recording.stepper):
        text += ", or integrator='rk4' if no row acts on it"
    yield Notice("integration", count, step, float(gained[i, k]), text)


def product_errors(recording: Recording, steps: IntArray, trees: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the energy (n, k) [J] that the rule adds to trees in steps, without weights, and their kinetic energies.

    The energy is the part of the integration error due to velocity products and inertia: T(q+, v+) - T(q, v+) + h b .
    (v + v+) / 2, b the bias without weights. Each tree is alone in T. The kinetic energies (n, k) are from before.
    """
    from contactlab.stepping.kernels.account import recompute_energy_terms

    world, n = recording.world, steps.size
    arrays, work, parameters = world_arrays(world), new_work(world, 1, 4), new_record(Parameters)
    parameters.gyroscopic = GYROSCOPIC_CODES[recording.stepper.gyroscopic]
    none, tau = np.zeros(0, dtype=np.int64), np.zeros((0, world.nv))
    starts = world.tree_starts
    gained, before = np.zeros((n, trees.size)), np.zeros((n, trees.size))
    bias, weight, energy = np.zeros((1, world.nv)), np.zeros((1, world.nv)), np.zeros(1)
    no_points, no_pairs, no_speeds = np.zeros((0, 3)), np.zeros((0, 2), dtype=np.int64), np.zeros((0, 6))
    held = np.zeros((1, starts.size - 1), dtype=np.int64)

    def of(q: FloatArray, v: FloatArray, v_plus: FloatArray, h: float, out: FloatArray) -> float:
        states, speeds = np.stack((q, q)), np.stack((v, v_plus))
        recompute_energy_terms(
            arrays.packed, work, parameters, states, speeds, tau, np.array([h]), None, np.zeros((1, 0)), held, none,
            no_pairs, no_points, out, energy, no_speeds, no_speeds, held,
        )  # fmt: skip
        return float(energy[0])

    for i, step in enumerate(steps):
        q, q_next, h = recording.q[step], recording.q[step + 1], float(recording.h[step])
        v, v_plus = recording.v[step], recording.v[step + 1]
        of(q, v, v_plus, h, bias)
        of(q, np.zeros_like(v), v, h, weight)
        for k, tree in enumerate(trees):
            own = slice(starts[tree], starts[tree + 1])
            alone, after = np.zeros_like(v), np.zeros_like(v)
            alone[own], after[own] = v[own], v_plus[own]
            before[i, k] = of(q, alone, alone, h, np.zeros_like(bias))
            change = of(q_next, alone, after, h, np.zeros_like(bias)) - of(q, alone, after, h, np.zeros_like(bias))
            gained[i, k] = change + (bias - weight)[0, own] @ (0.5 * (v + v_plus))[own]
    return gained, before
