"""Properties of all shapes: files store them; drawing, bounds, inertia and support describe one solid."""

import dataclasses
import json

import numpy as np
import pytest

from contactlab.collision.detection import bounds, distance, pack_shapes
from contactlab.collision.shapes import ALL_SHAPES
from contactlab.simulation import (
    Box,
    Capsule,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Material,
    Mesh,
    Sphere,
    Transform,
    WorldBuilder,
)
from contactlab.simulation.recording.world_io import world_from_json, world_to_json
from contactlab.simulation.scene import load_scene
from contactlab.simulation.scene.values import KEYS, SHAPES
from contactlab.simulation.verification.proximity import core_of

EXAMPLES = (
    Sphere(0.2, (0.1, 0.0, 0.0)),
    Capsule(0.1, 0.2),
    Cylinder(0.1, 0.2),
    Box((0.1, 0.2, 0.3)),
    ConvexPoints(0.1 * np.concatenate((np.eye(3), -np.eye(3)))),
    HalfSpace((0.0, 1.0, 2.0), 0.3),
    HeightField([[0.0, 0.1, 0.0], [0.2, 0.3, 0.1]], (0.5, 0.25)),
    Mesh(np.concatenate((np.zeros((1, 3)), np.eye(3))), [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]),
)
every_shape = pytest.mark.parametrize("shape", EXAMPLES, ids=lambda shape: type(shape).__name__)
CONVEX = [shape for shape in EXAMPLES if not isinstance(shape, HalfSpace | HeightField)]
every_convex_shape = pytest.mark.parametrize("shape", CONVEX, ids=lambda shape: type(shape).__name__)


def values(shape):
    """The fields of a shape."""
    return [np.asarray(getattr(shape, field.name)).tolist() for field in dataclasses.fields(shape)]


@pytest.mark.nojit
def test_every_shape_has_an_example():
    """None of the library's shapes is left out below."""
    assert [type(shape) for shape in EXAMPLES] == list(ALL_SHAPES)


@pytest.mark.nojit
@every_shape
def test_a_record_keeps_every_shape(shape):
    """A world written as JSON and read again has the shape with all its bits."""
    builder = WorldBuilder()
    builder.add_fixed_body("stand", shape, Material(0.5))
    (surface,) = world_from_json(json.loads(json.dumps(world_to_json(builder.build())))).surfaces
    assert type(surface.shape) is type(shape)
    assert values(surface.shape) == values(shape)


@pytest.mark.nojit
@pytest.mark.parametrize("kind", SHAPES)
def test_a_scene_has_every_shape_by_its_fields(kind, tmp_path):
    """The keys of a scene file are the fields of the class."""
    (shape,) = (shape for shape in EXAMPLES if type(shape) is SHAPES[kind])
    keys = (KEYS.get(field.name, field.name) for field in dataclasses.fields(shape))
    lines = [f"{key} = {value}" for key, value in zip(keys, values(shape), strict=True)]
    path = tmp_path / "scene.toml"
    head = [
        "[scene]",
        'name = "one"',
        "duration = 0.1",
        "[stepper]",
        "h = 0.01",
        "[[fixed]]",
        'name = "stand"',
        "mu = 0.5",
    ]
    path.write_text("\n".join([*head, f'shape = "{kind}"', *lines]))
    (surface,) = load_scene(path).world.surfaces
    assert values(surface.shape) == values(shape)


@pytest.mark.nojit
@every_convex_shape
def test_the_inertia_is_that_of_the_solid(shape):
    """Volume, centre and moments of the drawn solid, summed over tetrahedra, are the stated ones, up to facets."""
    stated = shape.inertia()
    if stated is None:
        pytest.skip("no volume is stated")
    solid = shape.surface_mesh()
    corners = solid.vertices[solid.triangles]
    volumes = np.linalg.det(corners) / 6.0
    total = corners.sum(axis=1)
    products = np.einsum("t,tci,tcj->ij", volumes, corners, corners) + np.einsum("t,ti,tj->ij", volumes, total, total)
    products /= 20.0
    mass, com = volumes.sum(), (volumes @ total) / 4.0 / volumes.sum()
    assert mass == pytest.approx(stated.mass, rel=0.05)
    np.testing.assert_allclose(com, stated.com, atol=1e-9)
    about_com = np.trace(products) * np.eye(3) - products - mass * (com @ com * np.eye(3) - np.outer(com, com))
    np.testing.assert_allclose(about_com, stated.inertia, rtol=0.07, atol=1e-12)


@pytest.mark.nojit
@every_convex_shape
def test_bounds_and_support_are_those_of_the_solid(shape):
    """Kernels, verification and drawing know the same solid: its extent along the axes, turned at will."""
    rng, size = np.random.default_rng(4), float(np.abs(shape.surface_mesh().vertices).max())
    core = core_of(shape)
    for _ in range(5):
        pose = Transform.rotation(rng.normal(size=3), rng.uniform(0.0, 3.0), rng.normal(size=3))
        (box,) = bounds(pack_shapes([shape]), [pose])
        drawn = pose.apply(shape.surface_mesh().vertices)
        np.testing.assert_allclose(box[:3], drawn.min(axis=0), atol=0.02 * size)
        np.testing.assert_allclose(box[3:], drawn.max(axis=0), atol=0.02 * size)
        for k, axis in enumerate(np.eye(3)):
            highest = pose.apply(core.support(pose.R.T @ axis)[None])[0] + core.radius * axis
            assert highest[k] == pytest.approx(box[3 + k], abs=1e-12)


@pytest.mark.nojit
@every_convex_shape
def test_the_surface_drawn_is_the_surface_touched(shape):
    """A point of what is drawn is at no distance from what is searched for contacts."""
    here = Transform()
    vertices = shape.surface_mesh().vertices
    for vertex in vertices[:: 1 + len(vertices) // 12]:
        assert distance(shape, here, Sphere(1e-3), Transform(p=vertex)).gap == pytest.approx(-1e-3, abs=1e-6)
