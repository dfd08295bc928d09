"""The bodies of a world as a model: renamed, and in the order that the kernels take."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import BodySpec, Model, ModelBuilder
from contactlab.multibody.model import WORLD
from contactlab.multibody.structure import structure
from contactlab.stepping.packing import body_trees

__all__ = ["by_trees", "model_of", "renamed"]


def renamed(body: BodySpec, prefix: str) -> BodySpec:
    """Return a body with its name, and that of its parent, behind a prefix."""
    parent = body.parent if body.parent == WORLD else prefix + body.parent
    return dataclasses.replace(body, name=prefix + body.name, parent=parent)


def model_of(specs: Iterable[BodySpec], gravity: ArrayLike) -> Model:
    """Return the model of bodies, in this order."""
    builder = ModelBuilder(gravity)
    for body in specs:
        builder.add_body(
            body.name, parent=body.parent, joint=body.joint, placement=body.placement, inertia=body.inertia
        )
    return builder.build()


def by_trees(specs: list[BodySpec], gravity: ArrayLike) -> list[BodySpec]:
    """Return the bodies in this order where their trees stand together, else sorted, those fixed to the world first."""
    model = model_of(specs, gravity)
    if np.all(np.diff(structure(model).root) >= 0):
        return specs
    # The sort is stable: parents stay before their children.
    return [specs[i] for i in np.argsort(body_trees(model), kind="stable")]
