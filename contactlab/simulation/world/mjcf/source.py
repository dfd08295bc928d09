"""A MuJoCo file before it becomes a world: its references, its attributes, and its compiled model.

References are checked before the file is read: no file outside one folder, no plugins, no entities. A table has the
attributes that are supported, without effect here, supported in part, or reported as unsupported. Attributes of one row
are treated in the same way; all actuators have one row, and all sensors another. An attribute without a row is also
reported, because a release of mujoco may have more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from contactlab.multibody.bodies import WORLD
from contactlab.multibody.spatial import Transform, quaternion
from contactlab.multibody.spatial.arrays import FieldError, FloatArray
from contactlab.multibody.urdf.reading import UrdfError, parse
from contactlab.simulation.world.errors import SimulationConfigError
from problem_data.files import read_bytes
from problem_data.validation import FileError


class MjcfError(FieldError, FileError):
    """Error in a MuJoCo file; the field is the element at fault."""


class MjcfContentError(MjcfError, SimulationConfigError):
    """Error in a MuJoCo file that does not describe a valid world."""


class MjcfWarning(UserWarning):
    """Warning of unsupported elements in a MuJoCo file."""


class AttributeSupport(NamedTuple):
    """Attributes of a kind of element, separated by spaces."""

    supported: str = ""
    no_effect: str = ""  # attributes of pictures, of MuJoCo's solver, for the user, or without effect by themselves
    unsupported: str = ""  # reported on load, unless it has the value after "="
    partial: str = ""  # checked in the compiled model: `notes` names the elements with unsupported values


#: An element of a file: its section ("" if it is a section itself), its tag, its attributes with their values.
Said = tuple[str, str, dict[str, str]]

_WHOLE = """mujoco include compiler size statistic visual asset custom extension deformable default worldbody contact
    keyframe frame replicate composite attach flexcomp edge elasticity pin camera light skin plugin config mesh texture
    material layer"""
#: Sections and elements with any attributes: compiled by mujoco, rejected before, reported as a whole, or only for
#: pictures.
WHOLE = frozenset(_WHOLE.split())
_POSE = "pos quat axisangle euler xyaxes zaxis"
_SOLVER = "solref solimp"

#: By tag; actuators, equalities, sensors and tendons by section.
TABLE = {
    "option": AttributeSupport(
        "timestep gravity actuatorgroupdisable",
        "integrator cone jacobian solver iterations tolerance ls_iterations ls_tolerance noslip_iterations magnetic "
        "noslip_tolerance ccd_iterations ccd_tolerance sdf_iterations sdf_initpoints sleep_tolerance impratio",
        partial="density viscosity wind o_margin o_solref o_solimp o_friction",
    ),
    "flag": AttributeSupport(
        "constraint equality frictionloss limit contact passive spring damper gravity clampctrl filterparent actuation "
        "sensor",
        "warmstart refsafe midphase nativeccd eulerdamp autoreset energy fwdinv invdiscrete multiccd island sleep "
        "diagexact ipc speculative",
        partial="override",
    ),
    "body": AttributeSupport(f"name childclass {_POSE} gravcomp", "user sleep fuse simple", partial="mocap"),
    "inertial": AttributeSupport(f"mass diaginertia fullinertia {_POSE}"),
    "freejoint": AttributeSupport("name align", "group"),
    "joint": AttributeSupport(
        "name class type pos axis range limited ref springref stiffness damping springdamper frictionloss armature "
        "actuatorfrcrange actuatorfrclimited",
        "group user",
        "solreflimit solimplimit solreffriction solimpfriction margin=0 springyield=0",
        "actuatorgravcomp",
    ),
    "geom": AttributeSupport(
        f"name class type size fromto {_POSE} mass density shellinertia mesh fitscale hfield contype conaffinity "
        "friction priority group rgba material",
        "user castshadow fluidshape fluidcoef",  # the last two matter only in a medium
        f"{_SOLVER} solmix margin=0 gap=0 adhesion=0 surfacevel=0",
        "condim",
    ),
    "site": AttributeSupport(f"name class type size fromto {_POSE}", "group rgba material user mesh"),
    "pair": AttributeSupport(
        "name class geom1 geom2", "", f"condim friction {_SOLVER} solreffriction margin=0 gap=0 adhesion=0"
    ),
    "exclude": AttributeSupport("name body1 body2"),
    "equality": AttributeSupport(
        "name class active body1 body2 site1 site2 anchor relpose joint1 joint2 polycoef",
        "",
        f"{_SOLVER} torquescale",
        "tendon1 tendon2 flex cell",
    ),
    "tendon": AttributeSupport(
        "name class joint coef site stiffness damping springlength actuatorfrcrange actuatorfrclimited",
        "group width material rgba user margin "
        "solreflimit solimplimit solreffriction solimpfriction",  # elements with these are reported
        partial="geom sidesite divisor frictionloss armature limited range springyield",
    ),
    "actuator": AttributeSupport(
        "name class group joint jointinparent tendon gear ctrllimited forcelimited actlimited ctrlrange forcerange "
        "actrange inheritrange kp kv dampratio timeconst gaintype biastype dyntype gainprm biasprm dynprm area "
        "diameter bias",
        "user lengthrange",
        "actdim=1 actearly=false input ffrange velrange",
        # attributes of actuators that are reported
        "damping armature delay nsample interp site refsite body cranksite slidersite cranklength gain force "
        "scale lmin lmax vmax fpmax fvmax tausmooth range ki imax slewmax posrange controller cogging inductance "
        "lugre motorconst nominal resistance saturation thermal plugin instance",
    ),
    "sensor": AttributeSupport(
        "name site joint objtype objname reftype refname actuator tendon body geom camera mesh body1 body2 "
        "geom1 geom2 subtree1 subtree2 enclosed data num reduce datatype dim needstage plugin instance cutoff",
        "user interp nsample noise",  # noise describes a device; mujoco adds none
        "delay=0 interval=0",
    ),
    "key": AttributeSupport("name time qpos qvel act ctrl", "", "mpos mquat plastic"),
}


def row_of(section: str, tag: str) -> AttributeSupport | None:
    """Return the row of an element in a section: empty for an unknown element, None if it is unsupported as a whole."""
    if section in ("equality", "tendon", "actuator", "sensor") and tag != "config":
        return TABLE[section]
    if tag in WHOLE or (section in WHOLE and section not in ("default", "worldbody", "contact", "keyframe")):
        return None
    return TABLE.get(tag, TABLE["actuator"] if section == "default" else AttributeSupport())


def unknown_attributes(said: Iterable[Said]) -> list[str]:
    """Return the attributes of a file that are not read, as "geom margin", without repetition."""
    found: dict[str, None] = {}
    for section, tag, attributes in said:
        row = row_of(section, tag)
        if row is None:
            continue
        if row == AttributeSupport():
            found[f"<{tag}>"] = None
        quiet = {*row.supported.split(), *row.no_effect.split(), *row.partial.split()}
        harmless = dict(one.split("=") for one in row.unsupported.split() if "=" in one)
        for name, value in attributes.items():
            if name not in quiet and not _is(value, harmless.get(name)):
                found[f"{tag} {name}"] = None
    return list(found)


def _is(value: str, wanted: str | None) -> bool:
    """Return True if all words of a value equal the wanted one, or are numbers equal to it."""
    try:
        return wanted is not None and all(float(word) == float(wanted) for word in value.split())
    except ValueError:
        return value == wanted


FREE, BALL, SLIDE, HINGE = range(4)  # mujoco's mjtJoint
SCALAR = (SLIDE, HINGE)


def mujoco() -> Any:
    """Return the module mujoco, which is imported on first use."""
    import mujoco as module

    return module


def make_pose(position: Any, turn: Any) -> Transform:
    """Return the pose of a position and a quaternion (w, x, y, z)."""
    return Transform(quaternion.to_matrix(np.asarray(turn) / np.linalg.norm(turn)), np.array(position))


def name_in(m: Any, kind: str, i: int) -> str:
    """Return the name of an element by its kind (mujoco's) and number; kind and number if it has none."""
    return mujoco().mj_id2name(m, getattr(mujoco().mjtObj, f"mjOBJ_{kind.upper()}"), i) or f"{kind} {i}"


@dataclass(frozen=True, eq=False)
class Source:
    """A compiled model, the prefix of its names in the world, and the pose of its world there.

    Names are from the file, or kind and number for elements without one; names of bodies and joints have the prefix.
    """

    m: Any
    prefix: str = ""
    pose: Transform = field(default_factory=Transform)

    @cached_property
    def bodies(self) -> list[str]:
        """Names of the bodies by number, in the world; number 0 is the world."""
        return [WORLD, *(self.prefix + name_in(self.m, "body", i) for i in range(1, self.m.nbody))]

    @cached_property
    def joints(self) -> list[str]:
        """Names of the joints by number, as in the file."""
        return [name_in(self.m, "joint", j) for j in range(self.m.njnt)]

    @cached_property
    def moved(self) -> dict[int, str]:
        """The body in the world that each joint moves; each joint but the last of a body has a separate one."""
        m, found = self.m, {}
        for j in range(m.njnt):
            i = int(m.jnt_bodyid[j])
            last = j == m.body_jntadr[i] + m.body_jntnum[i] - 1
            central = m.jnt_type[j] == FREE or not np.any(m.jnt_pos[j])
            found[j] = self.bodies[i] if last and central else f"{self.bodies[i]}/{self.joints[j]}"
        return found

    def handle(self, j: int) -> str:
        """Return the name by which a world builder finds a joint: the joint's name if joints have names."""
        return self.prefix + self.joints[j]

    def is_static(self, i: int) -> bool:
        """Return True if a body is welded to the world, number 0 included."""
        return bool(self.m.body_weldid[i] == 0)

    def static_pose(self, i: int) -> Transform:
        """Return the pose of a body that is welded to the world, in the new world."""
        if i == 0:
            return self.pose
        return self.static_pose(int(self.m.body_parentid[i])) @ make_pose(self.m.body_pos[i], self.m.body_quat[i])

    def is_flag_disabled(self, *flags: str) -> bool:
        """Return True if the file disables any of these attributes of <flag>; ones unknown to this mujoco are False."""
        bits = sum(int(getattr(mujoco().mjtDisableBit, f"mjDSBL_{flag.upper()}", 0)) for flag in flags)
        return bool(int(self.m.opt.disableflags) & bits)

    @property
    def gravity(self) -> FloatArray:
        """(3,) gravity of the file."""
        return np.zeros(3) if self.is_flag_disabled("gravity") else np.array(self.m.opt.gravity)


MAX_BYTES = 16 * 2**20
MAX_FILES = 100
MAX_ELEMENTS, MAX_DEPTH = 10**6, 10**4

# Attributes of <compiler> that name folders, and attributes of any element that name files.
FOLDERS = ("meshdir", "texturedir", "assetdir")
FILES = re.compile(r"file(name|right|left|up|down|front|back)?")
REFUSED = {"plugin": "is a plugin", "extension": "loads plugins", "model": "is another model", "attach": "attaches one"}

_ABSOLUTE = re.compile(r"/|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*://")


def check_references(file: Path, root: Path) -> list[Said]:
    """Raise an `MjcfError` if a file, or one it includes, refers to a file outside ``root``, or loads code.

    Return the contents of the files.
    """
    said = list[Said]()
    pending, seen = [file], dict[Path, set[Path]]()
    parents, folders, named = [file.parent], [("", file)], list[tuple[str, Path]]()
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        if len(seen) == MAX_FILES:
            raise MjcfError("include", f"more than {MAX_FILES} files")
        own_folders, names, includes = _scan(one, said)
        parents.append(one.parent)
        folders += [(folder, one) for folder in own_folders]
        named += [(name, one) for name in names]
        # mujoco searches in the folders of the main file and of the file with the name.
        bases = {file.parent, one.parent}
        found = [path for name in includes for base in bases for path in _check_path(name, root, base, one)]
        seen[one] = {path for path in found if path.is_file()}
        pending += seen[one]
    # mujoco ends the process in some cases if files include one another in a cycle.
    try:
        TopologicalSorter(seen).prepare()
    except CycleError as error:
        circle = " -> ".join(path.name for path in reversed(error.args[1]))
        raise MjcfError("include", f"goes round in a circle: {circle}") from error
    # Folders stated in one file apply to the names in all files.
    for base in set(parents):
        for folder, one in dict.fromkeys(folders):
            _check_path(folder, root, base, one)
            for name, namer in named:
                _check_path(name, root, base / folder, namer)
    return said


def _check_path(name: str, root: Path, base: Path, file: Path) -> set[Path]:
    """Return the paths of a name in a folder, as text, like mujoco, and with links resolved; all in the root."""
    if name.startswith("package:"):
        raise MjcfError(
            "file", f"{file.name}: {name!r} is a URDF file's: `load_urdf_world` and `WorldBuilder.add_urdf` read those"
        )
    if _ABSOLUTE.match(name):
        raise MjcfError("file", f"{file.name}: {name!r} is absolute")
    text = Path(os.path.normpath(base / name))
    try:
        paths = {text, text.resolve(), (base / name).resolve()}
    except (OSError, RuntimeError, ValueError) as error:
        raise MjcfError("file", f"{file.name}: {name!r} is no path ({error})") from error
    for path in paths:
        if not path.is_relative_to(root):
            up = "upwards, " if ".." in name.split("/") else ""
            raise MjcfError("file", f"{file.name}: {name!r} leads {up}out of {root}")
    return paths


def _scan(file: Path, said: list[Said]) -> tuple[list[str], list[str], list[str]]:
    """Return the folders, files and includes named in one file, and collect its contents."""
    folders, names, includes = list[str](), list[str](), list[str]()
    above: list[str] = []

    def start(tag: str, attributes: dict[str, str], depth: int, _line: int) -> None:
        if tag in REFUSED and not (tag == "model" and "file" not in attributes):
            raise MjcfError(tag, f"{file.name}: <{tag}> {REFUSED[tag]}, which is not taken")
        del above[depth:]
        said.append((above[1] if depth > 1 else "", tag, attributes))
        above.append(tag)
        for name, written in attributes.items():
            # mujoco accepts both on any system.
            value = written.replace("\\", "/")
            if tag == "compiler" and name in FOLDERS:
                folders.append(value)
            elif FILES.fullmatch(name):
                (includes if tag == "include" else names).append(value)

    data = read_bytes(file, _refused, MAX_BYTES)
    try:
        parse(data, file.name, start, most_elements=MAX_ELEMENTS, most_depth=MAX_DEPTH)
    except UrdfError as error:
        raise MjcfError("XML", str(error)) from error
    return folders, names, includes


def _refused(file: Path, _: str, detail: str) -> MjcfError:
    return MjcfError("path", f"{file.name} {detail}")
