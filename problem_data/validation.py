"""Checks of shape, dtype, finiteness and sign, each of which names the field and the offending entry.

Every function takes the name of the field first and returns a new, owned, C-contiguous array, so that a
caller's later writes never reach the problem data. The error types of the package are here too.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray


class FileError(ValueError):
    """A file that cannot be used: not there, too large, damaged, foreign, or with contents outside their meaning.

    Whatever reads files, here and in the packages above, raises an error derived from this one for whatever is in
    them. Errors of the operating system may be an OSError.
    """


class ProblemDataError(ValueError):
    """A field of problem data, of a packed force vector or of a saved file is not acceptable.

    Parameters
    ----------
    field : str
        Name of the faulty field, in the symbols of the problem (``"N"``, ``"mu"``, ``"gammaF"``, ...);
        ``"path"`` when a file as a whole cannot be read.
    message : str
        Reason: the offending entry with its index and value, or the actual and the wanted shape.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class ProblemFileError(ProblemDataError, FileError):
    """A file of problem data that cannot be used; see `ProblemDataError`."""


_REAL_KINDS = "iuf"  # numpy dtype kinds: signed, unsigned, floating

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


def first_true(mask: NDArray[np.bool_]) -> int | None:
    """Return the first index at which a mask (n,) is True, or None."""
    return int(np.argmax(mask)) if mask.any() else None


def format_entry(field: str, array: NDArray[np.generic], index: tuple[int, ...]) -> str:
    """Return the text ``field[i, j] = value`` for one entry of an array."""
    place = f"[{', '.join(str(i) for i in index)}]" if index else ""
    return f"{field}{place} = {array[index]!s}"


def real_numbers(field: str, value: ArrayLike) -> NDArray[np.generic]:
    """Return a new array of real numbers of any shape, with infinities and NaN allowed."""
    try:
        array = np.array(value, copy=True, subok=False)
    except (ValueError, TypeError) as error:
        raise ProblemDataError(field, f"not an array of numbers ({error})") from error
    if array.dtype.kind not in _REAL_KINDS:
        raise ProblemDataError(
            field, f"{type(value).__name__} of dtype {array.dtype}, shape {array.shape}; wanted real numbers"
        )
    return array


def raise_for_entries(
    field: str, array: NDArray[Any], bad: NDArray[np.bool_], wanted: str, *, counted: bool = False
) -> None:
    """Raise if entries are marked as bad. The error names the first, and with ``counted`` also their number."""
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        count = f", {np.count_nonzero(bad)} such entries" if counted else ""
        raise ProblemDataError(
            field, f"{format_entry(field, array, index)}, wanted {wanted} (shape {array.shape}{count})"
        )


def check_finite(field: str, array: FloatArray) -> None:
    """Raise unless every entry is finite, naming the first that is not."""
    raise_for_entries(field, array, ~np.isfinite(array), "a finite number", counted=True)


def float_array(field: str, value: ArrayLike, shape: tuple[int | None, ...], why: str = "") -> FloatArray:
    """Return a finite float64 array of the required shape, owned, C-contiguous and writable.

    None in ``shape`` means any length; ``why`` is the origin of the required shape, for error messages.
    """
    numbers = real_numbers(field, value)
    check_shape(field, numbers.shape, shape, why)
    with np.errstate(over="ignore"):  # a wider float that overflows float64 becomes inf and is refused below
        array = np.ascontiguousarray(numbers, dtype=np.float64)
    check_finite(field, array)
    return array


def check_shape(field: str, met: tuple[int, ...], wanted: tuple[int | None, ...], why: str = "") -> None:
    """Raise if a shape differs from the wanted one; None means any length and is written ``*``."""
    if len(met) != len(wanted) or any(w not in (None, m) for m, w in zip(met, wanted, strict=True)):
        text = ", ".join("*" if n is None else str(n) for n in wanted)
        comma = "," if len(wanted) == 1 else ""
        raise ProblemDataError(field, f"shape {met}, wanted ({text}{comma})" + (f": {why}" if why else ""))


def vector(field: str, value: ArrayLike | None, size: int, why: str = "") -> FloatArray:
    """Return a finite vector of ``size`` entries; zeros if it is missing."""
    if value is None:
        return np.zeros(size)
    return float_array(field, value, (size,), why)


def check_nonnegative(field: str, array: FloatArray) -> None:
    """Raise unless every entry is at least 0, naming the first that is not."""
    raise_for_entries(field, array, array < 0.0, ">= 0")


def nonnegative(field: str, value: ArrayLike | None, size: int, why: str = "") -> FloatArray:
    """Return a finite vector of ``size`` entries, all at least 0; zeros if it is missing."""
    array = vector(field, value, size, why)
    check_nonnegative(field, array)
    return array


