"""Looks of robots: visuals of descriptions are kept, read when drawn, and drawn by all pictures in the same way."""

import dataclasses
import json
import sys

import numpy as np
import pytest
from collada_texts import collada
from refusals import assert_fields

from contactlab.collision import mesh_files
from contactlab.multibody import UrdfWarning, body_poses
from contactlab.simulation import (
    Box,
    Cylinder,
    Material,
    Recording,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    Transform,
    VisualMesh,
    WorldBuilder,
    load_mjcf_world,
    load_urdf_world,
    simulate,
)
from contactlab.simulation.recording.storage import read_meta
from contactlab.view.drawing import SceneGeometry, parts, visual_meshes
from contactlab.view.drawing.parts import BODIES, UNPAINTED

pytest.importorskip("trimesh")

INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>'
RED, BLUE, GREY = (255, 0, 0), (0, 0, 255), (51, 51, 51)
ROBOT = f"""<robot name="r">
<material name="dark"><color rgba="0.2 0.2 0.2 1"/></material>
<link name="trunk">{INERTIAL}
  <visual><geometry><box size="0.4 0.2 0.1"/></geometry>
    <material name="paint"><color rgba="1 0 0 0.5"/></material></visual>
  <visual><geometry><sphere radius="0"/></geometry></visual>
  <collision><geometry><sphere radius="0.25"/></geometry></collision></link>
<link name="fin">{INERTIAL}
  <visual><origin xyz="0 0 0.5"/><geometry><mesh filename="meshes/fin.dae" scale="2 2 2"/></geometry>
    <material name="dark"/></visual>
  <collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<link name="guard">{INERTIAL}<collision><geometry><box size="0.3 0.3 0.3"/></geometry></collision></link>
<link name="wheel">{INERTIAL}<collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="lamp">{INERTIAL}<visual><geometry><cylinder radius="0.1" length="0.2"/></geometry>
    <material name="odd"><color rgba="red"/></material></visual></link>
<joint name="a" type="continuous"><parent link="trunk"/><child link="fin"/><axis xyz="0 1 0"/>
  <origin xyz="0.5 0 0"/></joint>
<joint name="b" type="fixed"><parent link="fin"/><child link="guard"/></joint>
<joint name="c" type="continuous"><parent link="trunk"/><child link="wheel"/><axis xyz="0 1 0"/></joint>
<joint name="d" type="continuous"><parent link="trunk"/><child link="lamp"/><axis xyz="0 1 0"/></joint>
</robot>"""


def painted():
    """A tetrahedron twice, blue and, a metre along x, without a colour."""
    effect = (
        '<library_effects><effect id="e"><profile_COMMON><technique sid="t"><lambert><diffuse><color>0 0 1 1</color>'
        "</diffuse></lambert></technique></profile_COMMON></effect></library_effects>"
        '<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>'
    )
    bound = (
        '<bind_material><technique_common><instance_material symbol="s" target="#m"/></technique_common>'
        "</bind_material>"
    )
    nodes = (
        f'<node><instance_geometry url="#g">{bound}</instance_geometry></node>'
        '<node><translate>1 0 0</translate><instance_geometry url="#g"/></node>'
    )
    text = collada(nodes=nodes).replace("<triangles ", '<triangles material="s" ')
    return text.replace("<library_geometries>", effect + "<library_geometries>")


@pytest.fixture
def robot(tmp_path):
    """The description beside its mesh."""
    pytest.importorskip("collada")
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "fin.dae").write_text(painted())
    (tmp_path / "robot.urdf").write_text(ROBOT)
    return tmp_path / "robot.urdf"


def stage_of(world, **choices):
    return SceneGeometry.of(world, *(poses[None] for poses in body_poses(world.model, world.initial_q)), **choices)


def parts_of(world, name, **choices):
    number = world.model.names.index(name)
    return [part for part in stage_of(world, **choices).parts if part.body == number]


