"""Checks of shape, dtype, finiteness and sign, each of which names the field and the offending entry.

Every function takes the name of the field first and returns a new, owned, C-contiguous array, so that a
caller's later writes never reach the problem data.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from problem_data.errors import ProblemDataError

_REAL_KINDS = "iuf"  # numpy dtype kinds: signed, unsigned, floating

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


def entry(field: str, array: NDArray[np.generic], index: tuple[int, ...]) -> str:
    """Text ``field[i, j] = value`` for one entry of an array."""
    return f"{field}[{', '.join(str(i) for i in index)}] = {array[index]!s}"


def real_numbers(field: str, value: ArrayLike) -> NDArray[np.generic]:
    """New array of real numbers of any shape, infinities and NaN included."""
    try:
        array = np.array(value, copy=True, subok=False)
    except (ValueError, TypeError) as error:
        raise ProblemDataError(field, f"not an array of numbers ({error})") from error
    if array.dtype.kind not in _REAL_KINDS:
        raise ProblemDataError(
            field, f"{type(value).__name__} of dtype {array.dtype}, shape {array.shape}; wanted real numbers"
        )
    return array


def check_finite(field: str, array: FloatArray) -> None:
    """Raise unless every entry is finite, naming the first that is not."""
    bad = ~np.isfinite(array)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ProblemDataError(
            field,
            f"{entry(field, array, index)}, wanted a finite number "
            f"(shape {array.shape}, {np.count_nonzero(bad)} such entries)",
        )


def float_array(field: str, value: ArrayLike, shape: tuple[int | None, ...], why: str = "") -> FloatArray:
    """Finite float64 array of the wanted shape, owned, C-contiguous and writable.

    None in ``shape`` stands for any length; ``why`` says, in errors, where the wanted shape comes from.
    """
    numbers = real_numbers(field, value)
    if numbers.ndim != len(shape) or any(
        wanted not in (None, met) for met, wanted in zip(numbers.shape, shape, strict=True)
    ):
        raise ProblemDataError(field, wrong_shape(numbers.shape, shape, why))
    with np.errstate(over="ignore"):  # a wider float that overflows float64 becomes inf and is refused below
        array = np.ascontiguousarray(numbers, dtype=np.float64)
    check_finite(field, array)
    return array


def wrong_shape(met: tuple[int, ...], wanted: tuple[int | None, ...], why: str = "") -> str:
    """Text of a shape mismatch; an open length is written ``*``."""
    text = ", ".join("*" if n is None else str(n) for n in wanted)
    comma = "," if len(wanted) == 1 else ""
    return f"shape {met}, wanted ({text}{comma})" + (f": {why}" if why else "")


def vector(field: str, value: ArrayLike | None, size: int, why: str = "") -> FloatArray:
    """Finite vector of ``size`` entries; zeros where it is missing."""
    if value is None:
        return np.zeros(size)
    return float_array(field, value, (size,), why)


def check_nonnegative(field: str, array: FloatArray) -> None:
    """Raise unless every entry is at least 0, naming the first that is not."""
    bad = array < 0.0
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ProblemDataError(field, f"{entry(field, array, index)}, wanted >= 0 (shape {array.shape})")


def nonnegative(field: str, value: ArrayLike | None, size: int, why: str = "") -> FloatArray:
    """Finite vector of ``size`` entries, all at least 0; zeros where it is missing."""
    array = vector(field, value, size, why)
    check_nonnegative(field, array)
    return array


def length(field: str, value: ArrayLike | None) -> int | None:
    """Number of entries of a vector that may be missing."""
    return None if value is None else float_array(field, value, (None,)).size


def whole_numbers(field: str, value: ArrayLike, size: int | None, wanted: str, why: str = "") -> IntArray:
    """Vector of whole numbers, at least 0; floats that hold whole numbers are as good as integers.

    ``size`` None: any number of entries. ``wanted`` and ``why`` say, in errors, what an entry should be and where the
    size comes from.
    """
    numbers = float_array(field, value, (size,), why)
    # 2**53: beyond it float64 no longer holds every whole number, and no problem has so many rows.
    bad = (numbers != np.floor(numbers)) | (numbers < 0) | (numbers > 2.0**53)
    if bad.any():
        index = int(np.argmax(bad))
        raise ProblemDataError(field, f"{entry(field, numbers, (index,))}, wanted {wanted} (shape {numbers.shape})")
    return numbers.astype(np.int64)


def direction_counts(r: ArrayLike, mu: FloatArray, mu_field: str = "mu") -> IntArray:
    """Spanning directions per contact: whole numbers, at least 1 wherever the contact has friction.

    0 marks a contact without friction rows and is accepted only where ``mu``, already checked, is 0, because a friction
    coefficient without a direction to act along would be dropped in silence.
    """
    counts = whole_numbers("r", r, mu.size, "a whole number of directions", f"one entry per entry of {mu_field}")
    idle = (counts < 1) & (mu > 0.0)
    if idle.any():
        index = int(np.argmax(idle))
        raise ProblemDataError(
            "r",
            f"r[{index}] = 0, wanted at least 1 where {mu_field} is positive: {entry(mu_field, mu, (index,))} "
            f"(shape {mu.shape})",
        )
    return counts


def starts_of_trees(value: ArrayLike | None, nv: int) -> IntArray:
    """First velocity of each tree, then nv; one tree where None is given."""
    if value is None:
        return np.array([0, nv], dtype=np.int64)
    starts = np.array(value)
    if starts.ndim != 1 or starts.size < 2 or starts.dtype.kind not in "iu":
        detail = (
            f"shape {starts.shape} of {starts.dtype}, wanted whole numbers: the first velocity of each tree, then nv"
        )
        raise ProblemDataError("tree_starts", detail)
    if starts[0] != 0 or starts[-1] != nv or (nv > 0 and (np.diff(starts.astype(np.int64)) <= 0).any()):
        raise ProblemDataError("tree_starts", f"{starts.tolist()}: wanted 0 < ... < nv = {nv}")
    return starts.astype(np.int64)


def own_cones(cones: IntArray) -> int:
    """Number of contacts that friction cones lean on, each of which has one of its own."""
    return int(cones.max(initial=-1)) + 1


def leaning_cones(value: ArrayLike, mu: FloatArray | None) -> IntArray:
    """The contact on whose normal force each friction cone leans: 0 .. nc - 1 in order, then those of further cones."""
    if mu is None:
        raise ProblemDataError("mu", "missing, wanted one entry per entry of cone_contacts")
    cones = whole_numbers("cone_contacts", value, mu.size, "a contact's number", "one entry per entry of mu")
    own = cones == np.arange(cones.size)
    nc = cones.size if own.all() else int(np.argmin(own))  # where the contacts' own cones end
    wrong = ~own & (cones >= nc)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ProblemDataError(
            "cone_contacts",
            f"cone_contacts[{i}] = {cones[i]}: wanted 0, 1, ... for the contacts' own cones, then numbers among them",
        )
    return cones


def friction(
    mu: FloatArray | None, r: ArrayLike | None, has_F: bool, n: int, mu_field: str = "mu"
) -> tuple[FloatArray, IntArray]:
    """Coefficients and direction counts of n contacts, where either may have been left out."""
    coefficients = np.zeros(n) if mu is None else mu
    if r is not None:
        counts = direction_counts(r, coefficients, mu_field)
        if mu is None and counts.any():
            raise ProblemDataError(mu_field, f"missing, wanted shape ({n},): r has friction directions")
        return coefficients, counts
    if has_F and n:
        raise ProblemDataError("r", f"missing, wanted shape ({n},): F is given, how many of its rows has each contact?")
    if coefficients.any():
        i = int(np.argmax(coefficients > 0.0))
        raise ProblemDataError(
            "r", f"missing, wanted shape ({n},): {mu_field}[{i}] = {coefficients[i]} needs directions"
        )
    return coefficients, np.zeros(n, dtype=np.int64)


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """View of the array through which it cannot be written."""
    view = array.view()
    view.flags.writeable = False
    return view
