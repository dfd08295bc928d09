"""Contact forces of planar problems in frames of their contacts.

The force of a contact is n fN + t fF, or n fN - t mu_s fN where it slides along t; in the frame R = [n, t] (columns in
world axes) its components are R' times that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from contactlab.formulation.generalized import ProblemData, packed_forces
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintAccelProblemData, ConstraintForces, ProblemDataError

__all__ = ["contact_forces_in_frames"]


# How far columns may be from unit length, and their product from zero.
_ORTHONORMAL = float(np.sqrt(np.finfo(np.float64).eps))


def contact_forces_in_frames(
    data: ProblemData, forces: ConstraintForces | ArrayLike, contact_frames: Sequence[ArrayLike]
) -> list[FloatArray]:
    """Force of each contact along its normal and its tangent, nc vectors (2,).

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
    try:
        frame = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProblemDataError("contact_frames", f"frame {i} is not an array of numbers ({error})") from error
    if frame.shape != (2, 2):
        raise ProblemDataError("contact_frames", f"frame {i} has shape {frame.shape}, wanted (2, 2): normal, tangent")
    product = float(frame[:, 0] @ frame[:, 1])
    if not abs(product) <= _ORTHONORMAL:  # NaN included
        raise ProblemDataError("contact_frames", f"frame {i}: normal . tangent = {product:.3g}, wanted 0")
    for name, column in zip(("normal", "tangent"), frame.T, strict=True):
        length = float(np.linalg.norm(column))
        if not abs(length - 1.0) <= _ORTHONORMAL:
            raise ProblemDataError("contact_frames", f"frame {i}: {name} of length {length:.9g}, wanted 1")
    return frame
