"""The derivative of one step: matrices, and the nearby kinks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.linearization.kernels.layout import AT_CONE, NEARLY_STICKING, NEXT_EDGE, ON_KINK
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.stepping.kernels.layout import BODY_A, BODY_B, HALF_SPACE
from contactlab.world.errors import SimulationConfigError
from contactlab.world.state import StepperState
from contactlab.world.world import World

#: The one-sided derivative along a change of the start, and of tau.
Along = Callable[[FloatArray, FloatArray], FloatArray]

#: Reason why a piece ends, by number of `kernels.layout`.
REASONS = (
    "gap at zero: held is given, else it opens",
    "touches without load",
    "hardly loaded, may open",
    "at the cone, may slide",
    "hardly slides, may stick",
    "slips between two directions of the polygon",
    "other features near by, as of parallel faces",
    "forces not selected",
    "at the speed from which it bounces",
    "at the largest force of its row",
    "forces nearly redundant",
    "hardly rolls, its axes of friction jump",
    "friction gives way to a motion that normal forces ask for",
    "depth is undone in the positions",
    "depth is pushed out at the largest speed, or as fast as it bounces",
    "closes its gap without restitution, and bounces with any",
)
#: The same for spin and rolling.
TURNING = (
    {AT_CONE: "at the bound of its spin, may spin", NEARLY_STICKING: "hardly spins, may stick"},
    {
        AT_CONE: "at the bound of its rolling, may roll",
        NEARLY_STICKING: "hardly rolls, may stick",
        NEXT_EDGE: "rolls between two directions of the polygon",
    },
)


@dataclass(frozen=True)
class Kink:
    """A change of the linear piece near a step, at which its derivative ends.

    Attributes
    ----------
    reason
        The change of the piece at the kink.
    contact
        Number of the contact in the step, -1 for none.
    row
        Number of the joint row (`World.joint_rows`), -1 for none.
    label
        The two bodies of the contact, or the name of the row.
    distance
        Distance as a velocity [m/s, rad/s].
    state_distance
        Length of the shortest change of (dq, dv) to the kink, to first order.
    """

    reason: str
    contact: int
    row: int
    label: str
    distance: float
    state_distance: float

    @classmethod
    def of(cls, world: World, number: Sequence[int], touching: Sequence[list[int]], how_far: Sequence[float]) -> Kink:
        """Return a kink from a row ``number`` of the memory and its distances ``how_far``.

        ``touching`` has the integers of the step's contacts.
        """
        reason, place, row, _, cone = number
        if row >= 0:
            label = world.joint_rows[row].label
        else:
            contact = touching[place]
            names = world.model.names
            other = world.half_space_names[contact[HALF_SPACE]] if contact[HALF_SPACE] >= 0 else "given"
            if contact[BODY_A] >= 0:
                other = names[contact[BODY_A]]
            label = f"{names[contact[BODY_B]]} on {other}"
        words = REASONS[reason] if cone == 0 else TURNING[cone - 1].get(reason, REASONS[reason])
        return cls(words, place, row, label, how_far[0], how_far[1])


@dataclass(frozen=True, eq=False)
class NearbyKinks:
    """The kinks near a step, as arrays; `Kink` values are made on request."""

    world: World
    numbers: NDArray[np.int64]  # (k, 5): reason, contact, joint row, neighbour, cone
    touching: NDArray[np.int64]  # (nc, columns) of the step's contacts
    distances: FloatArray  # (k, 3)

    def kinks(self) -> tuple[Kink, ...]:
        """Return the kinks, the closest first."""
        order = np.argsort(self.distances[:, 1], kind="stable")
        touching, far = self.touching.tolist(), self.distances.tolist()
        numbers = self.numbers.tolist()
        return tuple(Kink.of(self.world, numbers[i], touching, far[i]) for i in order)


@dataclass(frozen=True, eq=False)
class Linearization:
    """The derivative of one step: of (dq, dv) at its end, with dq along `integrate`, and dv the change of v.

    Attributes
    ----------
    A
        (2 nv, 2 nv) by (dq, dv) at its start.
    B
        (2 nv, nv) by the applied force tau.
    targets
        (2 nv, n drives) by the drives' targets.
    parameters
        By name, (2 nv,) by each parameter of ``wrt``.
    forces
        (nc, 3, columns) of the contact forces on bodies B [N], in world axes, in the order of the step's contacts;
        columns by (dq, dv), tau, targets and parameters, in this order. Moments are not included.
    joint_forces
        (nj, columns) of the forces of the active joint rows, in the order of the step's `joint_rows`: of a stop, away
        from it; of other rows, along the coordinate.
    next
        The state at its end.
    """

    A: FloatArray
    B: FloatArray
    targets: FloatArray
    parameters: Mapping[str, FloatArray]
    forces: FloatArray
    joint_forces: FloatArray
    next: StepperState
    _near: NearbyKinks = field(repr=False)
    _along: Along = field(repr=False)

    @functools.cached_property
    def kinks(self) -> tuple[Kink, ...]:
        """Return the kinks within 1e-4 of the state, the closest first."""
        return self._near.kinks()

    @property
    def unique(self) -> bool:
        """Return True if all one-sided derivatives are equal: there is no kink within 1e-6 of the state."""
        return not bool((self._near.distances[:, 1] <= ON_KINK).any())

    def jvp(self, dx: ArrayLike, du: ArrayLike | None = None) -> FloatArray:
        """Return A dx + B du: the change (2 nv,) at the end for changes of the start (2 nv,) and of tau (nv,)."""
        n, nv = self.B.shape
        change = self.A @ finite_array(dx, "dx", (n,), SimulationConfigError)
        return change if du is None else change + self.B @ finite_array(du, "du", (nv,), SimulationConfigError)

    def directional(self, dx: ArrayLike, du: ArrayLike | None = None) -> FloatArray:
        """Return the one-sided derivative (2 nv,) along a change of the start (2 nv,) and of tau (nv,).

        It is the derivative of the step from x + t dx as t goes to 0 from above. A small complementarity problem
        decides which kinks at the state dx crosses. If the state is on no kink, the result is ``jvp(dx, du)``. Jumps,
        features of shapes and forces that are not selected are not part of that problem: for these the present piece
        counts.

        Raises
        ------
        SimulationConfigError
            No solution was found, for example because forces would be unbounded.
        """
        n, nv = self.B.shape
        dx = finite_array(dx, "dx", (n,), SimulationConfigError)
        du = np.zeros(nv) if du is None else finite_array(du, "du", (nv,), SimulationConfigError)
        return self.jvp(dx, du) if self.unique else self._along(dx, du)

    def vjp(self, w: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return A^T w and B^T w: the gradients by (dq, dv) at the start and by tau, for w (2 nv,) at the end."""
        w = finite_array(w, "w", (self.B.shape[0],), SimulationConfigError)
        return np.asarray(self.A.T @ w), np.asarray(self.B.T @ w)
