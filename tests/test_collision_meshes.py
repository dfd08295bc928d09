"""Contacts of triangle meshes against planes, hulls and coal; hulls of mesh files and their cache."""

import os
import stat

import numpy as np
import pytest
from collada_texts import collada
from mesh_shapes import flat, hull, notched_block, terrain

from contactlab.collision import (
    Box,
    Capsule,
    ContactError,
    ConvexPoints,
    Cylinder,
    Mesh,
    PlacedShape,
    Sphere,
    load_hull,
    load_mesh,
)
from contactlab.collision.detection import collide
from contactlab.collision.shapes.convex_points import coarse_hull
from contactlab.multibody.spatial import Transform

CUBE = Box.cube(0.1)
LYING = Transform.rotation((0, 1, 0), np.pi / 2)
BODIES = {
    "sphere": (Sphere(0.1), 0.1, 1),
    "capsule": (PlacedShape(Capsule(0.05, 0.2), LYING), 0.05, 2),
    "box": (CUBE, 0.1, 4),
    "cylinder": (Cylinder(0.1, 0.1), 0.1, 8),
    "hull": (ConvexPoints(CUBE.support_points()[0]), 0.1, 4),
}


@pytest.fixture(scope="module")
def floor():
    """The plane z = 0 in triangles of 0.1 m."""
    return flat()


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("gap", [-1e-6, 0.0, 2e-4])
def test_a_flat_mesh_is_a_plane(floor, body, gap):
    """Every body has the contacts of its outline alone, with the plane's normal and gap, wherever it stands."""
    shape, height, count = BODIES[body]
    for x, y, angle in ((0.013, 0.02, 0.0), (0.1, -0.2, 0.3), (0.05, 0.0, np.pi / 4)):
        pose = Transform(p=(x, y, height + gap)) @ Transform.rotation((0, 0, 1), angle)
        found = collide(floor, Transform(), shape, pose, margin=1e-3)
        assert len(found) == count
        for contact in found:
            assert contact.normal == pytest.approx((0, 0, 1), abs=1e-9)
            assert contact.gap == pytest.approx(gap, abs=1e-12)
        assert np.mean([c.point for c in found], axis=0)[:2] == pytest.approx((x, y), abs=1e-9)
        assert len({c.feature for c in found}) == len(found)


def test_features_last_while_a_body_slides(floor):
    """A sliding box and ball keep their features over many triangles, and never meet an inner edge."""
    for shape, height in ((CUBE, 0.1), (Sphere(0.1), 0.1)):
        names = set()
        for x in np.linspace(-0.5, 0.5, 101):
            found = collide(
                floor, Transform(), shape, Transform(p=(x + 0.0037, 0.31 * x + 0.0021, height - 1e-7)), margin=1e-3
            )
            assert all(abs(c.normal[2] - 1.0) < 1e-12 for c in found)
            names.add(tuple(c.feature for c in found))
        assert len(names) == 1


def test_ridge_and_valley():
    """A box rests on a ridge with two points; a ball in a valley touches both sides, at the distance of either."""
    ridge = terrain(10, 1.0, lambda x, y: -np.abs(x))
    found = collide(ridge, Transform(), CUBE, Transform(p=(0.013, 0.02, 0.1 - 1e-6)), margin=1e-3)
    assert sorted(c.point[1] for c in found) == pytest.approx([-0.08, 0.12], abs=1e-9)
    assert all(c.normal == pytest.approx((0, 0, 1), abs=1e-9) for c in found)
    valley = terrain(10, 1.0, lambda x, y: np.abs(x))
    high = 0.1 * np.sqrt(2.0) + 1e-4
    found = collide(valley, Transform(), Sphere(0.1), Transform(p=(0.0, 0.03, high)), margin=1e-3)
    assert [c.gap for c in found] == pytest.approx([1e-4 / np.sqrt(2.0)] * 2, abs=1e-12)
    assert sum(c.normal for c in found) == pytest.approx((0, 0, np.sqrt(2.0)), abs=1e-9)


def test_a_step_has_a_tread_and_a_riser():
    """A box in the corner of a notched block touches both with a face; beside the block nothing is touched."""
    block = notched_block()
    assert not block.convex
    pose = Transform(p=(0.1 + 1e-5, 0.0, 0.6 + 2e-5))
    found = collide(block, Transform(), CUBE, pose, margin=1e-3)
    up = [c for c in found if c.normal[2] > 0.9]
    out = [c for c in found if c.normal[0] > 0.9]
    assert len(up) == len(out) == 4
    assert len(found) == 8
    assert [c.gap for c in up] == pytest.approx([2e-5] * 4, abs=1e-9)
    assert [c.gap for c in out] == pytest.approx([1e-5] * 4, abs=1e-9)
    assert collide(block, Transform(), CUBE, Transform(p=(0.3, 0.0, 0.8)), margin=1e-3) == ()
    # On the upper edge the wall below adds no contact.
    over = collide(block, Transform(), CUBE, Transform(p=(0.0, 0.0, 1.1 - 1e-6)), margin=1e-3)
    assert all(c.normal == pytest.approx((0, 0, 1), abs=1e-6) for c in over)
    assert [c.gap for c in over] == pytest.approx([-1e-6] * len(over), abs=1e-9)


