"""The memory in which steps of one driver are differentiated, and the call that holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contactlab.constraints.kernels.wanted import row_rates_size
from contactlab.linearization.kernels import layout
from contactlab.linearization.kernels.layout import Memory
from contactlab.multibody.kernels.sizes import derivatives_size, point_rates_size
from contactlab.spatial.arrays import FloatArray

if TYPE_CHECKING:
    from contactlab.stepping.driver import Driver
    from lcp.compiler.held import HeldCall

#: Kinks told of one step.
MOST_KINKS = 4096


class Differentiator:
    """Differentiates the steps of one driver, each right after it was made."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._sizes = (-1, -1)
        self._of_held: tuple[Any, ...] = ()
        self._held: HeldCall | None = None
        self.memory: Memory

    def __call__(self, q: FloatArray, v: FloatArray) -> int:
        """Differentiate the step that was made from (q, v), alone in the chunk; how many kinks it has."""
        driver = self._driver
        contacts, joints = int(driver.control.n_contacts), int(driver.control.chunk_joints)
        if contacts > self._sizes[0] or joints > self._sizes[1]:
            self._sizes = contacts * 3 // 2, max(joints, self._sizes[1])
            self.memory = self._new(*self._sizes)
        memory, work = self.memory, driver.work
        memory.q[:], memory.v[:], memory.v_plus[:] = q, v, work.v
        q_plus = work.q.copy()
        try:
            count = self._entered()()
        finally:
            work.q[:], work.v[:] = q_plus, memory.v_plus
        return int(count)

    def _entered(self) -> HeldCall:
        driver = self._driver
        arrays = driver.prepared.arrays.packed
        now = arrays, driver.work, driver.chunk, driver.collision, driver.joints, self.memory
        if self._held is None or not all(a is b for a, b in zip(self._of_held, now, strict=True)):
            from contactlab.linearization.kernels.linearize import enter, linearized_held
            from lcp.compiler.held import HeldCall

            _, work, chunk, collision, joints, memory = now
            records = driver.records
            self._held = HeldCall(linearized_held, enter, (arrays, work, chunk, *records, collision, joints, memory))
            self._of_held = now
        return self._held

    def _new(self, contacts: int, joints: int) -> Memory:
        driver = self._driver
        world = driver.prepared.world
        nv, nq, nb = world.nv, world.nq, world.model.nb
        drives = len(world.joint_actions.drives)
        columns = 3 * nv + drives
        r = driver.prepared.edges // 2
        loops = 0 if driver.joints is None else driver.joints.loop_G.shape[0]
        m = 3 * contacts + joints
        nl = world.model.packed.nl
        size = max(derivatives_size(nl, nv), row_rates_size(nl, nv), point_rates_size(nl, nv), 256)
        floats: dict[str, tuple[int, ...]] = {
            "q": (nq,), "v": (nv,), "v_plus": (nv,), "W": (size,), "V": (size,),
            "dynamics": (3, nv, nv), "wrenches": (nb, 6),
            "loops": (4, loops, nv), "carried": (nv, nv), "points": (2, 4, 6, nv), "loop_forces": (loops,),
            "frame": (contacts, 3, nv), "changes": (contacts, 3, nv), "before": (contacts, nv),
            "drawn": (contacts, 3, nv), "push": (contacts, 3, nv), "contact": (contacts, layout.PER_CONTACT),
            "rates": (contacts, 6, 6), "columns": (2, nv, 6),
            "H": (m, nv), "G": (m, nv), "Y": (m, nv), "D": (m,), "f": (m,), "S": (m * m,),
            "X": (nv, columns), "right": (m, columns), "solved": (2, m, columns), "moved": (2, nv, columns),
            "base": (3, m), "lag": (nv,), "how_far": (MOST_KINKS, 2), "way": (2 * nv,), "way_of_pair": (36,),
            "A": (2 * nv, columns), "forces": (contacts, 3, columns), "joint_forces": (joints, columns),
        }  # fmt: skip
        ints: dict[str, tuple[int, ...]] = {
            "mode": (contacts, 3), "dofs": (nv,), "perm": (m,), "owner": (m, 2), "kinks": (MOST_KINKS, layout.KINK_INTS),
        }  # fmt: skip
        arrays: dict[str, Any] = {name: np.zeros(shape) for name, shape in floats.items()}
        arrays |= {name: np.zeros(shape, dtype=np.int64) for name, shape in ints.items()}
        angles = np.pi * np.arange(2 * r + 1) / r
        turns = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return Memory(**arrays, turns=turns)
