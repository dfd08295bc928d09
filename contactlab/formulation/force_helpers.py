"""Drake's static helpers under their own names, for problem data of both levels.

They are pure functions of their arguments; forces are given as `ConstraintForces` or as a packed vector
[fN | fF | fL | fG | fB].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from numpy.typing import ArrayLike

from contactlab.formulation import generalized
from contactlab.formulation.contact_frames import contact_forces_in_frames
from contactlab.formulation.discretized import (
    BaseLCP,
    DiscretizedLCP,
    construct_base_discretized_time_lcp,
    populate_packed_constraint_forces_from_lcp_solution,
    update_discretized_time_lcp,
)
from contactlab.formulation.generalized import ProblemData
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintAccelProblemData, ConstraintForces, ConstraintVelProblemData, ProblemDataError

__all__ = ["ForceHelpers", "check_level"]


def check_level(data: object, wanted: type) -> None:
    """Raise `ProblemDataError` unless the problem data are of the level that is wanted."""
    if not isinstance(data, wanted):
        raise ProblemDataError("data", f"{type(data).__name__}, wanted {wanted.__name__}")


class ForceHelpers:
    """Static helpers of the constraint solver."""

    @staticmethod
    def construct_base_discretized_time_lcp(data: ConstraintVelProblemData) -> BaseLCP:
        """State the LCP at h = 1 without softening: the part that every step size shares."""
        return construct_base_discretized_time_lcp(data)

    @staticmethod
    def update_discretized_time_lcp(base: BaseLCP, data: ConstraintVelProblemData, h: float) -> DiscretizedLCP:
        """State the LCP of a step h [s] with the operators of ``base`` and the vectors of ``data``."""
        return update_discretized_time_lcp(base, data, h)

    @staticmethod
    def populate_packed_constraint_forces_from_lcp_solution(
        data: ConstraintVelProblemData, discretized: DiscretizedLCP, zz: ArrayLike, h: float
    ) -> ConstraintForces:
        """Unpack an LCP solution into forces [N, N m], the bilateral ones included."""
        return populate_packed_constraint_forces_from_lcp_solution(data, discretized, zz, h)

    @staticmethod
    def compute_generalized_force_from_constraint_forces(
        data: ProblemData, forces: ConstraintForces | ArrayLike
    ) -> FloatArray:
        """N' fN + F' fF + L' fL + G' fG + B' fB, shape (nv,): a force [N, N m] or an impulse, as ``forces`` are.

        At acceleration level N is N - mu_s Q: the friction of sliding contacts is included.
        """
        return generalized.generalized_force(data, forces)

    @staticmethod
    def compute_generalized_velocity_change(
        data: ConstraintVelProblemData, impulses: ConstraintForces | ArrayLike
    ) -> FloatArray:
        """M^-1 times the generalised impulse of ``impulses`` [N s, N m s], shape (nv,)."""
        check_level(data, ConstraintVelProblemData)
        return generalized.acceleration_by_forces(data, impulses)

    @staticmethod
    def compute_generalized_acceleration_from_constraint_forces(
        data: ProblemData, forces: ConstraintForces | ArrayLike
    ) -> FloatArray:
        """M^-1 times the generalised force of ``forces`` [N, N m], shape (nv,): without external forces."""
        return generalized.acceleration_by_forces(data, forces)

    @overload
    @staticmethod
    def compute_generalized_acceleration(
        data: ConstraintAccelProblemData, forces: ConstraintForces | ArrayLike, /
    ) -> FloatArray: ...

    @overload
    @staticmethod
    def compute_generalized_acceleration(
        data: ConstraintAccelProblemData, *, forces: ConstraintForces | ArrayLike
    ) -> FloatArray: ...

    @overload
    @staticmethod
    def compute_generalized_acceleration(
        data: ConstraintVelProblemData, v: ArrayLike, forces: ConstraintForces | ArrayLike, h: float
    ) -> FloatArray: ...

    @staticmethod
    def compute_generalized_acceleration(
        data: ProblemData,
        v: ConstraintForces | ArrayLike | None = None,
        forces: ConstraintForces | ArrayLike | None = None,
        h: float | None = None,
    ) -> FloatArray:
        """Acceleration by external and constraint forces, shape (nv,): of the instant, or the mean over a step.

        ``(acceleration_data, forces)`` gives M^-1 (tau + generalised force). ``(velocity_data, v, forces, h)`` gives
        (v+ - v) / h with v (nv,) the velocity at the start of the step; external forces are in Mv already.
        """
        if isinstance(data, ConstraintAccelProblemData):
            given = [argument for argument in (v, forces) if argument is not None]
            if len(given) != 1 or h is not None:
                raise TypeError("at acceleration level: compute_generalized_acceleration(data, forces), without v or h")
            return generalized.total_acceleration(data, given[0])
        if v is None or isinstance(v, ConstraintForces) or forces is None or h is None:
            raise TypeError("at velocity level: compute_generalized_acceleration(data, v, forces, h)")
        return generalized.mean_acceleration(data, v, forces, h)

    @staticmethod
    def calc_contact_forces_in_contact_frames(
        data: ProblemData, forces: ConstraintForces | ArrayLike, contact_frames: Sequence[ArrayLike]
    ) -> list[FloatArray]:
        """Force along normal and tangent of each contact of a planar problem: nc vectors (2,).

        ``contact_frames`` are nc orthonormal matrices (2, 2), columns normal and tangent in world axes; the tangent of
        a sliding contact points along its motion, and its force is (fN, -mu fN).
        """
        return contact_forces_in_frames(data, forces, contact_frames)