def test_loading_keeps_looks_and_reads_none(robot, monkeypatch):
    """Physics pays nothing: no visual's file is opened before something is drawn."""

    def read(*_):
        raise AssertionError("a mesh is read")

    monkeypatch.setattr(mesh_files, "_parse", read)
    world = load_urdf_world(robot, floating_base=True)
    assert [world.model.names[i] for i in world.visual_bodies] == ["trunk", "fin", "lamp"]
    box, fin, lamp = world.visuals
    assert isinstance(box.shape, Box)
    assert box.rgba == (1.0, 0.0, 0.0, 0.5)
    assert isinstance(fin.shape, VisualMesh)
    assert (fin.shape.name, fin.shape.path, fin.shape.scale) == (
        "meshes/fin.dae",
        robot.parent / "meshes" / "fin.dae",
        (2.0, 2.0, 2.0),
    )
    # By name, as defined at the top; an invalid colour counts as none.
    assert fin.rgba == (0.2, 0.2, 0.2, 1.0)
    assert isinstance(lamp.shape, Cylinder)
    assert lamp.rgba is None
    # Hidden is what its own link, or one fixed to it, stands for.
    shown = {world.model.names[i]: s.visible for i, s in zip(world.surface_bodies, world.surfaces, strict=True)}
    assert shown == {"trunk": False, "fin": False, "guard": False, "wheel": True}
    assert load_urdf_world(robot, floating_base=True, collisions=False).visuals


def test_a_stage_shows_links_as_built(robot):
    """Colours of file and description, at their places; nothing of what is only there to touch."""
    world = load_urdf_world(robot, floating_base=True)
    (trunk,) = parts_of(world, "trunk")
    assert (trunk.color, trunk.opacity) == (RED, 0.5)
    np.testing.assert_allclose(trunk.solid.vertices.max(axis=0), (0.2, 0.1, 0.05))
    fin = {part.color: part.solid for part in parts_of(world, "fin")}
    # A colour of the mesh file precedes the description's colour.
    assert set(fin) == {BLUE, GREY}
    np.testing.assert_allclose(fin[BLUE].vertices.max(axis=0), (2.0, 2.0, 2.5))
    np.testing.assert_allclose(fin[GREY].vertices.min(axis=0), (2.0, 0.0, 0.5))
    # A corner of a tetrahedron has three normals.
    assert fin[BLUE].vertices.shape == (12, 3)
    assert len(parts_of(world, "guard")) == 0
    (wheel,) = parts_of(world, "wheel")
    assert wheel.color == BODIES[world.model.names.index("wheel") % len(BODIES)]
    assert len(parts_of(world, "lamp")) == 1
    assert not stage_of(world).bodies_without_shape


def test_a_mesh_that_cannot_be_read_is_named_and_what_touches_is_drawn(robot):
    """Once for each world; everything else looks as built."""
    (robot.parent / "meshes" / "fin.dae").write_text("no mesh")
    world = load_urdf_world(robot, floating_base=True)
    with pytest.warns(UrdfWarning, match=r"visual meshes not drawn.*fin\.dae") as caught:
        (fin,) = parts_of(world, "fin")
    assert caught[0].filename == __file__
    np.testing.assert_allclose(fin.solid.vertices.max(axis=0), 0.05)
    assert [part.color for part in parts_of(world, "trunk")] == [RED]


def test_visuals_of_ones_own():
    """On any body; checked immediately; a hidden shape is not drawn by default."""
    builder = WorldBuilder()
    builder.add_free_body("ball", RigidInertia.solid_sphere(1.0, 0.1), Sphere(0.1), Material(0.5))
    builder.add_shape("ball", Sphere(0.3), Material(0.5), shown=False)
    triangles = (np.eye(3), np.array([[0, 1, 2]]))
    builder.add_visual("ball", VisualMesh("sail", triangles=triangles), placement=Transform(p=(0, 0, 1)))
    assert_fields(
        SimulationConfigError,
        ("body", lambda: builder.add_visual("bull", Sphere(0.1))),
        ("shape", lambda: builder.add_visual("ball", "ball")),
        ("rgba", lambda: builder.add_visual("ball", Sphere(0.1), rgba=(0.0, 2.0, 0.0, 1.0))),
        ("placement", lambda: builder.add_visual("ball", Sphere(0.1), placement=(0, 0, 0))),
        ("vertices", lambda: VisualMesh("bad", triangles=(np.full((3, 3), np.nan), triangles[1]))),
        ("triangles", lambda: VisualMesh("bad", triangles=(np.eye(3), [[0, 1, 3]]))),
    )
    world = builder.build()
    _, sail = parts_of(world, "ball")
    assert sail.color == UNPAINTED
    np.testing.assert_allclose(sail.solid.vertices.max(axis=0), (1.0, 1.0, 2.0))
    assert [float(p.solid.vertices.max().round(2)) for p in parts_of(world, "ball", collision=True)] == [0.1, 0.3]


