"""Contacts that the caller supplies, and worlds with triangle meshes: stepped, recorded, verified, refused."""

import numpy as np
import pytest
from mesh_shapes import flat, notched_block
from refusals import assert_fields
from test_simulation_two_drivers import check_public_path

from contactlab.collision import Box, ContactError, HalfSpace, Material, Mesh, Sphere, load_mesh
from contactlab.multibody.spatial import RigidInertia, quaternion
from contactlab.simulation import (
    ExternalContact,
    Recording,
    SimulationConfigError,
    TimeStepping,
    WorldBuilder,
    simulate,
    verify,
)

H = 1e-3
FLOOR = Material(0.5, 0.2)
SHAPE = Box.cube(0.1)


def cube(floor=False):
    """A cube that slides and rocks, on a half-space or on nothing but what is supplied."""
    builder = WorldBuilder()
    if floor:
        builder.add_half_space("floor", HalfSpace(), FLOOR)
    start = (0, 0, 0.1 + 5e-4, np.cos(0.01), np.sin(0.01), 0, 0)
    builder.add_free_body("cube", RigidInertia.solid_box(1.0, (0.1,) * 3), SHAPE, FLOOR, start, (1, 0.3, 0, 0, 0, 2))
    return builder.build()


def corners(_time, q, _v):
    """The corners near the plane z = 0, as contacts with the world."""
    points = SHAPE.support_points()[0] @ quaternion.to_matrix(q[3:]).T + q[:3]
    return [
        ExternalContact("world", "cube", point, (0, 0, 2), point[2], FLOOR, id=i)
        for i, point in enumerate(points)
        if point[2] < 0.05
    ]


def turned(time, q, v):
    """The same in another order, with the world as B."""
    return [
        ExternalContact("cube", "world", c.point, -c.normal, c.gap, c.material, id=c.id) for c in corners(time, q, v)
    ][::-1]


@pytest.fixture(scope="module")
def run():
    """A run of the cube on supplied contacts."""
    return simulate(cube(), TimeStepping(H), steps=300, contacts=corners)


def test_supplied_corners_do_what_the_half_space_does(run):
    """Motion, impulses and table equal those with the floor."""
    floor = simulate(cube(floor=True), TimeStepping(H), steps=300)
    assert np.allclose(run.q, floor.q, rtol=0, atol=1e-9)
    assert np.allclose(run.contacts.impulse, floor.contacts.impulse, rtol=0, atol=1e-9)
    assert len(run.contacts) > 600
    assert set(run.contacts.body_a) == {-1}
    assert set(run.contacts.half_space) == {-1}
    assert np.all(run.contacts.restitution == 0.2)
    assert floor.ledger.totals() == pytest.approx(run.ledger.totals(), abs=1e-9)


def test_they_are_asked_for_at_the_start_of_every_step_and_once():
    """Also of a step in whose midst the rows for contacts run out, and of the next one."""
    times = []

    def told(time, q, v):
        times.append(time)
        return corners(time, q, v)

    recording = simulate(cube(), TimeStepping(H), steps=300, contacts=told, chunk_steps=300)
    assert times == recording.time[:-1].tolist()


def test_the_order_in_which_they_come_does_not_matter(run):
    """Sorted by id, and with B the body that moves, they give the same bits."""
    again = simulate(cube(), TimeStepping(H), steps=300, contacts=turned)
    assert np.array_equal(again.q, run.q)
    assert np.array_equal(again.contacts.id, run.contacts.id)


def test_steps_are_posed_again_from_the_record(run, tmp_path):
    """Problem data, warm start and solution of the public path, without the function, from a file as well."""
    assert check_public_path(run, every=20) > 10
    run.save(tmp_path / "run.npz")
    assert check_public_path(Recording.open(tmp_path / "run.npz"), every=60) > 3


def test_they_are_verified_like_all_others(run):
    """Every condition holds, and a record that lies about its restitution or friction does not."""
    report = verify(run, every=20)
    assert report.holds, str(report)
    for name in ("contact_mu", "contact_restitution"):
        rows = {**run.rows, name: run.rows[name] - 1.0}
        assert not verify(Recording(run.world, run.stepper, rows), every=50).holds


