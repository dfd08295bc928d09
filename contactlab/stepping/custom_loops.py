"""Which trees of a world a constraint of the user's own acts on, and whether it keeps to them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody import integrate
from contactlab.spatial.arrays import FloatArray, read_only
from contactlab.stepping.errors import SimulationConfigError

if TYPE_CHECKING:
    from contactlab.constraints.custom_values import CustomRows
    from contactlab.world.world import World

__all__ = ["CustomReach", "trees_acted_on"]

SAMPLES = 8
SPREAD = 0.5  # rad or m from the start


def trees_acted_on(world: World, custom: CustomRows) -> tuple[int, ...]:
    """Return the trees in whose columns the Jacobian is anywhere other than 0, at the start and at states near it.

    Where the Jacobian cannot be had at one of them, or is 0, these are all trees.
    """
    rng = np.random.default_rng(0)
    seen = np.zeros(world.nv, dtype=np.bool_)
    for k in range(SAMPLES):
        v = SPREAD * rng.standard_normal(world.nv) if k else world.initial_v
        q = integrate(world.model, world.initial_q, v, 1.0) if k else world.initial_q
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                seen |= np.any(custom.jacobian(world.model, read_only(q), read_only(v), 0.1 * k) != 0.0, axis=0)
        except Exception:  # noqa: BLE001  # the user's function, at a state that it was perhaps not made for
            return tuple(range(world.tree_starts.size - 1))
    trees = np.flatnonzero(np.logical_or.reduceat(seen, world.tree_starts[:-1])) if seen.any() else ()
    return tuple(int(tree) for tree in trees) or tuple(range(world.tree_starts.size - 1))


class CustomReach:
    """The columns in which the rows of a custom constraint must be 0: those of trees that they are not about."""

    def __init__(self, world: World, custom: CustomRows) -> None:
        self._world, self._custom = world, custom
        own = {tree for row in world.joint_rows if row.loop_row == custom.rows.start for tree in row.trees}
        self._others = np.ones(world.nv, dtype=np.bool_)
        for tree in own:
            self._others[world.tree_starts[tree] : world.tree_starts[tree + 1]] = False

    def check(self, G: FloatArray, time: float) -> None:
        """Raise where the rows act on another tree: it would not be solved together with them."""
        acts: NDArray[np.bool_] = np.any(G != 0.0, axis=0) & self._others
        if not acts.any():
            return
        model, dof = self._world.model, int(np.flatnonzero(acts)[0])
        body = next(name for name in model.names if model.v_slice(name).start <= dof < model.v_slice(name).stop)
        detail = f"{self._custom.label} acts on {body!r} at time {time:.9g}, whose tree it was not known to be about"
        raise SimulationConfigError("bodies", f"{detail}: name all its bodies, add_loop(..., bodies=)")
