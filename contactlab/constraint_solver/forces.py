"""Constraint forces of both levels: their effects, their certificates, and Drake's static helper functions.

Forces are given as `ConstraintForces` or as a packed vector [fN | fF | fL | fG | fB]. At acceleration level the normal
force of a sliding contact acts along its row of (N - mu_s Q)'. fF has no entry for this contact, and there is no fB.

A certificate contains the kernels' conditions on unilateral and boxed rows, and the residual of bilateral rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraint_solver.blocks import (
    Blocks,
    bilateral_part,
    check_step,
    force_responses,
    free_motion,
    problem_rows,
)
from contactlab.constraint_solver.certificate import CONE_FORMULAS, FORMULAS, Certificate, Check
from contactlab.constraint_solver.discretized import (
    construct_base_discretized_time_lcp,
    populate_packed_constraint_forces_from_lcp_solution,
    update_discretized_time_lcp,
)
from contactlab.multibody.spatial.arrays import FloatArray
from problem_data import (
    AccelerationBlocks,
    ConstraintAccelProblemData,
    ConstraintForces,
    ConstraintVelProblemData,
    ProblemDataError,
)
from problem_data.validation import float_array

ProblemData = ConstraintAccelProblemData | ConstraintVelProblemData

# Largest deviation of columns from unit length, and of their product from zero.
_ORTHONORMAL = float(np.sqrt(np.finfo(np.float64).eps))


def check_level(data: object, wanted: type) -> None:
    """Raise `ProblemDataError` unless the problem data are of the required level."""
    if not isinstance(data, wanted):
        raise ProblemDataError("data", f"{type(data).__name__}, wanted {wanted.__name__}")


def packed_forces(data: ProblemData, forces: ConstraintForces | ArrayLike) -> FloatArray:
    """Return the forces as one vector, checked against the row counts of the problem."""
    if not isinstance(forces, ConstraintForces):
        forces = ConstraintForces.from_packed(data, forces)
    counts = (data.nc, data.nr, data.nl, data.nb, data.nbox)
    lengths = tuple(len(part) for part in (forces.fN, forces.fF, forces.fL, forces.fG, forces.fB))
    if lengths != counts:
        raise ProblemDataError(
            "forces", f"fN, fF, fL, fG, fB of lengths {lengths}, wanted {counts} (nc, nr, nl, nb, nbox)"
        )
    return forces.packed()


def generalized_force(data: ProblemData, forces: ConstraintForces | ArrayLike) -> FloatArray:
    """Return N' fN + F' fF + L' fL + G' fG + B' fB (nv,): a force [N, N m] or an impulse, like ``forces``.

    At acceleration level N is N - mu_s Q: the friction of sliding contacts is included.
    """
    packed = packed_forces(data, forces)
    if isinstance(data, ConstraintAccelProblemData):
        accel = data.blocks()
        return np.asarray(packed[: accel.nc] @ accel.R + packed[accel.nc :] @ accel.J[accel.nc :])
    return np.asarray(packed @ data.blocks().J)


def acceleration_by_forces(data: ProblemData, forces: ConstraintForces | ArrayLike) -> FloatArray:
    """Return M^-1 times the generalised force of ``forces`` [N, N m], (nv,), without external forces."""
    return np.asarray(packed_forces(data, forces) @ force_responses(data.blocks()))


def contact_forces_in_frames(
    data: ProblemData, forces: ConstraintForces | ArrayLike, contact_frames: Sequence[ArrayLike]
) -> list[FloatArray]:
    """Return the force of each contact of a planar problem along its normal and its tangent, nc vectors (2,).

    The force is n fN + t fF, or n fN - t mu_s fN if the contact slides along t. Its components are the products with
    R', for the frame R = [n, t] (columns in world axes).

    Parameters
    ----------
    data : ConstraintAccelProblemData or ConstraintVelProblemData
        A planar problem: one friction direction per contact, none for sliding contacts.
    forces : ConstraintForces or array_like, shape (nc + nr + nl + nb + nbox,)
        Forces [N] or impulses [N s].
    contact_frames : sequence of nc array_like, shape (2, 2)
        Columns normal and tangent; the tangent of a sliding contact points along its motion.

    Raises
    ------
    ProblemDataError
        A contact has not exactly one friction direction, or a frame is missing, of another shape, or not orthonormal.
    """
    packed = packed_forces(data, forces)
    wrong = np.flatnonzero(data.r != 1)
    if wrong.size:
        i = int(wrong[0])
        kind = "non-sliding contacts" if isinstance(data, ConstraintAccelProblemData) else "contacts"
        raise ProblemDataError(
            "r", f"r[{i}] = {data.r[i]}, wanted 1: contact frames are planar, one direction for each of the {kind}"
        )
    if len(contact_frames) != data.nc:
        raise ProblemDataError("contact_frames", f"{len(contact_frames)} frames, wanted {data.nc}: one per contact")

    fN = packed[: data.nc]
    if isinstance(data, ConstraintAccelProblemData):
        tangential = np.empty(data.nc)
        tangential[data.non_sliding_contacts] = packed[data.nc : data.nc + data.nr]
        tangential[data.sliding_contacts] = -data.mu_sliding * fN[data.sliding_contacts]
    else:
        tangential = packed[data.nc : data.nc + data.nr]
    result = []
    for i, value in enumerate(contact_frames):
        frame = _frame(i, value)
        result.append(frame.T @ (frame @ (fN[i], tangential[i])))
    return result


def _frame(i: int, value: ArrayLike) -> FloatArray:
    """Return frame i as an array (2, 2) with orthonormal columns normal and tangent, or raise."""
    try:
        frame = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProblemDataError("contact_frames", f"frame {i} is not an array of numbers ({error})") from error
    if frame.shape != (2, 2):
        raise ProblemDataError("contact_frames", f"frame {i} has shape {frame.shape}, wanted (2, 2): normal, tangent")
    off = np.abs(frame.T @ frame - np.eye(2)).max()
    if not off <= _ORTHONORMAL:  # NaN included
        raise ProblemDataError("contact_frames", f"frame {i} is not orthonormal: R' R is off by {off:.3g}")
    return frame


class ForceHelpers:
    """Static helper functions of the constraint solver."""

    construct_base_discretized_time_lcp = staticmethod(construct_base_discretized_time_lcp)
    update_discretized_time_lcp = staticmethod(update_discretized_time_lcp)
    populate_packed_constraint_forces_from_lcp_solution = staticmethod(
        populate_packed_constraint_forces_from_lcp_solution
    )
    compute_generalized_force_from_constraint_forces = staticmethod(generalized_force)
    compute_generalized_acceleration_from_constraint_forces = staticmethod(acceleration_by_forces)
    calc_contact_forces_in_contact_frames = staticmethod(contact_forces_in_frames)

    @staticmethod
    def compute_generalized_velocity_change(
        data: ConstraintVelProblemData, impulses: ConstraintForces | ArrayLike
    ) -> FloatArray:
        """Return M^-1 times the generalised impulse of ``impulses`` [N s, N m s], (nv,)."""
        check_level(data, ConstraintVelProblemData)
        return acceleration_by_forces(data, impulses)

    @staticmethod
    def compute_generalized_acceleration(
        data: ProblemData,
        v: ConstraintForces | ArrayLike | None = None,
        forces: ConstraintForces | ArrayLike | None = None,
        h: float | None = None,
    ) -> FloatArray:
        """Return the acceleration (nv,) by external and constraint forces, at an instant or as the mean over a step.

        ``(acceleration_data, forces)`` gives M^-1 (tau + generalised force). ``(velocity_data, v, forces, h)`` gives
        (v+ - v) / h with the velocity v (nv,) at the start of the step; external forces are part of Mv.
        """
        if isinstance(data, ConstraintAccelProblemData):
            given = [argument for argument in (v, forces) if argument is not None]
            if len(given) != 1 or h is not None:
                raise TypeError("at acceleration level: compute_generalized_acceleration(data, forces), without v or h")
            return data.blocks().a_free + acceleration_by_forces(data, given[0])
        if v is None or isinstance(v, ConstraintForces) or forces is None or h is None:
            raise TypeError("at velocity level: compute_generalized_acceleration(data, v, forces, h)")
        step, start = check_step(h), float_array("v", v, (data.nv,), "one entry per velocity")
        return (data.blocks().v_free - start) / step + acceleration_by_forces(data, forces)


def certify_forces(
    data: ProblemData,
    h: float,
    z: FloatArray,
    packed: FloatArray,
    motion: FloatArray,
    *,
    formulas: Mapping[str, str] = FORMULAS,
    not_enforced: tuple[str, ...] = (),
) -> Certificate:
    """Return the certificate of forces [fN | fF | fL | fG | fB] and v+ over a step h, with edge magnitudes in z.

    Impulses, and forces with accelerations, are certified at h = 1. ``formulas`` are the conditions. They are
    `CONE_FORMULAS` for Coulomb's exact cone, where z are the packed forces, and `ACCELERATION_FORMULAS` with an
    acceleration in place of v+. Sliding contacts of accelerations have no cone, because their friction is part of the
    response to fN.
    """
    return certify_blocks(data.blocks(), h, z, packed, motion, formulas=formulas, not_enforced=not_enforced)


def certify_blocks(
    blocks: Blocks,
    h: float,
    z: FloatArray,
    packed: FloatArray,
    motion: FloatArray,
    *,
    formulas: Mapping[str, str] = FORMULAS,
    not_enforced: tuple[str, ...] = (),
) -> Certificate:
    """Certify forces as `certify_forces` does, from the blocks of a problem, by the conditions of ``formulas``.

    With the formulas of Coulomb's exact cone, z are the packed forces. ``motion`` (nv,) is v+, or the acceleration.
    """
    from lcp.contacts.kernels.certify import BOXED_CERT_SIZE, CERT_SIZE, certify, certify_boxed

    rows, none = problem_rows(h, blocks), np.zeros(0)
    # Contacts and limits. Entry p < nv of the sizes is the sum of the absolute terms of velocity p, the last one is
    # sqrt(v_free . M v_free).
    cert, size, boxed, bilateral = np.empty(CERT_SIZE), np.empty(len(motion) + 1), None, None
    certify(rows, force_responses(blocks), formulas is CONE_FORMULAS, z, packed, motion, none, size, cert)
    if blocks.nbox:
        boxed = np.empty(BOXED_CERT_SIZE)
        certify_boxed(rows, packed, motion, none, size, boxed)
    if blocks.nb:
        from contactlab.constraint_solver.kernels.bilateral import certify_bilateral

        part, worst = bilateral_part(blocks), np.empty(2)
        certify_bilateral(blocks.J[part], blocks.Y[part], blocks.k[part], blocks.scaleG, motion, size, worst)
        bilateral = Check(float(worst[0]), float(worst[1]))
    return Certificate.from_kernel(cert, bilateral, boxed, formulas=formulas, not_enforced=not_enforced)


def contradicted_row(blocks: Blocks, h: float | None, packed: FloatArray, motion: FloatArray) -> int:
    """Return the index of the bilateral row with the largest error beyond errors of assembly, or -1.

    ``h`` is the step, None for an impact or accelerations; ``packed`` are all forces, ``motion`` (nv,) is v+ or a.
    """
    from contactlab.constraint_solver.kernels import bilateral

    of_accelerations = isinstance(blocks, AccelerationBlocks)
    # Size of the terms of each velocity before cancellation.
    size = np.abs(free_motion(blocks)) + (h or 1.0) * (np.abs(packed) @ np.abs(force_responses(blocks)))
    part = bilateral_part(blocks)
    # An impact has no stabilisation, so position errors explain none of its terms.
    error = blocks.errorG if h is not None or of_accelerations else np.zeros(0)
    G, k, work = blocks.J[part], blocks.k[part], np.empty(blocks.nb)
    return int(bilateral.contradicted_row(G, k, blocks.scaleG, error, h or 0.0, motion, size, work))
