"""The rows of one step's problem, in the form of all kernels of this folder."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lcp.kernels import Floats, Ints

NOT_PACKED: Final[Floats] = np.zeros(0)
NO_OFFSETS: Final[Ints] = np.zeros((0, 2), dtype=np.int64)


class ContactSystem(NamedTuple):
    """Rows [N; F; L; G; B] with their responses and terms; m rows in all, of which nbox are boxed.

    Assembly and recovery get them with the rows G eliminated (nb = 0), certification in their original form. At
    acceleration level h is 1 and velocities are accelerations.
    """

    h: float  # step [s]
    nc: int  # contacts
    nr: int  # friction directions of all contacts
    nl: int  # limits
    nb: int  # bilateral rows
    r: Ints  # (ncone,) directions of each friction cone: of the contacts' own, then of further ones
    mu: Floats  # (ncone,) friction coefficient, or length [m] of a cone of moments
    cone_contacts: Ints  # (ncone,) the contact whose normal force bounds each cone
    J: Floats  # (>= m, nv) constraint rows
    Y: Floats  # (>= m, nv) row i is C J_i, C the inverse inertia
    k: Floats  # (>= m,) terms of the rows [m/s for contacts]
    gamma: Floats  # (>= m,) softening [s/kg for contacts]
    gammaE: Floats  # (ncone,) softening of the slack lambda
    lo: Floats  # (nbox,) bounds of the forces of boxed rows
    hi: Floats
    v_free: Floats  # (nv,) velocity after the step without the forces of these rows
    Mv: Floats  # (nv,) M v_free
    column_ranges: Ints  # columns of the rows, see `column_ranges`; empty for all columns
    diagonal: Floats  # (m,) J_i Y_i; empty if they are computed on request
    # Entries of J and Y in their ranges, row i from offsets[i, 0] and offsets[i, 1] on; see `column_ranges`.
    J_entries: Floats = NOT_PACKED
    Y_entries: Floats = NOT_PACKED
    offsets: Ints = NO_OFFSETS  # (m, 2)
