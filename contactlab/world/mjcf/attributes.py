"""Table of MJCF attributes: supported, without effect here, supported in part, or reported as unsupported.

Attributes of one table row share what becomes of them; those of actuators and of sensors are one row each. What no row
knows is named, too: a release of mujoco may have more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class AttributeSupport(NamedTuple):
    """Attributes of a kind of element, apart by spaces."""

    supported: str = ""
    no_effect: str = ""  # attributes of pictures, of MuJoCo's solver, for the user, or without effect by themselves
    unsupported: str = ""  # on load, unless it has the value behind "="
    partial: str = ""  # looked at in the compiled model: `notes` names the elements of which it is not taken


#: An element as a file has it: the section it is in, "" for one of its own, its tag, its attributes with their values.
Said = tuple[str, str, dict[str, str]]

_WHOLE = """mujoco include compiler size statistic visual asset custom extension deformable default worldbody contact
    keyframe frame replicate composite attach flexcomp edge elasticity pin camera light skin plugin config mesh texture
    material layer"""
#: Sections and elements that are compiled by mujoco, refused before, named as a whole or only seen, whatever they say.
WHOLE = frozenset(_WHOLE.split())
_POSE = "pos quat axisangle euler xyaxes zaxis"
_SOLVER = "solref solimp"

#: By tag; by section of actuators, equalities, sensors and tendons.
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
        "user castshadow fluidshape fluidcoef",  # these two do something in a medium alone
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
        "solreflimit solimplimit solreffriction solimpfriction",  # of what is named where it is there
        partial="geom sidesite divisor frictionloss armature limited range springyield",
    ),
    "actuator": AttributeSupport(
        "name class group joint jointinparent tendon gear ctrllimited forcelimited actlimited ctrlrange forcerange "
        "actrange inheritrange kp kv dampratio timeconst gaintype biastype dyntype gainprm biasprm dynprm area "
        "diameter bias",
        "user lengthrange",
        "actdim=1 actearly=false input ffrange velrange",
        # of actuators that are named as such
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
    """Return attributes of a file that are not read, as "geom margin", each once."""
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
    """Return True if the words of a value are all the one wanted, or numbers equal to it."""
    try:
        return wanted is not None and all(float(word) == float(wanted) for word in value.split())
    except ValueError:
        return value == wanted
