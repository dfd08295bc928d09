"""Inertias of homogeneous cylinders, capsules, hulls and meshes, against closed forms and sums of parts."""

import numpy as np
import pytest

from contactlab.multibody.spatial import SpatialError
from contactlab.simulation import Capsule, ConvexPoints, Cylinder, Mesh, RigidInertia, Transform
from contactlab.simulation.scene import load_scene

# Corners of a box from 0 to 1 along each axis, and its faces, two triangles each, counter-clockwise from outside.
CORNERS = np.array([(i, j, k) for i in (0.0, 1.0) for j in (0.0, 1.0) for k in (0.0, 1.0)])
FACES = np.array(
    [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4)]
    + [(1, 5, 7), (1, 7, 3)]
)
TETRAHEDRON = np.concatenate((np.zeros((1, 3)), np.eye(3)))


def prism(radius: float, half: float, sides: int) -> np.ndarray:
    """Corners of a regular prism along z."""
    turn = 2.0 * np.pi * np.arange(sides) / sides
    ring = radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.concatenate([np.column_stack([ring, np.full(sides, z)]) for z in (-half, half)])


def same(found: RigidInertia, wanted: RigidInertia, rtol: float = 1e-12) -> None:
    """Mass, centre and moments agree."""
    size = float(np.abs(wanted.inertia).max())
    assert found.mass == pytest.approx(wanted.mass, rel=rtol)
    np.testing.assert_allclose(found.com, wanted.com, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(found.inertia, wanted.inertia, rtol=rtol, atol=rtol * size)


@pytest.mark.nojit
def test_a_cylinder_is_the_limit_of_prisms() -> None:
    """m (3 r^2 + L^2) / 12 across the axis and m r^2 / 2 along it; hulls of prisms tend to that as sides^-2."""
    solid = RigidInertia.solid_cylinder(2.0, 0.3, 0.4)
    across = 2.0 * (3.0 * 0.3**2 + 0.8**2) / 12.0
    np.testing.assert_allclose(solid.inertia, np.diag([across, across, 2.0 * 0.3**2 / 2.0]), rtol=1e-14)
    off = [
        np.abs(RigidInertia.of_hull(2.0, prism(0.3, 0.4, sides)).inertia - solid.inertia).max()
        for sides in (32, 64, 128)
    ]
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.01)
    assert off[1] / off[2] == pytest.approx(4.0, rel=0.01)


@pytest.mark.nojit
def test_a_capsule_is_a_cylinder_and_two_half_balls() -> None:
    """Half balls, each with half a ball's inertia about its face, are joined to the tube by their parallel axes."""
    r, half, mass = 0.2, 0.5, 3.0
    volume, end = 2.0 * np.pi * r**2 * half, 2.0 / 3.0 * np.pi * r**3
    density = mass / (volume + 2.0 * end)
    flat = 0.4 * end * density * r**2  # about the middle of the flat face, every axis through it
    shift = 3.0 / 8.0 * r
    off = end * density * shift**2
    cap = RigidInertia(end * density, (0.0, 0.0, shift), np.diag([flat - off, flat - off, flat]))
    whole = RigidInertia.solid_cylinder(volume * density, r, half)
    for up in (1.0, -1.0):
        whole = whole.join(cap, Transform(np.diag([1.0, up, up]), (0.0, 0.0, up * half)))
    same(RigidInertia.solid_capsule(mass, r, half), whole)


@pytest.mark.nojit
def test_hull_and_mesh_of_a_box_are_the_box() -> None:
    """At its own place, its centre of mass off the origin, however far and turned; inner points do not count."""
    rng = np.random.default_rng(7)
    half = np.array([0.1, 0.2, 0.3])
    for far in (0.0, 1.0, 1e4):
        pose = Transform.rotation(rng.normal(size=3), 1.0, far * rng.normal(size=3))
        points = pose.apply((2.0 * CORNERS - 1.0) * half)
        wanted = RigidInertia.solid_box(2.0, half).moved(pose)
        inner = pose.apply(rng.uniform(-0.9, 0.9, (20, 3)) * half)
        # The points themselves are known to 1e-16 of their distance.
        rtol = 1e-12 + 1e-14 * far
        same(RigidInertia.of_hull(2.0, np.concatenate((inner, points))), wanted, rtol)
        same(RigidInertia.of_mesh(2.0, points, FACES), wanted, rtol)
        # Every triangle with separate corners, as in an STL file.
        same(RigidInertia.of_mesh(2.0, points[FACES].reshape(-1, 3), np.arange(36).reshape(-1, 3)), wanted, rtol)


