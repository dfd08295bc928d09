"""Random models of every joint, for the tests of what must hold for all of them."""

from typing import Any

import numpy as np

from contactlab.multibody import Model, ModelBuilder, joints, random_configuration
from contactlab.multibody.spatial import RigidInertia, Transform, quaternion

#: Joints that "all" stands for.
ALL = ("revolute", "prismatic", "helical", "screw", "spherical", "euler", "translation", "floating", "composite")


def random_transform(rng: np.random.Generator, size: float = 0.5) -> Transform:
    """A placement anywhere within ``size``, in any orientation."""
    return Transform(quaternion.to_matrix(rng.standard_normal(4)), rng.uniform(-size, size, 3))


def random_inertia(rng: np.random.Generator) -> RigidInertia:
    """A box, turned, off its body's origin."""
    return RigidInertia.solid_box(rng.uniform(0.5, 2.0), rng.uniform(0.05, 0.3, 3)).moved(random_transform(rng, 0.2))


def joint(kind: str, rng: np.random.Generator) -> joints.Joint:
    """One joint of a kind, its axes random."""
    axis = rng.standard_normal(3)
    if kind == "revolute":
        return joints.Revolute(axis if rng.random() < 0.5 else np.eye(3)[rng.integers(3)])
    if kind == "prismatic":
        return joints.Prismatic(axis)
    if kind == "helical":
        return joints.Helical(axis, 0.3)
    if kind == "screw":
        return joints.Screw(axis, rng.standard_normal(3))
    if kind == "composite":
        return joints.Composite([joints.Revolute(axis), joints.Prismatic([1.0, 0.0, 0.0]), joints.Revolute([0, 1, 0])])
    simple: dict[str, Any] = {
        "spherical": joints.Spherical(),
        "euler": (joints.EulerZYX, joints.EulerXYZ, joints.EulerYXZ, joints.EulerZXY)[rng.integers(4)](),
        "translation": joints.TranslationXYZ(),
        "floating": joints.FloatingBase(),
        "fixed": joints.Fixed(),
    }
    found: joints.Joint = simple[kind]
    return found


def random_tree(
    seed: int, bodies: int = 6, kinds: tuple[str, ...] = ALL, *, fixed: bool = True, depth_first: bool = False
) -> Model:
    """``bodies`` moving bodies and, with ``fixed``, one fixed to the world and one to a moving body.

    With ``depth_first``, the bodies beyond each one are added right after it.
    """
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(rng.uniform(-10.0, 10.0, 3))
    names = ["world"]
    if fixed:
        builder.add_body("ground", joint=joints.Fixed(), placement=random_transform(rng), inertia=random_inertia(rng))
        names.append("ground")
    for i in range(bodies):
        at = int(rng.integers(len(names)))
        parent = names[at]
        if depth_first:
            names = names[: at + 1]  # from the world to the parent
        kind = kinds[rng.integers(len(kinds))]
        place, inertia = random_transform(rng), random_inertia(rng)
        builder.add_body(f"b{i}", parent=parent, joint=joint(kind, rng), placement=place, inertia=inertia)
        names.append(f"b{i}")
        if fixed and i == bodies // 2:
            place, inertia = random_transform(rng), random_inertia(rng)
            builder.add_body("tool", parent=f"b{i}", joint=joints.Fixed(), placement=place, inertia=inertia)
            names.append("tool")
    return builder.build()


def state(model: Model, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, v, a."""
    rng = np.random.default_rng(seed)
    return random_configuration(model, rng), rng.uniform(-1.0, 1.0, model.nv), rng.uniform(-1.0, 1.0, model.nv)
