"""Shapes of links, recorded as written in the file. Nothing is loaded, and the shapes do not collide.

Mesh files are searched for only inside the folders that the caller named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import normpath
from pathlib import Path

from contactlab.multibody.spatial.transform import Transform
from contactlab.multibody.urdf.reading import Element, UrdfError, number, origin, quoted, vector

#: Type of ``package_roots``: folders by package name, or folders that hold packages as subfolders.
PackageRoots = Mapping[str, str | PathLike[str]] | Iterable[str | PathLike[str]] | str | PathLike[str] | None

_DRIVE = re.compile(r"[A-Za-z]:")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def _folder(value: str | PathLike[str], name: str) -> Path:
    """Return the resolved path of a folder of the caller, which must exist."""
    folder = Path(fspath(value)).resolve()
    if not folder.is_dir():
        raise UrdfError("package_roots", f"{name} is not a folder: {fspath(value)!r}", source="argument")
    return folder


@dataclass(frozen=True, eq=False)
class Packages:
    """Folders that may contain meshes."""

    named: dict[str, Path]  # folder of each package named by the caller
    roots: tuple[Path, ...]  # folders whose subfolders are packages
    home: Path | None  # folder of the description, None for text

    @classmethod
    def of(cls, package_roots: PackageRoots, file: Path | None) -> Packages:
        """Return the caller's folders, which must exist, and the folder of the file."""
        home = file.resolve().parent if file is not None else None
        if package_roots is None:
            return cls({}, (), home)
        if isinstance(package_roots, Mapping):
            return cls({name: _folder(at, f"[{name!r}]") for name, at in package_roots.items()}, (), home)
        several = [package_roots] if isinstance(package_roots, str | PathLike) else list(package_roots)
        return cls({}, tuple(_folder(at, f"[{i}]") for i, at in enumerate(several)), home)

    def find(self, element: Element, uri: str) -> Path | None:
        """Return the existing file that a URI names, or None if no folder of the caller contains it.

        An absolute path, or a path that leads out of the folders, is refused, whether the file exists or not.
        """
        scheme = _SCHEME.match(uri)
        rest = uri[scheme.end() :] if scheme else uri
        kind = scheme.group(1).lower() if scheme else ""
        if kind == "file":
            raise element.error(f"{quoted(uri)} is a place of the file's own choosing; only package:// and relative")
        if kind not in ("", "package"):
            return None  # "model://", "http://": nothing is fetched, the record keeps the text
        if kind == "package":
            rest = rest.lstrip("/")  # "package:///name/..." is in use; the name is looked up among the roots either way
        parts, bases = re.split(r"[/\\]", rest), [] if self.home is None else [self.home]
        if rest.startswith(("/", "\\")) or _DRIVE.match(rest):
            raise element.error(f"{quoted(uri)} is absolute; only package:// and relative paths are followed")
        if kind == "package":
            name, *parts = parts
            if name in ("", ".", "..") or not any(parts):
                raise element.error(f"{quoted(uri)} names no package and file")
            bases = [self.named[name]] if name in self.named else [root / name for root in self.roots]
        refusal = element.error(f"{quoted(uri)} leads out of the folders meshes may lie in (see package_roots)")
        if not bases and normpath("/".join(parts)).startswith(".."):
            raise refusal
        for base in bases:
            path = base.joinpath(*parts)
            # First by path only, so that nothing outside is accessed; then with links followed, which may lead out.
            if not self._allows(Path(normpath(path))):
                raise refusal
            real = _real(path)
            if real is not None and not self._allows(real):
                raise refusal
            if real is not None:
                return real
        return None

    def _allows(self, path: Path) -> bool:
        folders = [*self.named.values(), *self.roots, *([] if self.home is None else [self.home])]
        return any(path.is_relative_to(folder) for folder in folders)


def _real(path: Path) -> Path | None:
    """Return the file a path leads to once links are followed; None if there is none or its name cannot be one."""
    try:
        real = path.resolve(strict=True)
        return real if real.is_file() else None
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        return None


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
        The file, None if none was found in the folders given; it lies inside them, links followed.
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
        Name of the link, or "world" for a shape of the world itself.
    role
        "collision" or "visual".
    name
        Name of the element, "" if it has none.
    placement
        Pose in the body.
    shape
        The shape.
    rgba
        Colour of its <material>, each entry from 0 to 1; None if no colour, or an invalid one, is given.
    """

    body: str
    role: str
    name: str
    placement: Transform
    shape: UrdfShape
    rgba: Rgba | None = None


def geometry_of(robot: Element, links: Iterable[Element], packages: Packages) -> list[UrdfGeometry]:
    """Return the <collision> and <visual> shapes of links, in order, with the colours of their materials.

    A material that has only a name gets the colour that any material of this name has in the file.
    """
    shown = [(link, element) for link in links for element in link.children if element.tag in ("collision", "visual")]
    painted = [material for _, element in shown for material in element.all("material")]
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
    """Return the colour of a material, or None without a valid one."""
    for element in material.all("color"):
        try:
            red, green, blue, opacity = (float(x) for x in vector(element, "rgba", 4).clip(0.0, 1.0))
        except UrdfError:
            # An invalid colour is ignored, because it does not affect the motion.
            return None
        return red, green, blue, opacity
    return None


def _shape(geometry: Element, packages: Packages) -> UrdfShape:
    """Return the only shape of a <geometry>; none or several raise."""
    known = ("box", "sphere", "cylinder", "capsule", "mesh")
    shapes = [child for child in geometry.children if child.tag in known]
    if len(shapes) != 1:
        raise geometry.error(f"must hold one of {', '.join(f'<{tag}>' for tag in known)}, has {len(shapes)}")
    element = shapes[0]
    if element.tag == "box":
        return UrdfBox(_three(element, "size", positive=True))
    if element.tag == "mesh":
        uri = element.text("filename").strip()
        return UrdfMesh(uri, packages.find(element, uri), _three(element, "scale", default=(1.0, 1.0, 1.0)))
    radius = number(element, "radius", least=0.0)
    if element.tag == "sphere":
        return UrdfSphere(radius)
    kind = UrdfCylinder if element.tag == "cylinder" else UrdfCapsule
    return kind(radius, number(element, "length", least=0.0))


def _three(
    element: Element, attribute: str, default: tuple[float, float, float] | None = None, *, positive: bool = False
) -> tuple[float, float, float]:
    """Return three numbers of an attribute; if ``positive``, a negative entry raises."""
    x, y, z = (float(value) for value in vector(element, attribute, 3, default))
    if positive and min(x, y, z) < 0.0:
        raise element.error(f"attribute {attribute!r} has a negative entry")
    return x, y, z