def test_a_convex_mesh_is_its_hull():
    """The same contacts, to the bit, as the hull's; a mesh with a hole or a notch is none."""
    points = np.random.default_rng(3).normal(size=(30, 3))
    mesh = hull(points)
    assert mesh.convex
    corners = ConvexPoints(mesh.support_points()[0])
    top = float(points[:, 2].max())
    pose = Transform(p=(*points[points[:, 2].argmax(), :2], top + 0.1))
    one, other = (collide(shape, Transform(), CUBE, pose, margin=1e-3) for shape in (mesh, corners))
    assert [(*c.point, *c.normal, c.gap, c.feature) for c in one] == [
        (*c.point, *c.normal, c.gap, c.feature) for c in other
    ]
    assert one
    assert not Mesh(mesh.vertices, mesh.triangles[1:]).convex


def test_gaps_agree_with_coal():
    """Over waves, the smallest gap of a ball, a box and a hull is coal's distance."""
    coal = pytest.importorskip("coal")
    assert coal
    from contactlab.collision.detection import distance

    waves = terrain(24, 1.0, lambda x, y: 0.1 * np.sin(4.0 * x) * np.cos(3.0 * y))
    rng = np.random.default_rng(5)
    dome = rng.normal(size=(12, 3))
    dome *= 0.15 / np.linalg.norm(dome, axis=1)[:, None]
    compared = 0
    for _ in range(120):
        for shape in (Sphere(0.1), Box((0.1, 0.06, 0.15)), ConvexPoints(dome)):
            turn = Transform.rotation(rng.normal(size=3), rng.uniform(0, 3))
            pose = Transform(turn.R, (*rng.uniform(-0.6, 0.6, 2), rng.uniform(0.1, 0.35)))
            by_coal = distance(waves, Transform(), shape, pose)
            if not 1e-4 < by_coal.gap < 0.05:
                continue
            found = collide(waves, Transform(), shape, pose, margin=0.06)
            assert min(c.gap for c in found) == pytest.approx(by_coal.gap, abs=2e-6)
            compared += 1
    assert compared > 60


def test_meshes_move_and_turn():
    """A mesh at a given pose, as either argument, gives the same contacts in its frame."""
    block = notched_block()
    turn = Transform.rotation((1, 2, 3), 0.7)
    frame = Transform(turn.R, (0.3, -0.2, 0.5))
    pose = Transform(p=(0.1 + 1e-5, 0.0, 0.6 + 2e-5))
    still = collide(block, Transform(), CUBE, pose, margin=1e-3)
    moved = collide(CUBE, frame @ pose, PlacedShape(block, Transform()), frame, margin=1e-3)
    assert [c.gap for c in moved] == pytest.approx([c.gap for c in still], abs=1e-9)
    for a, b in zip(still, moved, strict=True):
        assert b.point == pytest.approx(frame.apply(a.point), abs=1e-9)
        assert b.normal == pytest.approx(-frame.R @ a.normal, abs=1e-9)


def test_a_mesh_without_area_is_refused():
    """Degenerate triangles are skipped; if there are no others an error reports it."""
    with pytest.raises(ContactError, match="no area"):
        collide(Mesh(np.zeros((3, 3)), [[0, 1, 2]]), Transform(), CUBE, Transform())


CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return a separate folder of kernels, with the folder of hulls in it."""
    import lcp.compiler.cache

    (tmp_path / "cache" / "kernels").mkdir(parents=True)
    monkeypatch.setattr(lcp.compiler.cache, "cache_folder", lambda: str(tmp_path / "cache" / "kernels"))
    return tmp_path / "cache" / "kernels" / "hulls"


@pytest.fixture
def part(tmp_path):
    """A tetrahedron in COLLADA."""
    pytest.importorskip("collada")
    (tmp_path / "part.dae").write_text(collada())
    return tmp_path / "part.dae"


def same(points, wanted):
    """Return True if two sets of points are equal in any order; COLLADA is read in single precision."""
    return np.array_equal(np.unique(np.round(points, 5), axis=0), np.unique(np.round(wanted, 5), axis=0))


@pytest.mark.parametrize("up", ["X_UP", "Y_UP", "Z_UP"])
def test_the_unit_counts_and_the_up_axis_does_not(part, up):
    """Centimetres become metres; axes stay, and the triangles look outwards."""
    part.write_text(collada(unit='<unit name="centimeter" meter="0.01"/>', up=up))
    mesh = load_mesh(part, scale=(1.0, 2.0, 1.0))
    assert same(mesh.vertices, 0.01 * CORNERS * (1, 2, 1))
    assert mesh.convex


def test_nodes_place_what_they_hold(part):
    """Nodes within nodes, and the same part twice."""
    inner = '<node><translate>1 0 0</translate><instance_geometry url="#g"/></node>'
    turned = f"<node><rotate>0 0 1 90</rotate>{inner}</node>"
    part.write_text(collada(nodes=turned + '<node><instance_geometry url="#g"/></node>'))
    first, second = load_mesh(part).vertices.reshape(2, -1, 3)
    placed = (CORNERS + (1, 0, 0)) @ np.array([(0, 1, 0), (-1, 0, 0), (0, 0, 1)])
    assert same(first, placed)
    assert same(second, CORNERS)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (collada(head='<!DOCTYPE a [<!ENTITY b "c">]>'), "DOCTYPE"),
        (collada(head='<!DOCTYPE a SYSTEM "http://localhost/a.dtd">'), "DOCTYPE"),
        (collada().replace("utf-8", "utf-7"), "encoding"),
        (collada(nodes="<node>" * 100 + "</node>" * 100), "deep"),
        (collada()[:-30], "not well formed"),
        (collada(nodes=""), "no triangle"),
        (collada(nodes='<node><instance_geometry url="#other"/></node>'), "other"),
        (collada(nodes='<node><instance_geometry url="file:///etc/passwd"/></node>'), "part.dae"),
        (collada(unit='<unit meter="-1"/>'), "unit"),
        (collada().replace("triangles", "tristrips"), "tristrips"),
        (collada().replace("0 2 1", "0 2 99"), "part.dae"),
        ("<html/>", "must be <COLLADA>"),
    ],
)
def test_collada_that_cannot_be_trusted_is_refused(part, text, match):
    """Before a reader sees it, or with the reader's reason; one kind of error."""
    part.write_text(text)
    with pytest.raises(ContactError, match=match) as caught:
        load_hull(part)
    assert caught.value.field == "path"