def rows_known(scaleG: ArrayLike | None, errorG: ArrayLike | None, nb: int) -> dict[str, FloatArray | None]:
    """Return positive scales and position errors of the nb rows of G, as fields; None for missing ones.

    Errors require scales.
    """
    known = {
        name: None if value is None else float_array(name, value, (nb,), "one entry per row of G")
        for name, value in (("scaleG", scaleG), ("errorG", errorG))
    }
    scales = known["scaleG"]
    if scales is not None:
        raise_for_entries("scaleG", scales, scales <= 0.0, "> 0")
    elif errorG is not None:
        raise ProblemDataError("scaleG", f"missing, wanted shape ({nb},): errorG is given, and compared with it")
    return known


def length(field: str, value: ArrayLike | None) -> int | None:
    """Return the number of entries of a vector that may be missing."""
    return None if value is None else float_array(field, value, (None,)).size


def integer_vector(field: str, value: ArrayLike, size: int | None, wanted: str, why: str = "") -> IntArray:
    """Return a vector of whole numbers, at least 0; floats with whole values are accepted.

    With ``size`` None any number of entries is accepted. ``wanted`` and ``why`` are, for error messages, the required
    kind of entry and the origin of the size.
    """
    numbers = float_array(field, value, (size,), why)
    # 2**53: beyond it float64 no longer holds every whole number, and no problem has so many rows.
    raise_for_entries(field, numbers, (numbers != np.floor(numbers)) | (numbers < 0) | (numbers > 2.0**53), wanted)
    return numbers.astype(np.int64)


def direction_counts(r: ArrayLike, mu: FloatArray, mu_field: str = "mu") -> IntArray:
    """Return the spanning directions per contact: whole numbers, at least 1 if the contact has friction.

    0 marks a contact without friction rows and is accepted only if ``mu``, already checked, is 0, because a friction
    coefficient without a direction would be ignored without notice.
    """
    counts = integer_vector("r", r, mu.size, "a whole number of directions", f"one entry per entry of {mu_field}")
    if (index := first_true((counts < 1) & (mu > 0.0))) is not None:
        raise ProblemDataError(
            "r",
            f"r[{index}] = 0, wanted at least 1 where {mu_field} is positive: {format_entry(mu_field, mu, (index,))} "
            f"(shape {mu.shape})",
        )
    return counts


def checked_tree_starts(value: ArrayLike | None, nv: int) -> IntArray:
    """Return the first velocity of each tree, then nv; None means one tree."""
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


def contact_count(cones: IntArray) -> int:
    """Return the number of contacts with their own friction cone.

    Further cones share the normal force of one of them.
    """
    return int(cones.max(initial=-1)) + 1


def checked_cone_contacts(value: ArrayLike, mu: FloatArray | None) -> IntArray:
    """Return ``cone_contacts``, the contact of each friction cone, or raise an error.

    The first nc cones must be the contacts' own ones, 0 .. nc - 1; later cones can belong to any of these contacts.
    ``mu`` has one entry per cone and must be given.
    """
    if mu is None:
        raise ProblemDataError("mu", "missing, wanted one entry per entry of cone_contacts")
    cones = integer_vector("cone_contacts", value, mu.size, "a contact's number", "one entry per entry of mu")
    own = cones == np.arange(cones.size)
    nc = cones.size if own.all() else int(np.argmin(own))  # number of the contacts' sliding cones
    if (i := first_true(~own & (cones >= nc))) is not None:
        raise ProblemDataError(
            "cone_contacts",
            f"cone_contacts[{i}] = {cones[i]}: wanted 0, 1, ... for the contacts' own cones, then numbers among them",
        )
    return cones


def friction(
    mu: FloatArray | None, r: ArrayLike | None, has_F: bool, n: int, mu_field: str = "mu"
) -> tuple[FloatArray, IntArray]:
    """Return coefficients and direction counts of n contacts; either may be missing."""
    coefficients = np.zeros(n) if mu is None else mu
    if r is not None:
        counts = direction_counts(r, coefficients, mu_field)
        if mu is None and counts.any():
            raise ProblemDataError(mu_field, f"missing, wanted shape ({n},): r has friction directions")
        return coefficients, counts
    if has_F and n:
        raise ProblemDataError("r", f"missing, wanted shape ({n},): F is given, how many of its rows has each contact?")
    if (i := first_true(coefficients > 0.0)) is not None:
        raise ProblemDataError(
            "r", f"missing, wanted shape ({n},): {mu_field}[{i}] = {coefficients[i]} needs directions"
        )
    return coefficients, np.zeros(n, dtype=np.int64)


#: Laws of friction: rows of F span a pyramid, or they are the tangents of Coulomb's exact cone.
FRICTION = ("pyramid", "cone")


def friction_law(value: object) -> str:
    """Return the law of friction; a pyramid if None is given."""
    law = "pyramid" if value is None else value
    if not isinstance(law, str) or law not in FRICTION:
        raise ProblemDataError("friction", f"{value!r} of type {type(value).__name__}, wanted 'pyramid' or 'cone'")
    return law


