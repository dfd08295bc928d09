"""The kinematic trees of a world: their bodies in order, and where their velocities stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import BodySpec, Model, ModelBuilder
from contactlab.multibody.model import WORLD
from contactlab.multibody.packing import structure
from contactlab.spatial.arrays import IntArray
from contactlab.world.errors import SimulationConfigError


def with_prefix(body: BodySpec, prefix: str) -> BodySpec:
    """Return a body with a prefix before its name and the name of its parent."""
    parent = body.parent if body.parent == WORLD else prefix + body.parent
    name, joint_name = prefix + body.name, prefix + body.joint_name
    return dataclasses.replace(body, name=name, parent=parent, joint_name=joint_name)


def model_of(specs: Iterable[BodySpec], gravity: ArrayLike) -> Model:
    """Return the model of bodies, in this order."""
    builder = ModelBuilder(gravity)
    for body in specs:
        builder.add_spec(body)
    return builder.build()


def by_trees(specs: list[BodySpec], gravity: ArrayLike) -> list[BodySpec]:
    """Return the bodies in this order where their trees stand together, else sorted, those fixed to the world first."""
    model = model_of(specs, gravity)
    if np.all(np.diff(structure(model).root) >= 0):
        return specs
    # The sort is stable: parents stay before their children.
    return [specs[i] for i in np.argsort(body_trees(model), kind="stable")]


def check_model(model: Model) -> None:
    """Refuse a model that the loop cannot step; a `SimulationConfigError` says why."""
    for body in model.bodies:
        if any(joint is body.joint for joint, _, _ in model.packed.custom):
            detail = f"the joint of {body.name!r} is a custom one, which the compiled loop cannot evaluate"
            raise SimulationConfigError("model", detail)
    root, iv = structure(model).root, structure(model).iv
    apart = np.flatnonzero(np.diff(root) < 0)
    if apart.size:
        dof = int(iv[apart[0] + 1])
        name = next(body.name for body in model.bodies if dof < model.v_slice(body.name).stop)
        detail = f"bodies of one tree must stand together, {name!r} does not; `WorldBuilder.add_model` puts them so"
        raise SimulationConfigError("model", detail)


def first_dofs(model: Model) -> IntArray:
    """Return the first velocity of each tree (nt + 1,), then nv."""
    parent, _, iv, *_ = structure(model)
    return np.append(iv[:-1][parent < 0], model.nv).astype(np.int64)


def body_trees(model: Model) -> IntArray:
    """Tree of each body (nb,), -1 for one that is fixed to the world."""
    parent, root, _, _, _, body_link = structure(model)
    number = np.cumsum(parent < 0) - 1
    return np.array([number[root[link]] if link >= 0 else -1 for link in body_link], dtype=np.int64)
