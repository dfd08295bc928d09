"""Conversion of users' values to private, contiguous, finite float64 arrays, and the errors that name a bad value.

An error names the argument at fault, the entry and the reason. The other checks and the warnings of the library follow
the conversions.
"""

from __future__ import annotations

import difflib
import math
import numbers
import sys
import warnings
from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from problem_data.validation import FileError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FLOAT64 = np.dtype(np.float64)

#: A point or direction of a kernel: three coordinates.
Vec3 = tuple[float, float, float]


class FieldError(ValueError):
    """A value that cannot be used.

    Attributes
    ----------
    field
        Name of the argument or attribute at fault.
    detail
        Reason, with the offending entry and its value.
    """

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(field, detail)
        self.field, self.detail = field, detail

    def __str__(self) -> str:
        return f"{self.field}: {self.detail}"


class SpatialError(FieldError):
    """A pose, quaternion or inertia that is invalid."""


def finite_array(value: ArrayLike, field: str, shape: tuple[int | None, ...], error: type[FieldError]) -> FloatArray:
    """Return a private C-contiguous float64 copy of a value that NumPy converts to a real array.

    Raise ``error``, naming the field, for a wrong type, a shape other than ``shape`` (None stands for any length), or
    an entry that is not finite (the first one is named).
    """
    try:
        of_floats = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        if value is None:
            raise error(field, "must be a number or numbers, got None")
        if not of_floats:
            kind = np.asarray(value).dtype.kind
            if kind == "c":
                raise error(field, "must be real, got complex numbers")
            if kind in "US":
                # NumPy would convert the text to numbers.
                raise error(field, f"must be numbers, got text: {value!r:.40}")
        array = np.array(value, dtype=np.float64, order="C")
    except error:
        raise
    except (TypeError, ValueError) as cause:
        raise error(field, f"cannot be read as an array of floats ({cause})") from cause
    fits = array.ndim == len(shape) and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = ", ".join("n" if length is None else str(length) for length in shape)
        raise error(field, f"must have shape ({wanted}{',' if len(shape) == 1 else ''}), got {array.shape}")
    finite = np.isfinite(array)
    if not np.logical_and.reduce(finite, axis=None):
        bad = np.argwhere(~finite)
        entry = ", ".join(str(i) for i in bad[0])
        name = f"entry [{entry}]" if entry else "the value"
        raise error(field, f"{name} is {array[tuple(bad[0])]}, not finite")
    return array


def unit_axis(value: ArrayLike, field: str, error: type[FieldError]) -> FloatArray:
    """Return a direction (3,), normalised; raise ``error`` for one of zero length."""
    axis = finite_array(value, field, (3,), error)
    # Scaled by the largest entry first, because the square of a tiny or huge entry would underflow or overflow.
    largest = float(np.max(np.abs(axis)))
    if largest == 0.0:
        raise error(field, "has no direction: all entries are zero")
    scaled = axis / largest
    return np.asarray(scaled / np.linalg.norm(scaled))


def is_finite_array(value: object, shape: tuple[int | None, ...]) -> TypeGuard[FloatArray]:
    """Return True if a value is a finite float64 array of this shape, which `finite_array` would only copy."""
    if not isinstance(value, np.ndarray) or value.shape != shape:
        return False
    # Identity of the types is tested first, because it takes a quarter of the time.
    if value.dtype is not FLOAT64 and value.dtype != FLOAT64:
        return False
    # Entries are compared as bytes, because NumPy's test of all entries takes three times as long.
    return 0 not in np.isfinite(value).tobytes()


def finite_number(
    value: float,
    field: str,
    error: type[FieldError],
    *,
    positive: bool = False,
    least: float = -math.inf,
    most: float = math.inf,
) -> float:
    """Return ``value`` as a float; raise ``error`` unless it is one finite real number within the bounds."""
    number = value if type(value) is float and math.isfinite(value) else float(finite_array(value, field, (), error))
    if positive and number <= 0.0:
        raise error(field, f"must be positive, got {number}")
    if not least <= number <= most:
        above = "not be negative" if least == 0.0 else f"be at least {least:g}"
        bounds = above if most == math.inf else f"lie between {least:g} and {most:g}"
        raise error(field, f"must {bounds}, got {number}")
    return number


def read_only(array: FloatArray) -> FloatArray:
    """Return a read-only view of ``array``."""
    view = array.view()
    view.flags.writeable = False
    return view


def set_fields(owner: object, **values: object) -> None:
    """Set fields of a frozen dataclass; arrays become read-only."""
    for name, value in values.items():
        object.__setattr__(owner, name, read_only(value) if isinstance(value, np.ndarray) else value)


def rows_of(value: ArrayLike, field: str, length: int) -> FloatArray:
    """Return ``value`` as a float array with ``length`` entries along its last axis, or raise a `SpatialError`."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != length:
        raise SpatialError(field, f"must have {length} entries along its last axis, got shape {array.shape}")
    return array


MAX_NAMES = 8


def warn_caller(text: str, category: type[Warning]) -> None:
    """Give a warning at the line that called the library."""
    frame, level = sys._getframe(1), 2
    while frame.f_globals.get("__name__", "").startswith("contactlab.") and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def check_type(value: object, kind: Any, field: str, error: type[FieldError], wanted: str = "") -> None:
    """Raise ``error`` unless a value has a type, because callers may ignore annotations."""
    if isinstance(value, type) or not isinstance(value, kind):
        raise error(field, f"must be {wanted or f'a {kind.__name__}'}, got {value!r:.100}")


def check_whole(value: object, field: str, error: type[FieldError], least: int) -> None:
    """Raise ``error`` unless a value is a whole number, at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise error(field, f"must be a whole number >= {least}, got {value!r}")


def close_names(name: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the close names, or otherwise all names."""
    names = list(known)
    # Comparing names costs the product of their lengths, so long and very many names are skipped.
    short = [one for one in names[:1000] if len(one) <= 100 and len(str(name)) <= 100]
    close = difflib.get_close_matches(str(name), short, n=3, cutoff=0.5)
    if close:
        return f"; close: {', '.join(map(repr, close))}"
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"; there are {', '.join(map(repr, names[:MAX_NAMES])) or 'none'}{more}"


class MultibodyError(FieldError):
    """A model that cannot be built, a body that does not exist, or a state that does not match the model."""


class ContactError(FieldError):
    """A shape, material or friction pyramid that cannot be used."""


class MeshFileError(ContactError, FileError):
    """A mesh file that cannot be used."""


class ImpactError(FieldError):
    """An argument that an impact law cannot use."""
