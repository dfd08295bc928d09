"""The drawing of a world: solids of every shape, the stage, arrows, the states shown."""

import numpy as np
import pytest

from contactlab.multibody import body_poses
from contactlab.multibody.joints import Fixed, Revolute
from contactlab.simulation import (
    OPEN,
    SLIDE,
    STICK,
    Box,
    ContactTable,
    ConvexPoints,
    HalfSpace,
    HeightField,
    Material,
    ModelBuilder,
    RigidInertia,
    Sphere,
    Transform,
    WorldBuilder,
)
from contactlab.view.drawing import Arrows, ForceScale, SceneGeometry, frame_indices, solid_of, state_at
from contactlab.view.drawing.parts import BODIES, FIXED
from contactlab.view.drawing.stage import center_of_mass


def test_solids_of_what_is_no_volume():
    """Terrain is its surface, a sheet has two sides, a half-space is drawn elsewhere, points are small balls."""
    terrain = solid_of(HeightField([[0.0, 0.1, 0.0], [0.2, 0.3, 0.1]], (0.5, 0.25)))
    assert len(terrain.triangles) == 4
    assert (terrain.normals[:, 2] > 0.0).all()
    np.testing.assert_allclose(terrain.vertices.max(axis=0), (0.5, 0.5, 0.3))
    sheet = solid_of(ConvexPoints([(0.1, 0.0, 0.0), (-0.1, 0.1, 0.0), (-0.1, -0.1, 0.0)]))
    assert sorted(sheet.normals[sheet.triangles[:, 0], 2].round(9)) == [-1.0, 1.0]
    assert len(solid_of(HalfSpace()).triangles) == 0
    rod = solid_of(ConvexPoints([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]))
    assert len(rod.triangles)
    assert rod.lines.shape == (1, 2, 3)
    with pytest.raises(TypeError, match="str is no shape"):
        solid_of("ball")


def test_a_stage_has_every_shape_of_every_body():
    """Several shapes on a body; fixed ones grey; a body without a shape by inertia and bones."""
    model = ModelBuilder()
    model.add_body("stand", joint=Fixed(), placement=Transform(p=(0.0, 0.0, 1.0)))
    inertia = RigidInertia.solid_box(2.0, (0.1, 0.2, 0.3))
    model.add_body("arm", parent="stand", joint=Revolute((0, 1, 0)), inertia=inertia)
    place = Transform(p=(0.0, 0.0, -0.5))
    model.add_body("hand", parent="arm", joint=Revolute((0, 1, 0)), placement=place, inertia=inertia)
    builder, rough = WorldBuilder(), Material(0.5)
    builder.add_model(model.build())
    builder.add_shape("stand", Box.cube(0.1), rough)
    for x in (-0.1, 0.1):
        builder.add_shape("hand", Sphere(0.05), rough, placement=Transform(p=(x, 0.0, 0.0)))
    builder.add_half_space("floor", HalfSpace(), rough)
    world = builder.build()
    stage = SceneGeometry.of(world, *body_poses(world.model, world.initial_q[None]))
    shapes = [part for part in stage.parts if part.shape]
    assert [part.body for part in shapes] == [0, 2, 2]
    assert [part.color for part in shapes] == [FIXED, BODIES[2], BODIES[2]]
    bones = [part for part in stage.parts if part.body == 1 and not len(part.solid.vertices)]
    np.testing.assert_allclose(bones[0].solid.lines, [[(0, 0, 0), (0, 0, -0.5)]])
    box = next(part.solid for part in stage.parts if part.body == 1 and len(part.solid.vertices))
    np.testing.assert_allclose(box.vertices.max(axis=0), (0.1, 0.2, 0.3), rtol=1e-9)
    assert len(stage.grounds) == 1
    assert np.abs(stage.grounds[0].polygon[:, 2]).max() < 1e-12
    center = center_of_mass(world, *(pose[0] for pose in body_poses(world.model, world.initial_q[None])))
    np.testing.assert_allclose(center, (0.0, 0.0, 0.75), atol=1e-12)


def test_arrows_are_as_long_as_the_scale_says():
    """Newtons times metres per newton, cut where it is longest; open contacts have none."""
    impulse = np.array([(0.0, 0.0, 0.02), (0.01, 0.0, 0.0), (0.0, 0.0, 5.0), (0.0, 0.0, 0.0)])
    columns = {name: np.zeros(4, dtype=np.int64) for name in ContactTable.__dataclass_fields__}
    modes = np.array([STICK, SLIDE, STICK, OPEN])
    columns |= {"point": np.ones((4, 3)), "normal": np.tile((0.0, 0.0, 1.0), (4, 1)), "impulse": impulse, "mode": modes}
    arrows = Arrows.of_step(ContactTable(**columns), 1e-2, ForceScale(per_newton=0.1, longest=0.7))
    lengths = np.linalg.norm(arrows.tips - arrows.points, axis=1)
    np.testing.assert_allclose(lengths, (0.2, 0.1, 0.7, 0.0), atol=1e-12)
    assert arrows.carrying.tolist() == [True, True, True, False]
    assert str(ForceScale(per_newton=0.1, longest=0.7)) == "1 N per 0.1 m of arrow"
    assert str(ForceScale(per_newton=1e-5, longest=0.7)) == "10 kN per 0.1 m of arrow"


def test_shown_steps_are_spread_in_time() -> None:
    """First and last state are shown; the rest at the frame rate, or every state of a coarse record."""
    fine = np.arange(1001) * 1e-3
    assert frame_indices(fine, 40.0) == list(range(0, 1001, 25))
    coarse = np.arange(6) * 0.1
    assert frame_indices(coarse, 40.0) == list(range(6))
    assert frame_indices(np.zeros(1), 40.0) == [0]
    assert state_at(coarse, 0.26) == 3
