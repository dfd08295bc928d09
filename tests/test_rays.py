"""Rays: closed forms, membership along the ray, other engines; and what a world makes of them."""

import math

import numpy as np
import pytest
from collision_scenes import ROUND_AND_FLAT, random_pose, random_shape
from joint_scenes import pendulum
from mesh_shapes import notched_block

from contactlab.collision import ContactError
from contactlab.collision.detection import first_hits, pack_shapes
from contactlab.collision.shapes.shape import pose_row
from contactlab.multibody import MultibodyError
from contactlab.simulation import (
    Box,
    Capsule,
    ConstantVelocity,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Material,
    Mesh,
    PlacedShape,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    Transform,
    World,
    WorldBuilder,
    load_mjcf_world,
)

X, Y, Z = np.eye(3)


def hits(shape, pose, origins, directions, reach=np.inf):
    """Distances and normals of rays with one shape."""
    distance, number, normal = first_hits(pack_shapes([shape]), pose_row(pose)[None], origins, directions, reach)
    np.testing.assert_array_equal(number, np.where(np.isfinite(distance), 0, -1))
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), np.isfinite(distance), atol=1e-12)
    return distance, normal


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("shape", "origin", "direction", "distance", "normal"),
    [
        (Sphere(0.5, (0, 0, 1)), (-2, 0, 1), 3 * X, 1.5, -X),
        (Sphere(0.5), (0, 0, 0.2), Z, 0.3, Z),
        (Sphere(0.5), (-2, 0.6, 0), X, math.inf, 0 * X),
        (Sphere(0.5), (2, 0, 0), X, math.inf, 0 * X),
        (Box((1, 2, 3)), (5, 0.5, 0.5), -X, 4.0, X),
        (Box((1, 2, 3)), (0, 0.5, 0.5), -Y, 2.5, -Y),
        (Box((1, 2, 3)), (0, 0, 2.9), X + Z, 0.1 * math.sqrt(2), Z),
        (Box((1, 2, 3)), (-3, 0, 3.0001), X, math.inf, 0 * X),
        (Capsule(0.5, 1.0), (0, 0, 4), -Z, 2.5, Z),
        (Capsule(0.5, 1.0), (3, 0, 0.7), -X, 2.5, X),
        (Capsule(0.5, 1.0), (3, 0, 1.3), -X, 3 - 0.4, 0.8 * X + 0.6 * Z),
        (Capsule(0.5, 1.0), (0, 0, -1.2), Z, 2.7, Z),
        (Cylinder(0.5, 1.0), (0.3, 0, 4), -Z, 3.0, Z),
        (Cylinder(0.5, 1.0), (3, 0.3, 0.9), -X, 2.6, 0.8 * X + 0.6 * Y),
        (Cylinder(0.5, 1.0), (0, 0, 0), X + 3 * Z, math.sqrt(10) / 3, Z),
        (Cylinder(0.5, 1.0), (0, 0, 0), X + Z, math.sqrt(0.5), X),
        (HalfSpace((0, 0, 1), 0.5), (0, 0, 2), X - Z, 1.5 * math.sqrt(2), Z),
        (HalfSpace((0, 0, 1), 0.5), (0, 0, 0), Z, 0.5, Z),
        (HalfSpace((0, 0, 1), 0.5), (0, 0, 2), X + 0.1 * Z, math.inf, 0 * X),
        (ConvexPoints([(1, 0, 0), (0, 1, 0), (-1, -1, 0)]), (0.1, 0, 2), -Z, 2.0, Z),
        (ConvexPoints([(1, 0, 0), (0, 1, 0), (-1, -1, 0)]), (0.9, 0.9, 2), -Z, math.inf, 0 * X),
        (ConvexPoints([(1, 0, 0), (-1, 0, 0)]), (0, 0, 2), -Z, math.inf, 0 * X),
        (HeightField(np.zeros((3, 3)), 1.0), (0.5, 1.5, 2), -Z, 2.0, Z),
        (HeightField(np.zeros((3, 3)), 1.0), (0.5, 1.5, -2), Z, 2.0, Z),
        (HeightField(np.zeros((3, 3)), 1.0), (2.5, 1.5, 2), -Z, math.inf, 0 * X),
        (HeightField([[0, 0], [1, 1]], 1.0), (-1, 0.5, 0.25), X, 1.25, (Z - X) / math.sqrt(2)),
    ],
)
def test_closed_forms(shape, origin, direction, distance, normal):
    """From outside, from inside, past it; and the same at any pose."""
    rng = np.random.default_rng(1)
    for pose in (Transform(), *(random_pose(rng) for _ in range(5))):
        found, outward = hits(shape, pose, pose.apply(origin), pose.R @ np.asarray(direction))
        assert found[0] == pytest.approx(distance, abs=1e-12)
        np.testing.assert_allclose(outward[0], pose.R @ np.asarray(normal), atol=1e-12)


