"""Constraint forces or impulses, one vector per class of constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from problem_data.constrained import ConstrainedDynamics
from problem_data.errors import ProblemDataError
from problem_data.validation import FloatArray, float_array, read_only


@dataclass(frozen=True, init=False, eq=False)
class ConstraintForces:
    """Forces (or impulses) along the rows of the problem they belong to.

    Newtons or newton metres for a discretised or acceleration-level problem; newton seconds or newton metre seconds
    for an impact problem. The signs are not checked here: whether a solution is acceptable is its certificate's
    business. To numpy they are the vector `packed`: ``np.asarray(forces)`` is [fN | fF | fL | fG | fB].

    Parameters
    ----------
    fN : array_like, shape (nc,)
        Normal magnitudes, positive when pushing.
    fF : array_like, shape (nr,)
        Signed friction per spanning direction, contact by contact; at acceleration level of the non-sliding contacts
        only, because the friction of a sliding contact is mu_sliding fN.
    fL : array_like, shape (nl,)
        Unilateral rows besides contacts (limits).
    fG : array_like, shape (nb,)
        Bilateral rows, of any sign.
    fB : array_like, shape (nbox,)
        Boxed rows, between their bounds; none at acceleration level.
    """

    fN: FloatArray
    fF: FloatArray
    fL: FloatArray
    fG: FloatArray
    fB: FloatArray

    def __init__(
        self, fN: ArrayLike, fF: ArrayLike = (), fL: ArrayLike = (), fG: ArrayLike = (), fB: ArrayLike = ()
    ) -> None:
        for field, value in (("fN", fN), ("fF", fF), ("fL", fL), ("fG", fG), ("fB", fB)):
            object.__setattr__(self, field, read_only(float_array(field, value, (None,))))

    def packed(self) -> FloatArray:
        """One new vector [fN | fF | fL | fG | fB], shape (nc + nr + nl + nb + nbox,)."""
        return np.concatenate((self.fN, self.fF, self.fL, self.fG, self.fB))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the vector `packed`, for numpy; it is a copy, so that ``copy=False`` raises."""
        if copy is False:
            raise ValueError("ConstraintForces are five vectors: one array of them is a copy")
        return self.packed() if dtype is None else self.packed().astype(dtype)

    @classmethod
    def from_packed(cls, data: ConstrainedDynamics[Any], cf: ArrayLike) -> ConstraintForces:
        """Unpack a vector [fN | fF | fL | fG | fB] with the row counts of the problem data.

        Raises
        ------
        ProblemDataError
            The length is not nc + nr + nl + nb + nbox, or an entry is not finite.
        """
        counts = (data.nc, data.nr, data.nl, data.nb, data.nbox)
        packed = float_array("cf", cf, (None,))
        if packed.size != sum(counts):
            raise ProblemDataError(
                "cf",
                f"shape {packed.shape}, wanted ({sum(counts)},): "
                f"nc + nr + nl + nb + nbox = {' + '.join(map(str, counts))}",
            )
        return cls(*np.split(packed, np.cumsum(counts)[:-1]))