def test_fine_meshes_are_drawn_with_fewer_triangles(monkeypatch):
    """About the limit of a page, for any number of repetitions of a mesh; shapes and their round parts remain."""
    pytest.importorskip("fast_simplification")
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=6)
    builder = WorldBuilder()
    mesh = VisualMesh("ball", triangles=(ball.vertices, ball.faces))
    for name in ("one", "two"):
        builder.add_free_body(name, RigidInertia.solid_sphere(1.0, 1.0), Sphere(1.0), Material(0.5))
        builder.add_visual(name, mesh, rgba=(0, 0, 1, 1))
    world = builder.build()
    (one,), (two,) = visual_meshes(world)
    assert len(one.solid.triangles) + len(two.solid.triangles) == pytest.approx(parts.MAX_TRIANGLES, rel=0.02)
    np.testing.assert_allclose(np.linalg.norm(one.solid.vertices, axis=1), 1.0, atol=2e-3)
    assert len(one.solid.vertices) == pytest.approx(0.5 * len(one.solid.triangles), rel=0.02)
    # Meshes that were read remain.
    assert visual_meshes(world)[0][0] is one
    monkeypatch.setitem(sys.modules, "fast_simplification", None)
    again = visual_meshes(dataclasses.replace(world))
    assert sum(len(look.solid.triangles) for (look,) in again) == 2 * len(ball.faces)


def test_records_name_meshes_and_lead_to_none(robot, tmp_path):
    """No place of the machine is in the file; folders to look in are the reader's to name, and are not left."""
    world = load_urdf_world(robot, floating_base=True)
    run = simulate(world, TimeStepping(1e-3), steps=1, path=tmp_path / "run.npz")
    assert run.world.visuals == world.visuals
    meta = read_meta(tmp_path / "run.npz")
    assert str(robot.parent) not in json.dumps(meta)
    opened = Recording.open(tmp_path / "run.npz")
    box, fin, lamp = opened.world.visuals
    assert (box.rgba, fin.rgba, lamp.rgba) == tuple(one.rgba for one in world.visuals)
    assert (fin.shape.name, fin.shape.path, fin.shape.scale) == ("meshes/fin.dae", None, (2.0, 2.0, 2.0))
    assert np.array_equal(fin.placement.p, (0.0, 0.0, 0.5))
    with pytest.warns(UrdfWarning, match="in none of the folders"):
        assert len(parts_of(opened.world, "fin")) == 1
    assert [part.color for part in parts_of(opened.world, "trunk")] == [RED]
    found = Recording.open(tmp_path / "run.npz", mesh_roots=[robot.parent])
    assert {part.color for part in parts_of(found.world, "fin")} == {BLUE, GREY}
    # A record goes on whatever bodies look like by now, and one that leads out of the folder leads nowhere.
    undressed = dataclasses.replace(world, visuals=(), visual_bodies=())
    assert simulate(undressed, TimeStepping(1e-3), steps=2, path=tmp_path / "run.npz", resume=True).n_steps == 2
    (tmp_path / "out.dae").write_text(painted())
    (tmp_path / "in").mkdir()
    for name in (
        "../out.dae",
        str(tmp_path / "out.dae"),
        f"file://{tmp_path}/out.dae",
        "a\0b.dae",
        "package://in/../../out.dae",
    ):
        builder = WorldBuilder()
        builder.add_free_body("x", RigidInertia.solid_sphere(1.0, 0.1), Sphere(0.1), Material(0.5))
        builder.add_visual("x", VisualMesh(name))
        simulate(builder.build(), TimeStepping(1e-3), steps=0).save(tmp_path / "stranger.npz")
        stranger = Recording.open(tmp_path / "stranger.npz", mesh_roots=[tmp_path / "in"])
        assert stranger.world.visuals[0].shape.path is None, name


