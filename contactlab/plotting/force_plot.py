"""Contact forces over time, by the two that touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.plotting.paper import one_page
from contactlab.simulation import Recording, World
from contactlab.spatial.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_force_sums", "forces", "pair_name"]

MOST_PAIRS = 9


def pair_name(world: World, body_a: int, body_b: int, half_space: int) -> str:
    """Return the names of the two that touch, A before B."""
    names = world.model.names
    if half_space >= 0:
        first = world.half_space_names[half_space]
    else:
        first = names[body_a] if body_a >= 0 else "world"
    return f"{first} - {names[body_b]}"


def draw_force_sums(axes: Axes, recording: Recording) -> None:
    """Draw, per step, the sums over all contacts of normal force and of the magnitudes of friction [N]."""
    contacts = recording.contacts
    friction = np.linalg.norm(contacts.impulse_tangential, axis=1)
    for name, values in (("normal", contacts.impulse_normal), ("friction", friction)):
        axes.plot(recording.time[1:], _per_step(recording, contacts.step, values), linewidth=0.9, label=name)
    axes.set_ylabel("sum of contact\nforces [N]")
    _calm_scale(axes)
    axes.legend(frameon=False, fontsize=8)


def forces(recording: Recording) -> Figure:
    """Return the contact forces over time, mean over each step [N].

    One line per pair of bodies, or body and half-space, the sum over its contacts: above the normal forces, below the
    magnitudes of friction. The nine pairs with the largest impulse in all have lines of their own, the others are
    summed. Where an impact's force is far above all others the scale is logarithmic from 1 N up.
    """
    contacts = recording.contacts
    figure, (normal, tangential) = one_page([3.0, 3.0], "contact forces by pair")
    friction = np.linalg.norm(contacts.impulse_tangential, axis=1)
    columns = np.stack((contacts.body_a, contacts.body_b, contacts.half_space), axis=1)
    pairs, which = np.unique(columns, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(-np.bincount(which, weights=contacts.impulse_normal, minlength=len(pairs)), kind="stable")
    groups = [(pair_name(recording.world, *map(int, pairs[p])), which == p) for p in order[:MOST_PAIRS]]
    if len(order) > MOST_PAIRS:
        groups.append((f"{len(order) - MOST_PAIRS} others", np.isin(which, order[MOST_PAIRS:])))
    for name, rows in groups:
        for axes, values in ((normal, contacts.impulse_normal), (tangential, friction)):
            mean = _per_step(recording, contacts.step[rows], values[rows])
            axes.plot(recording.time[1:], mean, linewidth=0.9, label=name)
    normal.set_ylabel("normal force [N]")
    tangential.set_ylabel("friction, magnitude [N]")
    for axes in (normal, tangential):
        _calm_scale(axes)
    if groups:
        normal.legend(frameon=False, fontsize=7, ncols=2)
    return figure


def _per_step(recording: Recording, steps: NDArray[np.int64], impulses: FloatArray) -> FloatArray:
    """Sum of the impulses of each step over its length (n_steps,) [N]."""
    total = np.bincount(steps, weights=impulses, minlength=recording.n_steps)
    return np.asarray(total / recording.h)


def _calm_scale(axes: Axes) -> None:
    """Keep what is small to be seen beside an impact."""
    values = np.concatenate([np.abs(np.asarray(line.get_ydata())) for line in axes.lines] or [np.zeros(1)])
    carried = values[values > 0.0]
    if carried.size and carried.max() > 20.0 * np.median(carried):
        axes.set_yscale("symlog", linthresh=max(1e-3, float(np.median(carried))))
    if carried.size:
        axes.set_ylim(bottom=0.0)