def check_cones(r: IntArray, nc: int, gammaE: FloatArray) -> None:
    """Refuse data that the exact cone does not support: cones of moments, wrong numbers of tangents, softened slack.

    ``r`` are the directions of all cones; the first ``nc`` are the sliding cones of the contacts.
    """
    how = 'friction="cone" needs two orthonormal tangents per contact (r = 2), or one each in planar data (r = 1)'
    not_here = 'friction="cone" does not know them; use friction="pyramid"'
    if r.size > nc:
        raise ProblemDataError("cone_contacts", f"{r.size - nc} further cones, of moments: {not_here}")
    kinds = np.unique(r[r > 0])
    if kinds.size and kinds[-1] > 2:
        c = int(np.argmax(r))
        raise ProblemDataError("r", f"r[{c}] = {r[c]}: {how}; give the rows of a frame (4 edges)")
    if kinds.size > 1:
        c = int(np.argmax(r == 1))
        raise ProblemDataError("r", f"r[{c}] = 1 beside contacts of 2: {how}; add the second tangent")
    if (i := first_true(gammaE != 0.0)) is not None:
        detail = f"gammaE[{i}] = {gammaE[i]}: it softens the slack of a pyramid, which a cone does not have"
        raise ProblemDataError("gammaE", f'{detail}; use gammaF, or friction="pyramid"')


def force_bounds(lo: ArrayLike | None, hi: ArrayLike | None, nbox: int) -> tuple[FloatArray, FloatArray]:
    """Return bounds lo <= hi of nbox forces, -inf and inf for none; both may be missing if nbox is 0.

    Refused are a NaN, an infinity on the wrong side, and two finite bounds farther apart than any number.
    """
    lower, upper = _force_bound("lo", lo, nbox, np.inf), _force_bound("hi", hi, nbox, -np.inf)
    if (i := first_true(lower > upper)) is not None:
        raise ProblemDataError("lo", f"lo[{i}] = {lower[i]}, wanted <= hi[{i}] = {upper[i]} (shape {lower.shape})")
    with np.errstate(over="ignore"):
        endless = np.isfinite(lower) & np.isfinite(upper) & np.isinf(upper - lower)
    if (i := first_true(endless)) is not None:
        raise ProblemDataError("hi", f"hi[{i}] - lo[{i}] = {upper[i]} - {lower[i]} overflows, wanted an infinite bound")
    return lower, upper


def _force_bound(field: str, value: ArrayLike | None, size: int, wrong: float) -> FloatArray:
    """Return a bound as float64 (size,), or raise `ProblemDataError`.

    Refused are nan, the infinity ``wrong`` and finite numbers that overflow. None is allowed only without rows.
    """
    if value is None:
        if size:
            raise ProblemDataError(field, f"missing, wanted shape ({size},): one entry per row of B")
        return np.zeros(0)
    numbers = real_numbers(field, value)
    check_shape(field, numbers.shape, (size,), "one entry per row of B")
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(numbers, dtype=np.float64)
    # A wider float that overflows float64 is not a bound that was meant to be infinite.
    bad = np.isnan(array) | (array == wrong) | (np.isinf(array) & np.isfinite(numbers))
    raise_for_entries(field, array, bad, "a number or -inf" if field == "lo" else "a number or inf", counted=True)
    return array


def split_contacts(sliding: ArrayLike | None, non_sliding: ArrayLike | None, nc: int) -> tuple[IntArray, IntArray]:
    """Return both lists, each ascending; together they contain each of nc contacts once.

    A missing list is the complement of the other one; without both, no contact slides.
    """
    slid, rested = "sliding_contacts", "non_sliding_contacts"
    slides = None if sliding is None else _ascending(slid, sliding, nc)
    rests = None if non_sliding is None else _ascending(rested, non_sliding, nc)
    everything = np.arange(nc, dtype=np.int64)
    if slides is None:
        slides = np.zeros(0, dtype=np.int64) if rests is None else np.setdiff1d(everything, rests)
    if rests is None:
        rests = np.setdiff1d(everything, slides)
    both = np.intersect1d(slides, rests)
    if both.size:
        contact = int(both[0])
        i, j = int(np.searchsorted(slides, contact)), int(np.searchsorted(rests, contact))
        raise ProblemDataError(rested, f"{rested}[{j}] = {contact} is also {slid}[{i}]")
    neither = np.setdiff1d(everything, np.concatenate((slides, rests)))
    if neither.size:
        raise ProblemDataError(rested, f"contact {neither[0]} is missing; it is not in {slid} either (nc = {nc})")
    return slides, rests


def _ascending(field: str, value: ArrayLike, nc: int) -> IntArray:
    """Return indices of contacts, checked to be below ``nc`` and strictly ascending."""
    contacts = integer_vector(field, value, None, "the index of a contact")
    wanted = f"a contact from 0 to {nc - 1}" if nc else "no entries, as there are no contacts"
    raise_for_entries(field, contacts, contacts >= nc, wanted)
    if (i := first_true(np.diff(contacts) <= 0)) is not None:
        raise ProblemDataError(
            field,
            f"{field}[{i + 1}] = {contacts[i + 1]} after {field}[{i}] = {contacts[i]}, wanted an ascending list "
            f"(shape {contacts.shape})",
        )
    return contacts


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a read-only view of the array."""
    view = array.view()
    view.flags.writeable = False
    return view