def colors_sent(monkeypatch):
    """The colours of all meshes that viser is handed."""
    import viser

    colors, add = [], viser.SceneApi.add_mesh_simple

    def note(*args, **options):
        colors.append((options["color"], options.get("opacity")))
        return add(*args, **options)

    monkeypatch.setattr(viser.SceneApi, "add_mesh_simple", note)
    return colors


@pytest.mark.filterwarnings("default")
def test_viewer_replay_and_picture_show_the_same(robot, tmp_path, monkeypatch):
    """Replay, live view, server and pictures show visuals, or collision shapes if ``collision=True``."""
    viewer, plotting = pytest.importorskip("contactlab.view.viewer"), pytest.importorskip("contactlab.view.plotting")
    pytest.importorskip("viser")
    pytest.importorskip("matplotlib")
    world = load_urdf_world(robot, floating_base=True)
    recording = simulate(world, TimeStepping(1e-3), steps=0)
    sent = colors_sent(monkeypatch)
    for collision in (False, True):
        seen = []
        sent.clear()
        viewer.write_html_replay(recording, tmp_path / "a.html", collision=collision)
        seen.append(sent.copy())
        sent.clear()
        viewer.show(recording, port=18751, running=lambda: False, collision=collision)
        seen.append(sent.copy())
        sent.clear()
        with viewer.live(world, port=18761, collision=collision):
            seen.append(sent.copy())
        assert seen[0] == seen[1] == seen[2]
        assert ((RED, 0.5) in seen[0]) is not collision
        assert ((BLUE, None) in seen[0]) is not collision
        figure = plotting.picture(recording, size=(300, 240), collision=collision)
        image = np.asarray(figure.axes[0].images[0].get_array()).astype(int)
        blue = (image[..., 2] > 120) & (image[..., :2].max(axis=2) < 40)
        assert (blue.sum() > 200) is not collision


GEOMS = """<mujoco>
<asset><material name="m" rgba="0 0 1 1"/><mesh name="w" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<worldbody><geom name="floor" type="plane" size="1 1 1"/>
<geom name="step" type="box" size="0.1 0.1 0.1" rgba="1 0 0 1"/>
<body name="a" pos="0 0 1"><freejoint/>
  <geom type="box" size="0.1 0.1 0.1" group="3"/>
  <geom type="mesh" mesh="w" material="m" contype="0" conaffinity="0" group="2"/>
  <geom type="sphere" size="0.05" rgba="1 0 0 0.5"/>
  <geom type="sphere" size="0.02" rgba="1 0 0 0"/>
  <body name="b"><joint/><geom type="capsule" size="0.1 0.2"/></body>
  <body name="c"><joint/><geom type="sphere" size="0.1" group="4"/></body>
</body></worldbody></mujoco>"""


def test_geoms_look_as_in_mujocos_viewer(tmp_path):
    """Groups up to 2, colours of geoms and materials, meshes as they are; the plain and the unseen as they touch."""
    pytest.importorskip("mujoco")
    (tmp_path / "a.xml").write_text(GEOMS)
    world = load_mjcf_world(tmp_path / "a.xml")
    mesh, ball = parts_of(world, "a")[:2]
    assert (mesh.color, ball.color, ball.opacity) == (BLUE, RED, 0.5)
    assert len(parts_of(world, "a")) == 2
    assert mesh.solid.triangles.shape == (4, 3)
    np.testing.assert_allclose(mesh.solid.vertices.max(axis=0) - mesh.solid.vertices.min(axis=0), 1.0, atol=1e-6)
    for name in ("b", "c"):
        (part,) = parts_of(world, name)
        assert part.color == BODIES[world.model.names.index(name) % len(BODIES)]
    assert len(parts_of(world, "a", collision=True)) == 3
    simulate(world, TimeStepping(1e-3), steps=0).save(tmp_path / "run.npz")
    with pytest.warns(UrdfWarning, match="w: is in none"):
        kept = parts_of(Recording.open(tmp_path / "run.npz").world, "a")
    assert RED in {part.color for part in kept}