def inside(shape, points):
    """Whether points, in the shape's axes, are in it: by its definition."""
    x, y, z = points.T
    if isinstance(shape, Sphere):
        return np.linalg.norm(points, axis=1) < shape.radius
    if isinstance(shape, Box):
        return np.all(np.abs(points) < shape.half_extents, axis=1)
    if isinstance(shape, Capsule):
        beyond = z - np.clip(z, -shape.half_length, shape.half_length)
        return np.hypot(np.hypot(x, y), beyond) < shape.radius
    if isinstance(shape, Cylinder):
        return (np.hypot(x, y) < shape.radius) & (np.abs(z) < shape.half_length)
    from scipy.spatial import ConvexHull

    planes = ConvexHull(shape.points).equations
    return np.all(points @ planes[:, :3].T + planes[:, 3] < 0.0, axis=1)


@pytest.mark.parametrize("name", ROUND_AND_FLAT)
def test_up_to_a_hit_nothing_changes_and_there_the_side_does(name):
    """200 rays with random shapes, from outside and inside: sampled along the ray, and stepping along the normal."""
    rng = np.random.default_rng(7)
    many = 0
    for _ in range(10):
        shape, pose = random_shape(name, rng), random_pose(rng)
        origins = rng.uniform(-2, 2, (20, 3))
        directions = pose.p + rng.uniform(-0.8, 0.8, (20, 3)) - origins
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        distance, normal = hits(shape, pose, origins, directions)
        for o, d, t, n in zip(origins, directions, distance, normal, strict=True):
            begins = inside(shape, pose.apply_inverse(o)[None])[0]
            before = np.linspace(0.0, min(t, 8.0) - 1e-6, 400)[:, None]
            assert (inside(shape, pose.apply_inverse(o + before * d)) == begins).all()
            if t < math.inf:
                many += 1
                p = o + t * d
                assert inside(shape, pose.apply_inverse(o + (t + 1e-6) * d)[None])[0] != begins
                assert inside(shape, pose.apply_inverse(np.array([p - 1e-6 * n, p + 1e-6 * n]))).tolist() == [
                    True,
                    False,
                ]
                assert (n @ d < 0.0) != begins
    assert many > 60


def by_triangles(triangles, origin, direction):
    """Least distance to any of the triangles (m, 3, 3): linear equations, one after the other."""
    best = math.inf
    for a, b, c in triangles:
        A = np.stack([b - a, c - a, -direction], axis=1)
        if abs(np.linalg.det(A)) > 1e-14:
            u, v, t = np.linalg.solve(A, origin - a)
            if u >= -1e-12 and v >= -1e-12 and u + v <= 1 + 1e-12 and 0.0 <= t < best:
                best = t
    return best


def test_meshes_and_terrain_are_their_triangles():
    """A block that is not convex, and random terrain: every ray against every triangle."""
    rng = np.random.default_rng(5)
    block = notched_block()
    field = HeightField(rng.uniform(-0.3, 0.3, (6, 5)), (0.3, 0.4))
    for shape, triangles, middle in (
        (block, block.vertices[block.triangles], (0, 0, 0.5)),
        (field, field.surface_mesh().vertices[field.surface_mesh().triangles], (0.75, 0.8, 0.0)),
    ):
        origins = rng.uniform(-1.5, 1.5, (150, 3)) + middle
        directions = rng.uniform(-0.5, 0.5, (150, 3)) + middle - origins
        directions[:30] = [X, Y, Z, -Z, X + Z] * 6
        # On the lines of the grid, where a ray goes between cells.
        origins[:10, :2] = np.round(origins[:10, :2] / (0.3, 0.4)) * (0.3, 0.4)
        pose = random_pose(rng)
        found, _ = hits(shape, pose, pose.apply(origins), directions @ pose.R.T)
        unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        plain, _ = hits(shape, Transform(), origins, directions)
        wanted = [by_triangles(triangles, o, d) for o, d in zip(origins, unit, strict=True)]
        np.testing.assert_allclose(plain, wanted, atol=1e-9)
        inner = np.ones(150, dtype=bool)
        inner[:10] = False  # turned, a ray along an edge of the border may pass on either side
        np.testing.assert_allclose(found[inner], np.array(wanted)[inner], atol=1e-9)
        assert np.isfinite(wanted).sum() > 60


