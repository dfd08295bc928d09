"""Numbers in attributes, and the poses made of them."""

from __future__ import annotations

import re

import numpy as np

from contactlab.multibody.urdf.guarded_xml import shown
from contactlab.multibody.urdf.reading import Element
from contactlab.spatial import quaternion
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.transform import Transform

# What `float` takes beyond this ("1_000", "nan", digits of other scripts) is a mistake in a file.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LENGTH = 400  # characters of one number
#: Lengths, masses and moments beyond this overflow when they are multiplied together.
LARGEST = 1e50


def number(element: Element, attribute: str, default: float | None = None, *, largest: float = LARGEST) -> float:
    """One finite number; without a default the attribute must be there."""
    if attribute not in element.attributes and default is not None:
        return default
    return _parsed(element, attribute, element.text(attribute).strip(), largest)


def vector(element: Element, attribute: str, length: int, default: tuple[float, ...] | None = None) -> FloatArray:
    """Finite numbers (length,) separated by white space."""
    if attribute not in element.attributes and default is not None:
        return np.array(default)
    words = element.text(attribute).split()
    if len(words) != length:
        raise element.error(f"attribute {attribute!r} must be {length} numbers, got {len(words)}")
    return np.array([_parsed(element, attribute, word, LARGEST) for word in words])


def _parsed(element: Element, attribute: str, text: str, largest: float) -> float:
    if len(text) > _LENGTH or _NUMBER.fullmatch(text) is None:
        raise element.error(f"attribute {attribute!r}: {shown(text)} is not a finite number")
    value = float(text)
    if not abs(value) <= largest:
        raise element.error(f"attribute {attribute!r}: {shown(text)} is too large to compute with")
    return value


def rotation(rpy: FloatArray) -> FloatArray:
    """R = Rz(yaw) Ry(pitch) Rx(roll): by roll, pitch, yaw about the fixed axes x, y, z of the parent [rad]."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def origin(element: Element) -> Transform:
    """The pose in the <origin> of an element, the identity where there is none.

    Attributes: ``xyz`` [m], and ``rpy`` [rad] or, since version 1.2 of the format, ``quat_xyzw``.
    """
    given = element.only("origin")
    if given is None:
        return Transform()
    p = vector(given, "xyz", 3, (0.0, 0.0, 0.0))
    if "quat_xyzw" not in given.attributes:
        return Transform(rotation(vector(given, "rpy", 3, (0.0, 0.0, 0.0))), p)
    if "rpy" in given.attributes:
        raise given.error("has both 'rpy' and 'quat_xyzw'")
    x, y, z, w = vector(given, "quat_xyzw", 4)
    if not np.any([x, y, z, w]):
        raise given.error("attribute 'quat_xyzw' is zero and turns nowhere")
    return Transform(quaternion.to_matrix([w, x, y, z]), p)
