"""What user code says about a step: applied forces, contacts from outside, motions, and what acts on joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from contactlab.spatial.arrays import FloatArray, finite_array, is_finite_array
from contactlab.stepping.external_contacts import Supply
from contactlab.stepping.joint_service import JointService, Targets
from contactlab.stepping.kernels import layout
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.world.errors import SimulationConfigError
from contactlab.world.motion import belt_twist

if TYPE_CHECKING:
    from contactlab.world.world import World


#: Of (time, h) of a step: poses (n, 12) at its start, twists (n, 6) in it, poses at its end; rotations by rows.
Motions = Callable[[float, float], tuple[FloatArray, FloatArray, FloatArray]]


def motions_of(world: World) -> Motions | None:
    """Return what asks the world's motions, None where nothing is kinematic."""
    if not world.motions:
        return None

    def asked(time: float, h: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        middle = time + 0.5 * h
        twists = [finite_array(m.twist(middle), "twist", (6,), SimulationConfigError) for _, m in world.motions]
        return motion_poses(world, time), np.array(twists), motion_poses(world, time + h)

    return asked


def motion_poses(world: World, time: float) -> FloatArray:
    """Return the poses (n, 12) of the kinematic bodies at a time."""
    poses = [motion.pose(time) for _, motion in world.motions]
    return np.array([np.append(pose.R.ravel(), pose.p) for pose in poses]).reshape(-1, 12)


def poses_at(world: World, times: FloatArray) -> FloatArray:
    """Return the poses (m, n, 12) of the kinematic bodies at times (m,)."""
    if not world.motions:
        return np.zeros((len(times), 0, 12))
    return np.array([motion_poses(world, time) for time in times]).reshape(len(times), -1, 12)


#: Applied generalized force (nv,) [N, N m]: none, constant, or a function of (time, q, v) asked once per step.
Tau = ArrayLike | Callable[[float, FloatArray, FloatArray], ArrayLike] | None


class UserCode:
    """Asks user code, and kinematic bodies, for their share in every step of one run.

    Parameters
    ----------
    world
        Of the run.
    tau, targets, supply, motions
        See `Tau`, `Targets`, `Supply`, `Motions`.
    """

    def __init__(
        self, world: World, tau: Tau, targets: Targets, supply: Supply | None, motions: Motions | None
    ) -> None:
        self._tau, self._supply, self._motions = tau, supply, motions
        self.of_joints = JointService(world, targets)

    @property
    def asks(self) -> bool:
        """Whether the loop makes one step at a time."""
        others = self._supply is not None or self._motions is not None or self.of_joints.asks
        return callable(self._tau) or others

    @property
    def with_tau(self) -> bool:
        """Whether there is an applied force."""
        return self._tau is not None

    def write_constant_tau(self, work: layout.Work) -> None:
        """Write a force that does not change, if that is what was given."""
        if self._tau is not None and not callable(self._tau):
            work.tau[:] = finite_array(self._tau, "tau", (work.v.size,), SimulationConfigError)

    def ask(self, work: layout.Work, joints: Joints | None, time: float, h: float) -> layout.Work:
        """Ask for everything in the step that begins; the memory with contacts from outside."""
        q, v, tau = work.q, work.v, work.tau
        if callable(self._tau):
            value = self._tau(time, q.copy(), v.copy())
            if not is_finite_array(value, tau.shape):
                value = finite_array(value, f"tau at time {time:.9g}", tau.shape, SimulationConfigError)
            tau[:] = value
        if self._supply is not None:
            ints, floats = self._supply(time, q.copy(), v.copy())
            work = work._replace(given_int=ints, given_float=floats)
        if joints is not None and self.of_joints.asks:
            self.of_joints.follow(joints, time, q.copy(), v.copy())
        self.ask_of_end(work, joints, time, h)
        return work

    def ask_of_end(self, work: layout.Work, joints: Joints | None, time: float, h: float) -> None:
        """Ask for what depends on the end of the step: motions, and targets."""
        if self._motions is not None:
            pose, twist, after = self._motions(time, h)
            work.motion_pose[:], work.motion_twist[:], work.motion_next[:] = pose, twist, after
            work.belt_twist[:] = belt_twist(pose, after, twist, h)
        if joints is not None and self.of_joints.asks:
            self.of_joints.serve(joints, time, h, work.q.copy(), work.v.copy())
