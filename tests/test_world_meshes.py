"""Meshes in worlds: terrain and bodies of triangles, in the step, the record and its verification."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_shapes import flat, hull, notched_block
from test_simulation_two_drivers import check_public_path

from contactlab.contact import Box, ContactError, HalfSpace, Material, Mesh, Sphere, load_mesh
from contactlab.simulation import Recording, SimulationConfigError, TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia

ROUGH = Material(0.4)
CUBE = RigidInertia.solid_box(1.0, (0.1,) * 3)
BALL = RigidInertia.solid_sphere(0.5, 0.1)
STEPPER = TimeStepping(1e-3)


def sliding(mesh):
    """A cube and a ball set sliding, on a plane or on a mesh of one."""
    builder = WorldBuilder()
    if mesh:
        builder.add_fixed_body("ground", flat(), ROUGH)
    else:
        builder.add_half_space("ground", HalfSpace(), ROUGH)
    builder.add_free_body("cube", CUBE, Box.cube(0.1), ROUGH, (-0.5, 0.02, 0.1, 1, 0, 0, 0), (1.5, 0.2, 0, 0, 0, 0.5))
    builder.add_free_body("ball", BALL, Sphere(0.1), ROUGH, (-0.5, 0.5, 0.15, 1, 0, 0, 0), (1.0, 0.1, 0, 0, 0, 0))
    return builder.build()


@pytest.fixture(scope="module")
def run():
    """Both bodies on the mesh."""
    return simulate(sliding(True), STEPPER, steps=400)


def test_a_body_slides_over_a_mesh_as_over_a_plane(run):
    """No inner edge is felt: the same path, over twenty triangles."""
    plane = simulate(sliding(False), STEPPER, steps=400)
    assert np.allclose(run.q[:, :7], plane.q[:, :7], rtol=0, atol=1e-9)
    # The ball lands: before it touches, its contact stands in the middle of the gap, and on the plane at the ball.
    assert np.allclose(run.q[:, 7:], plane.q[:, 7:], rtol=0, atol=2e-3)
    assert np.all(run.contacts.normal[:, 2] > 1.0 - 1e-12)
    assert abs(run.v[-1, 2]) < 1e-9


def test_steps_on_meshes_are_posed_again_and_verified(run, tmp_path):
    """The public path gives the recorded bits, from a file as well; every condition holds; restarts give the bits."""
    assert check_public_path(run, every=60) > 8
    report = verify(run, every=25)
    assert report.holds, str(report)
    run.save(tmp_path / "mesh.npz")
    opened = Recording.open(tmp_path / "mesh.npz")
    assert np.array_equal(opened.world.surfaces[0].shape.triangles, flat().triangles)
    rest = simulate(opened.world, STEPPER, steps=10, state=opened.state(200))
    assert np.array_equal(rest.q, run.q[200:211])
    assert run.warm_start_solves[100:300].sum() > 150


def test_a_body_with_a_notch_carries_a_ball_in_it():
    """A moving mesh that is not convex: on the ground by its hull's corners, the ball on its step against its wall."""
    block = notched_block()
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH)
    inertia = RigidInertia(20.0, (-0.08, 0.0, 0.42), inertia=np.diag([3.0, 3.0, 2.5]))
    builder.add_free_body("block", inertia, block, ROUGH)
    start = (0.1 + 1e-4, 0.0, 0.6, 1, 0, 0, 0)
    builder.add_free_body("ball", BALL, Sphere(0.1), ROUGH, start, (-0.3, 0, 0, 0, 0, 0))
    recording = simulate(builder.build(), STEPPER, steps=300)
    assert np.allclose(recording.q[-1, 7:10], (0.1, 0.0, 0.6), atol=2e-4)
    assert abs(recording.v[-1]).max() < 1e-8
    weight = recording.force_on("ball")[-1]
    assert weight == pytest.approx((0, 0, 0.5 * 9.81), abs=1e-6)
    assert verify(recording, every=40).holds


def test_convex_meshes_are_bodies_like_any_other():
    """A stack of two cubes of triangles stands on a third."""
    mesh = hull(Box.cube(0.1).support_points()[0])
    builder = WorldBuilder()
    builder.add_fixed_body("table", mesh, ROUGH)
    for i in range(2):
        builder.add_free_body(f"cube {i}", CUBE, mesh, ROUGH, (0, 0, 0.2 * (i + 1), 1, 0, 0, 0))
    recording = simulate(builder.build(), STEPPER, steps=50)
    assert np.allclose(recording.q[-1], recording.q[0], atol=1e-9)
    assert recording.force_on("table")[-1, 2] == pytest.approx(-2 * 9.81, rel=1e-9)


def test_two_open_meshes_that_may_meet_are_refused():
    """The error names both bodies; where they cannot meet there is none."""
    builder = WorldBuilder()
    builder.add_fixed_body("terrain", flat(4), ROUGH)
    builder.add_free_body("stone", CUBE, notched_block(), ROUGH, (0, 0, 1, 1, 0, 0, 0))
    with pytest.raises(SimulationConfigError, match="'terrain' and 'stone'") as caught:
        builder.build()
    assert caught.value.field == "shape"
    builder.exclude_collision("terrain", "stone")
    builder.build()


STL = """solid one
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid one
"""
OBJ = """mtllib ../../secret.mtl
v 0 0 0
v 1 0 0
v 0 1 0
usemtl stone
f 1 2 3
"""


@pytest.mark.parametrize(("name", "text"), [("one.stl", STL), ("one.obj", OBJ)])
def test_meshes_are_read_from_files(tmp_path, name, text):
    """STL and OBJ, scaled; a mirror image has its triangles turned round."""
    pytest.importorskip("trimesh")
    (tmp_path / name).write_text(text)
    mesh = load_mesh(tmp_path / name, root=tmp_path, scale=(2.0, 1.0, -1.0))
    a, b, c = mesh.vertices[mesh.triangles[0]]
    assert np.cross(b - a, c - a) == pytest.approx((0, 0, -2.0))


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("no.stl", None, "cannot be opened"),
        ("a.ply", "<x/>", ".stl, .obj, .dae"),
        ("a.dae", "<x/>", "must be <COLLADA>"),
        ("b.obj", "nothing", "no mesh"),
        ("flat.obj", "v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n", "no mesh"),
        ("far.obj", OBJ.replace("f 1 2 3", "f 1 2 9"), "no mesh"),
    ],
)
def test_files_that_are_no_meshes_are_refused(tmp_path, name, text, match):
    """By name, with the reason."""
    pytest.importorskip("trimesh")
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ContactError, match=match) as caught:
        load_mesh(tmp_path / name)
    assert caught.value.field == "path"


def test_files_outside_the_root_are_refused(tmp_path):
    """Upwards or by a link."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out.stl").write_text(STL)
    (tmp_path / "in" / "link.stl").symlink_to(tmp_path / "out.stl")
    for path in (tmp_path / "in" / ".." / "out.stl", tmp_path / "in" / "link.stl"):
        with pytest.raises(ContactError, match="outside"):
            load_mesh(path, root=tmp_path / "in")


def test_without_trimesh_the_error_names_the_extra(tmp_path, monkeypatch):
    """Reading files needs it; meshes from arrays do not."""
    import sys

    (tmp_path / "one.stl").write_text(STL)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(ContactError, match="collision"):
        load_mesh(tmp_path / "one.stl")
    assert Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).triangles.shape == (1, 3)