def test_a_solver_outside_the_loop_and_an_adaptive_step_take_them():
    """Both ways to come back to the same step ask for no contacts twice."""
    import lcp

    inside = simulate(cube(), TimeStepping(H, solver=lcp.Lemke()), steps=50, contacts=corners)
    calls = []

    def counted(time, q, v):
        calls.append(time)
        return corners(time, q, v)

    outside = simulate(cube(), TimeStepping(H, solver=lcp.Refined(lcp.Lemke())), steps=50, contacts=counted)
    assert np.allclose(outside.q, inside.q, rtol=0, atol=1e-12)
    adaptive = simulate(cube(), TimeStepping(H, solver=lcp.Lemke(), adaptive=True), steps=50, contacts=counted)
    assert np.array_equal(adaptive.q, inside.q)
    assert len(calls) == 100


def test_contacts_between_bodies_exchange_momentum():
    """Two balls that nothing else lets meet: restitution 0.5 along the normal, momentum kept."""
    builder = WorldBuilder((0, 0, 0), body_contacts=False)
    ball = RigidInertia.solid_sphere(1.0, 0.1)
    for name, x, speed in (("left", -0.1, 1.0), ("right", 0.1001, 0.0)):
        builder.add_free_body(name, ball, Sphere(0.1), FLOOR, (x, 0, 0, 1, 0, 0, 0), (speed, 0, 0, 0, 0, 0))
    world = builder.build()

    def touching(_time, q, _v):
        a, b = q[:3], q[7:10]
        gap = float(np.linalg.norm(b - a)) - 0.2
        return [ExternalContact("left", "right", 0.5 * (a + b), b - a, gap, Material(0.0, 0.5))]

    run = simulate(world, TimeStepping(H), steps=5, contacts=touching)
    assert run.v[-1, 0] == pytest.approx(0.25, abs=1e-12)
    assert run.v[-1, 6] == pytest.approx(0.75, abs=1e-12)
    assert verify(run).holds


@pytest.mark.parametrize(
    ("contacts", "field", "match"),
    [
        ([1], "contacts", "must be a function"),
        (lambda t, q, v: [1], "contacts at time 0", "ExternalContact"),
        (lambda t, q, v: [ExternalContact("world", "moon", (0, 0, 0), (0, 0, 1), 0.0, 0.5)], "contacts", "'moon'"),
        (lambda t, q, v: [ExternalContact("cube", "cube", (0, 0, 0), (0, 0, 1), 0.0, 0.5)], "contacts", "cannot move"),
        (lambda t, q, v: [ExternalContact("world", "world", (0, 0, 0), (0, 0, 1), 0.0, 0)], "contacts", "cannot move"),
        (
            lambda t, q, v: [ExternalContact("world", "cube", (0, 0, 0), (0, 0, 1), 0.0, 0.5, id=4)] * 2,
            "contacts",
            "id 4 is there twice",
        ),
    ],
)
def test_what_cannot_be_used_is_named(contacts, field, match):
    """The function's result is checked in every step."""
    with pytest.raises(SimulationConfigError, match=match) as caught:
        simulate(cube(), TimeStepping(H), steps=1, contacts=contacts)
    assert caught.value.field.startswith(field)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"body_a": 3}, "body_a"),
        ({"normal": (0, 0, 0)}, "normal"),
        ({"gap": np.nan}, "gap"),
        ({"point": (0, 0)}, "point"),
        ({"material": -1.0}, "mu"),
        ({"id": -1}, "id"),
        ({"id": 1 << 62}, "id"),
        ({"id": 0.5}, "id"),
    ],
)
def test_a_contact_is_checked_where_it_is_made(change, field):
    """Every field, by name."""
    good = dict(body_a="world", body_b="cube", point=(0, 0, 0), normal=(0, 0, 1), gap=0.0, material=0.5)
    ExternalContact(**good)
    assert_fields(
        SimulationConfigError,
        (field, lambda: ExternalContact(**{**good, **change})),
    )


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
def run_on_mesh():
    """Both bodies on the mesh."""
    return simulate(sliding(True), STEPPER, steps=400)


def test_steps_on_meshes_are_posed_again_and_verified(run_on_mesh, tmp_path):
    """The public path gives the recorded bits, from a file as well; every condition holds; restarts give the bits."""
    assert check_public_path(run_on_mesh, every=60) > 8
    report = verify(run_on_mesh, every=25)
    assert report.holds, str(report)
    run_on_mesh.save(tmp_path / "mesh.npz")
    opened = Recording.open(tmp_path / "mesh.npz")
    assert np.array_equal(opened.world.surfaces[0].shape.triangles, flat().triangles)
    rest = simulate(opened.world, STEPPER, steps=10, state=opened.state(200))
    assert np.array_equal(rest.q, run_on_mesh.q[200:211])
    assert run_on_mesh.warm_start_solves[100:300].sum() > 150


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
    """They are refused by name, with the reason."""
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