@pytest.mark.nojit
def test_a_tetrahedron_has_its_closed_form() -> None:
    """The corner of a unit cube has its centre at 1/4, moments 6/80 m and products of inertia 1/80 m about it."""
    wanted = RigidInertia(5.0, np.full(3, 0.25), 5.0 * (np.full((3, 3), 1.0 / 80.0) + np.diag(np.full(3, 5.0 / 80.0))))
    same(RigidInertia.of_hull(5.0, TETRAHEDRON), wanted)
    same(RigidInertia.of_mesh(5.0, TETRAHEDRON, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]), wanted)


@pytest.mark.nojit
def test_a_mesh_may_have_hollows() -> None:
    """A box with a closed cavity, its inner surface facing into it, is the box less the cavity."""
    inner = CORNERS * 0.5 + (0.3, 0.2, 0.1)
    vertices, triangles = np.concatenate((CORNERS, inner)), np.concatenate((FACES, FACES[:, ::-1] + 8))
    whole = RigidInertia.of_mesh(1.0, CORNERS, FACES)
    wanted = whole.separate(RigidInertia.of_hull(0.125, inner))
    same(RigidInertia.of_mesh(0.875, vertices, triangles), wanted)


@pytest.mark.nojit
def test_shapes_have_the_inertia_of_their_solids() -> None:
    """Shapes at a density of 1 kg/m^3 agree with the constructors; open and flat ones have none."""
    cylinder, capsule = Cylinder(0.1, 0.2).inertia(), Capsule(0.1, 0.2).inertia()
    same(cylinder, RigidInertia.solid_cylinder(np.pi * 0.1**2 * 0.4, 0.1, 0.2))
    same(capsule, RigidInertia.solid_capsule(np.pi * 0.1**2 * 0.4 + 4.0 / 3.0 * np.pi * 0.1**3, 0.1, 0.2))
    same(ConvexPoints(CORNERS).inertia(), RigidInertia.of_hull(1.0, CORNERS))
    same(Mesh(CORNERS, FACES).inertia(), RigidInertia.of_mesh(1.0, CORNERS, FACES))
    assert Mesh(CORNERS, FACES[1:]).inertia() is None
    assert Mesh(CORNERS, FACES[:, ::-1]).inertia() is None
    assert ConvexPoints(CORNERS[:4]).inertia() is None
    assert ConvexPoints([(0.0, 0.0, 0.0)]).inertia() is None


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("words", "make"),
    [
        ("the surface is open at 3 edges, the first", lambda: RigidInertia.of_mesh(1.0, CORNERS, FACES[1:])),
        ("face inward", lambda: RigidInertia.of_mesh(1.0, CORNERS, FACES[:, ::-1])),
        (
            "edge of vertices 0 and 1 pass it in the same direction: reverse one",
            lambda: RigidInertia.of_mesh(1.0, CORNERS, [FACES[0, ::-1], *FACES[1:]]),
        ),
        ("flat", lambda: RigidInertia.of_mesh(1.0, CORNERS, [(0, 1, 3), (0, 3, 1)])),
        (r"entry \[0, 2\] is 8, the vertices are 8", lambda: RigidInertia.of_mesh(1.0, CORNERS, [(0, 1, 8)])),
        ("at least one triangle", lambda: RigidInertia.of_mesh(1.0, CORNERS, np.zeros((0, 3)))),
        (r"triangles: must have shape \(n, 3\)", lambda: RigidInertia.of_mesh(1.0, CORNERS, [(0, 1)])),
        ("points: enclose no volume", lambda: RigidInertia.of_hull(1.0, CORNERS[:4])),
        ("points: a solid hull needs at least four points, got 3", lambda: RigidInertia.of_hull(1.0, CORNERS[:3])),
        (r"points: entry \[1, 1\] is nan", lambda: RigidInertia.of_hull(1.0, [(0, 0, 0), (0, np.nan, 0)])),
        ("mass: must be positive", lambda: RigidInertia.of_hull(0.0, CORNERS)),
        ("radius: must be positive", lambda: RigidInertia.solid_cylinder(1.0, 0.0, 1.0)),
        ("half_length: must be positive", lambda: RigidInertia.solid_capsule(1.0, 1.0, -1.0)),
    ],
)  # fmt: skip
def test_what_is_no_solid_is_refused(words: str, make) -> None:
    """Each error has the argument and the wrong entry, edge or number."""
    with pytest.raises(SpatialError, match=words):
        make()


def test_a_scene_takes_the_inertia_of_points_from_their_hull(tmp_path) -> None:
    """A body of points with a mass alone is homogeneous, its centre of mass where the points put it."""
    lines = ["[scene]", 'name = "one"', "duration = 0.1", "[stepper]", "h = 0.01", "[[body]]", 'name = "wedge"']
    lines += ['shape = "points"', f"points = {TETRAHEDRON.tolist()}", "mass = 5.0", "mu = 0.5"]
    path = tmp_path / "scene.toml"
    path.write_text("\n".join(lines))
    (body,) = load_scene(path).world.model.bodies
    same(body.inertia, RigidInertia.of_hull(5.0, TETRAHEDRON))