def test_nodes_that_multiply_are_stopped(part):
    """Ten nodes that each stand ten times for the next are 10^10 parts."""
    levels = [
        f'<node id="n{i}">' + (f'<instance_node url="#n{i + 1}"/>' * 10 if i < 9 else "") + "</node>" for i in range(10)
    ]
    library = f"<library_nodes>{''.join(reversed(levels))}</library_nodes><library_visual_scenes>"
    text = collada(nodes='<node><instance_node url="#n0"/></node>').replace("<library_visual_scenes>", library)
    part.write_text(text)
    with pytest.raises(ContactError, match="nodes in the scene"):
        load_mesh(part)


def test_a_hull_is_computed_once(part, cache, monkeypatch):
    """The second time it comes from disk, the same to the bit; another scale or content is another hull."""
    first = load_hull(part)
    assert same(first.points, CORNERS)
    assert len(list(cache.iterdir())) == 1
    with monkeypatch.context() as patch:
        patch.setattr("contactlab.collision.mesh_files._parse", None)
        (part.parent / "copy.dae").write_bytes(part.read_bytes())
        assert np.array_equal(load_hull(part.parent / "copy.dae").points, first.points)
    assert same(load_hull(part, scale=(2.0, 1.0, 1.0)).points, CORNERS * (2, 1, 1))
    part.write_text(collada(points="0 0 0 3 0 0 0 3 0 0 0 3"))
    assert same(load_hull(part).points, 3.0 * CORNERS)
    assert len(list(cache.iterdir())) == 3


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: b"",
        lambda entry: entry[:-8],
        lambda entry: entry[:40] + b"\0" + entry[41:],
        lambda entry: entry + bytes(10**6),
        lambda entry: np.full(6, np.nan).tobytes(),
    ],
)
def test_a_damaged_cache_is_computed_again(part, cache, damage):
    """The hull is computed again without a message, and the cache repaired."""
    load_hull(part)
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert same(load_hull(part).points, CORNERS)
    assert entry.read_bytes() == whole


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
def test_hulls_are_this_users_alone(part, cache):
    """Where others may write beside the kernels, they could leave another shape under the file's name."""
    cache.parent.parent.chmod(0o777)
    load_hull(part)
    assert [entry.is_relative_to(cache.parent) for entry in cache.parent.parent.rglob("*")] == [True] * 3
    assert not stat.S_IMODE(cache.stat().st_mode) & 0o077


@pytest.mark.parametrize("points", [np.zeros((4, 3)), np.outer(np.arange(5.0), (1, 2, 3))])
def test_what_bounds_nothing_is_named(points):
    """Coincident points, and points in a line, raise as the hull of a mesh, with alternatives."""
    with pytest.raises(ContactError, match="coincide or lie in a line.*go without") as caught:
        coarse_hull(points)
    assert caught.value.field == "points"


def test_a_plate_is_a_hull_of_two_faces():
    """A flat mesh is accepted."""
    square = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0.5, 0.5, 0)], dtype=float)
    assert len(coarse_hull(square).points) == 4


def test_round_ends_keep_no_more_corners_than_a_face_can_have():
    """A rod of 200 sides: its hull is one that the kernels take."""
    angle = np.arange(200) * 2.0 * np.pi / 200
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(200)], axis=1)
    with pytest.raises(ContactError, match="corners"):
        ConvexPoints(np.concatenate([ring, ring + (0, 0, 1)])).pack()
    rod = coarse_hull(np.concatenate([ring, ring + (0, 0, 1)]))
    rod.pack()
    assert hull(rod.points).convex
