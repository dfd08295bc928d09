"""Shapes of links, kept as the file has them: nothing is loaded, nothing collides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from contactlab.multibody.urdf.errors import UrdfError
from contactlab.multibody.urdf.numbers import number, origin, vector
from contactlab.multibody.urdf.packages import Packages
from contactlab.multibody.urdf.reading import Element
from contactlab.spatial.transform import Transform


@dataclass(frozen=True)
class UrdfBox:
    """Box about its origin, of whole side lengths ``size`` [m]."""

    size: tuple[float, float, float]


@dataclass(frozen=True)
class UrdfSphere:
    """Ball of a radius [m]."""

    radius: float


@dataclass(frozen=True)
class UrdfCylinder:
    """Cylinder of a radius and a whole length along z [m], its middle at the origin."""

    radius: float
    length: float


@dataclass(frozen=True)
class UrdfCapsule:
    """Cylinder of a radius and a length along z [m] with half balls on its ends, its middle at the origin."""

    radius: float
    length: float


@dataclass(frozen=True)
class UrdfMesh:
    """Mesh in a file, scaled along its axes.

    Attributes
    ----------
    uri
        As written.
    path
        The file, None where none was found in the folders given; it lies inside them, links followed.
    scale
        Factors along x, y, z.
    """

    uri: str
    path: Path | None
    scale: tuple[float, float, float]


#: Red, green, blue and opacity, each from 0 to 1.
Rgba = tuple[float, float, float, float]

UrdfShape = UrdfBox | UrdfSphere | UrdfCylinder | UrdfCapsule | UrdfMesh


@dataclass(frozen=True, eq=False)
class UrdfGeometry:
    """One <collision> or <visual> of a link.

    Attributes
    ----------
    body
        The link; "world" for one of the world itself.
    role
        "collision" or "visual".
    name
        Its own name, "" for none.
    placement
        Pose in the body.
    shape
        What it is.
    rgba
        Of its <material>, each entry from 0 to 1; None where none is given, or what is given is no colour.
    """

    body: str
    role: str
    name: str
    placement: Transform
    shape: UrdfShape
    rgba: Rgba | None = None


def geometry_of(robot: Element, links: Iterable[Element], packages: Packages) -> list[UrdfGeometry]:
    """Everything that links show and collide with, in the order of the file."""
    shown = [(link, element) for link in links for element in link.children if element.tag in ("collision", "visual")]
    painted = [material for _, element in shown for material in element.all("material")]
    # A material is known by its name throughout, wherever its colour is said first.
    colors: dict[str, Rgba] = {}
    for material in (*robot.all("material"), *painted):
        color, name = _color(material), material.attributes.get("name", "")
        if color is not None and name:
            colors.setdefault(name, color)
    shapes = []
    for link, element in shown:
        placement = origin(element)
        shape = _shape(element.need("geometry"), packages)
        name, rgba = element.attributes.get("name", ""), None
        for material in element.all("material"):
            rgba = _color(material) or colors.get(material.attributes.get("name", ""))
        shapes.append(UrdfGeometry(link.text("name"), element.tag, name, placement, shape, rgba))
    return shapes


def _color(material: Element) -> Rgba | None:
    for element in material.all("color"):
        try:
            red, green, blue, opacity = (float(x) for x in vector(element, "rgba", 4).clip(0.0, 1.0))
        except UrdfError:
            # No motion depends on it.
            return None
        return red, green, blue, opacity
    return None


def _shape(geometry: Element, packages: Packages) -> UrdfShape:
    known = ("box", "sphere", "cylinder", "capsule", "mesh")
    shapes = [child for child in geometry.children if child.tag in known]
    if len(shapes) != 1:
        raise geometry.error(f"must hold one of {', '.join(f'<{tag}>' for tag in known)}, has {len(shapes)}")
    element = shapes[0]
    if element.tag == "box":
        return UrdfBox(_three(element, "size", positive=True))
    if element.tag == "sphere":
        return UrdfSphere(_length(element, "radius"))
    if element.tag == "cylinder":
        return UrdfCylinder(_length(element, "radius"), _length(element, "length"))
    if element.tag == "capsule":
        return UrdfCapsule(_length(element, "radius"), _length(element, "length"))
    uri = element.text("filename").strip()
    return UrdfMesh(uri, packages.find(element, uri), _three(element, "scale", default=(1.0, 1.0, 1.0)))


def _length(element: Element, attribute: str) -> float:
    value = number(element, attribute)
    if value < 0.0:
        raise element.error(f"attribute {attribute!r} is negative: {value}")
    return value


def _three(
    element: Element, attribute: str, default: tuple[float, float, float] | None = None, *, positive: bool = False
) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in vector(element, attribute, 3, default))
    if positive and min(x, y, z) < 0.0:
        raise element.error(f"attribute {attribute!r} has a negative entry")
    return x, y, z