@pytest.mark.parametrize("closed", [notched_block(), ConvexPoints(np.random.default_rng(3).normal(size=(12, 3)))])
def test_no_ray_slips_through_an_edge(closed):
    """From within a closed surface all of them end on it, those that aim at corners and edges too."""
    if isinstance(closed, Mesh):
        corners, middle = closed.vertices, np.array([-0.25, 0.0, 0.25])
        ends = np.concatenate(
            [corners, 0.5 * (corners[closed.triangles] + corners[np.roll(closed.triangles, 1, 1)]).reshape(-1, 3)]
        )
    else:
        corners, middle = closed.points, closed.points.mean(axis=0)
        ends = np.concatenate([corners, 0.5 * (corners[:, None] + corners[None]).reshape(-1, 3)])
    rng = np.random.default_rng(0)
    for pose in (Transform(), *(random_pose(rng) for _ in range(5))):
        aims = ends[np.linalg.norm(ends - middle, axis=1) > 1e-9]
        distance, _ = hits(closed, pose, pose.apply(middle), pose.apply(aims) - pose.apply(middle))
        assert np.isfinite(distance).all()


def scene() -> World:
    """Two posts with a wall between them that moves, terrain and a floor."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    inertia = RigidInertia.solid_box(1.0, (0.1,) * 3)
    builder.add_free_body(
        "left", inertia, [Sphere(0.1, (0, 0, 1)), Box.cube(0.1)], Material(0.5), (-1, 0, 0.1, 1, 0, 0, 0)
    )
    builder.add_free_body(
        "right", inertia, PlacedShape(Capsule(0.1, 0.3), Transform(p=(0, 0, 1))), Material(0.5), (1, 0, 0, 1, 0, 0, 0)
    )
    builder.add_kinematic_body(
        "wall", Box((0.05, 1, 1)), Material(0.5), ConstantVelocity(Transform(p=(0, 5, 1)), (0, -1, 0))
    )
    return builder.build()


def test_a_world_says_what_was_met():
    """Bodies, shapes and half-spaces; excluded ones, ones out of reach, and moved ones."""
    world = scene()
    names, q = [*world.model.names, "nothing"], world.initial_q
    found = world.cast_rays(q, [(-3, 0, 1.1), (-3, 0, 0.1), (3, 0, 1), (-3, 0, 5), (-1, 0, 3)], [X, X, -X, X, -Z])
    assert [names[i] for i in found.body] == ["left", "left", "right", "nothing", "left"]
    assert found.half_space.tolist() == [-1] * 5
    assert found.shape[0] == found.shape[4] != found.shape[1]
    assert [world.surface_bodies[s] for s in found.shape[:3]] == found.body[:3].tolist()
    np.testing.assert_allclose(found.distance, [1.9, 1.9, 1.9, math.inf, 1.8], atol=1e-12)
    np.testing.assert_allclose(found.normal, [-X, -X, X, 0 * X, Z], atol=1e-12)
    for origins, directions in (((-1, 0, 3), -Z), ([(-1, 0, 3)] * 2, -Z), ((-1, 0, 3), [-Z] * 2)):
        below = world.cast_rays(q, origins, directions, exclude=("left",))
        assert set(below.distance) == {3.0}
        assert set(below.half_space) == {0}
        assert set(below.body) == set(below.shape) == {-1}
    across = (-0.5, 0, 1), X
    assert names[world.cast_rays(q, *across).body[0]] == "right"
    assert names[world.cast_rays(q, *across, time=5.0).body[0]] == "wall"
    assert world.cast_rays(q, *across, reach=1.3).distance == math.inf
    assert world.cast_rays(q, np.zeros((0, 3)), X).distance.shape == (0,)
    lifted = np.array(q)
    lifted[2] += 1.0
    assert world.cast_rays(lifted, (-1, 0, 4), -Z).distance == pytest.approx(1.8)


def test_a_world_without_shapes_is_dark():
    found = pendulum().build().cast_rays([0.0], (0, 0, 1), -Z)
    assert (found.distance, found.body, found.shape, found.half_space) == (math.inf, -1, -1, -1)


class Balls:
    """A shape of the user's own."""

    def support_points(self):
        """One ball."""
        return np.zeros((1, 3)), np.array([0.1])


