"""Untrusted robot descriptions: harmful content is refused, quickly."""

import gc
import time
from pathlib import Path

import pytest
from urdf_texts import link, robot

from contactlab.multibody import UrdfError, load_urdf
from contactlab.multibody.urdf.reading import MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS

# Refusing has to cost about as much as reading what is refused; generous, for busy machines.
QUICK = 5.0


def refused_quickly(given, words, **options):
    # The time is this thread's, and without collections, which would walk over all that tests before have left.
    gc.disable()
    try:
        begun = time.thread_time()
        with pytest.raises(UrdfError, match=words) as caught:
            load_urdf(given, **options)
        assert time.thread_time() - begun < QUICK
    finally:
        gc.enable()
    assert len(str(caught.value)) < 1000
    return caught.value


def test_entities_that_expand_without_end_are_refused():
    """A billion laughs: the DOCTYPE is the end of it."""
    entities = "".join(f"<!ENTITY l{i} '{f'&l{i - 1};' * 10}'>" for i in range(1, 10))
    text = f"<?xml version='1.0'?>\n<!DOCTYPE robot [<!ENTITY l0 'lol'>{entities}]>\n<robot name='&l9;'/>"
    assert refused_quickly(text, "DOCTYPE").line == 2


def test_external_entities_and_document_types_are_refused(tmp_path):
    """Nothing outside the text is read, and its content does not appear in the error."""
    secret = tmp_path / "secret"
    secret.write_text("<link name='hidden'/>", encoding="utf-8")
    for doctype in (
        f"<!DOCTYPE robot [<!ENTITY x SYSTEM '{secret.as_uri()}'>]>",
        f"<!DOCTYPE robot SYSTEM '{secret.as_uri()}'>",
        f"<!DOCTYPE robot [<!ENTITY % x SYSTEM '{secret.as_uri()}'> %x;]>",
    ):
        assert "hidden" not in str(refused_quickly(f"{doctype}<robot name='r'>&x;</robot>", "DOCTYPE"))
    refused_quickly("<robot name='r'>&x;</robot>", "undefined entity")


def test_huge_descriptions_are_refused(tmp_path):
    """Bytes of texts and files are limited, and the number of elements, kept or not; a device is not a file."""
    refused_quickly("<robot>" + " " * MAX_BYTES + "</robot>", "larger than 16 MiB")
    file = tmp_path / "huge.urdf"
    with file.open("wb") as out:
        out.truncate(40 * MAX_BYTES)
    refused_quickly(file, "larger than 16 MiB")
    for tag in ("link", "other"):
        refused_quickly(f"<robot>{f'<{tag}/>' * MAX_ELEMENTS}</robot>", "more than 100000 elements")
    if Path("/dev/zero").exists():
        refused_quickly("/dev/zero", "not a regular file")


@pytest.mark.parametrize("tag", ["link", "gazebo"])
def test_deep_nesting_is_refused(tag):
    """Inside elements that are kept and inside those that are skipped."""
    deep = 50_000
    refused_quickly("<robot>" + f"<{tag}>" * deep + f"</{tag}>" * deep + "</robot>", f"more than {MAX_DEPTH} deep")


def test_other_encodings_are_refused(tmp_path):
    """A declared encoding is not looked up among the interpreter's codecs."""
    file = tmp_path / "r.urdf"
    file.write_bytes(b"<?xml version='1.0' encoding='utf-7'?><robot/>")
    refused_quickly(file, "declares the encoding 'utf-7'")
    file.write_bytes(b"<robot name='\xff'/>")
    refused_quickly(file, "not well formed")
    refused_quickly("<robot name='\ud800'/>", "not well formed")


def mesh(uri):
    return robot(link("a", f"<visual><geometry><mesh filename='{uri}'/></geometry></visual>"))


@pytest.mark.parametrize(
    "uri",
    [
        "/etc/passwd",
        "file:///etc/passwd",
        "file://meshes/a.stl",
        "C:\\secret.stl",
        "c:/secret.stl",
        "\\\\host\\share\\a.stl",
        "../secret.stl",
        "meshes/../../secret.stl",
        "..\\secret.stl",
        "package://pkg/../../secret.stl",
        "package://../secret.stl",
        "package:///../secret.stl",
        "package://pkg/..\\..\\secret.stl",
        "package://pkg",
        "package://",
        "package://./a.stl",
    ],
)
def test_a_mesh_outside_the_folders_is_refused(tmp_path, uri):
    """Absolute or climbing, as text or as a file, with package roots or without, existing or not."""
    (tmp_path / "secret.stl").touch()
    inside = tmp_path / "roots" / "pkg"
    inside.mkdir(parents=True)
    file = inside / "r.urdf"
    file.write_text(mesh(uri), encoding="utf-8")
    words = "absolute|own choosing|leads out|names no package"
    refused_quickly(file, words)
    refused_quickly(file, words, package_roots={"pkg": inside})
    refused_quickly(mesh(uri), words, package_roots=[inside.parent])
    refused_quickly(mesh(uri), words)


def test_a_link_in_the_file_system_that_leads_out_is_refused(tmp_path):
    """Comparing names would not notice."""
    (tmp_path / "secret.stl").touch()
    inside = tmp_path / "pkg"
    inside.mkdir()
    try:
        (inside / "a.stl").symlink_to(tmp_path / "secret.stl")
        (inside / "up").symlink_to(tmp_path, target_is_directory=True)
        (inside / "round").symlink_to(inside / "round")
    except OSError:
        pytest.skip("no symbolic links here")
    for uri in ("package://pkg/a.stl", "package://pkg/up/secret.stl"):
        refused_quickly(mesh(uri), "leads out", package_roots={"pkg": inside})
    assert load_urdf(mesh("package://pkg/round"), package_roots={"pkg": inside}).visuals[0].shape.path is None


def test_meshes_are_found_in_the_folders_given(tmp_path):
    """Beside the description, in a named package, or in a package below a root; elsewhere nothing is found."""
    folder = tmp_path / "share" / "pkg" / "meshes"
    folder.mkdir(parents=True)
    (folder / "a.stl").touch()
    found = (folder / "a.stl").resolve()

    def path(given, roots=None):
        return load_urdf(given, package_roots=roots).visuals[0].shape.path

    file = folder.parent / "r.urdf"
    file.write_text(mesh("meshes/a.stl"), encoding="utf-8")
    assert path(file) == path(str(file)) == found
    in_package = mesh("package://pkg/meshes/a.stl")
    share = tmp_path / "share"
    for roots in ({"pkg": share / "pkg"}, [tmp_path, share], share, str(share), iter([share])):
        assert path(in_package, roots) == found
    assert path(mesh("package:///pkg/meshes/a.stl"), share) == found
    for given, roots in ((in_package, None), (in_package, {"other": share}), (mesh("meshes/a.stl"), share)):
        assert path(given, roots) is None
    for uri in ("model://pkg/a.stl", "http://localhost/a.stl", "package://pkg/" + "a" * 500 + ".stl"):
        assert path(mesh(uri), share) is None
    file.write_text(mesh("../pkg/meshes/a.stl"), encoding="utf-8")
    assert path(file) == found
    lower = folder / "r.urdf"
    lower.write_text(mesh("../meshes/a.stl"), encoding="utf-8")
    assert path(lower, {"pkg": folder.parent}) == found
    with pytest.raises(UrdfError, match="is not a folder"):
        path(in_package, {"pkg": tmp_path / "nowhere"})