def test_what_cannot_be_cast_says_why():
    world, q = scene(), scene().initial_q
    for field, arguments, options in (
        ("directions", ((0, 0, 1), (0, 0, 0)), {}),
        ("directions", (np.zeros((3, 3)), np.ones((2, 3))), {}),
        ("origins", ((0, 0), X), {}),
        ("origins", ((0, 0, math.nan), X), {}),
        ("reach", ((0, 0, 1), X), {"reach": -1.0}),
        ("reach", ((0, 0, 1), X), {"reach": math.nan}),
    ):
        with pytest.raises(ContactError, match=f"^{field}"):
            world.cast_rays(q, *arguments, **options)
    with pytest.raises(MultibodyError, match="'left'"):
        world.cast_rays(q, (0, 0, 1), X, exclude=("lefd",))
    builder = WorldBuilder()
    builder.add_free_body("own", RigidInertia.solid_sphere(1.0, 0.1), Balls(), Material(0.5))
    world = builder.build()
    with pytest.raises(SimulationConfigError, match="'own': its shape, a Balls"):
        world.cast_rays(world.initial_q, (0, 0, 1), -Z)
    assert world.cast_rays(world.initial_q, (0, 0, 1), -Z, exclude=("own",)).distance == math.inf


def test_rays_meet_what_mujocos_meet(tmp_path):
    """From outside: planes, spheres, capsules, cylinders, boxes, a convex mesh and a height field, at random poses."""
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(11)
    sizes = {"sphere": ".3", "capsule": ".2 .4", "cylinder": ".2 .4", "box": ".2 .3 .4"}
    corners = " ".join(f"{x:.4f}" for x in rng.normal(size=60) * 0.3)

    def at():
        pos, turn = rng.uniform(-1.5, 1.5, 3) + (0, 0, 2), rng.normal(size=4)
        return f'pos="{pos[0]} {pos[1]} {pos[2]}" quat="{turn[0]} {turn[1]} {turn[2]} {turn[3]}"'

    bodies = [
        f'<body {at()}><freejoint/><geom type="{kind}" size="{size}"/></body>'
        for kind, size in sizes.items()
        for _ in "12"
    ]
    bodies += [f'<body {at()}><freejoint/><geom type="mesh" mesh="hull"/></body>' for _ in "12"]
    rows = " ".join(f"{x:.4f}" for x in rng.uniform(size=20))
    file = tmp_path / "scene.xml"
    file.write_text(
        f'<mujoco><asset><mesh name="hull" vertex="{corners}"/>'
        f'<hfield name="hills" nrow="4" ncol="5" size="2 1.5 .5 .1" elevation="{rows}"/></asset>'
        f'<worldbody><geom type="plane" size="0 0 1" pos="0 0 -1"/><geom type="hfield" hfield="hills" pos="0 0 -.8"/>'
        f"{''.join(bodies)}</worldbody></mujoco>"
    )
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    world = load_mjcf_world(file)
    origins = rng.uniform(-4, 4, (400, 3))
    origins[:, 2] = np.abs(origins[:, 2]) + 0.5
    directions = rng.uniform(-1.5, 1.5, (400, 3)) + (0, 0, 1) - origins
    found = world.cast_rays(world.initial_q, origins, directions)
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    which, normal, seen = np.array([-1], dtype=np.int32), np.zeros(3), 0
    names = [*world.model.names, "world"]
    for i in range(400):
        t = mujoco.mj_ray(m, d, origins[i], unit[i], None, 1, -1, which, normal)
        if t < 0.0:
            assert found.distance[i] == math.inf
            continue
        owner = names[found.body[i]]
        wanted = m.body(m.geom_bodyid[which[0]]).name or f"body {m.geom_bodyid[which[0]]}"
        if m.geom_type[which[0]] == mujoco.mjtGeom.mjGEOM_HFIELD and normal[2] < 0.1:
            continue  # from below or the side
        assert found.distance[i] == pytest.approx(t, abs=1e-6)
        assert owner == wanted if wanted != "world" else owner.startswith("world")
        np.testing.assert_allclose(found.normal[i], normal, atol=1e-5)
        seen += 1
    assert seen > 200
