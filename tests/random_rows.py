"""Random contacts, loops and distances on any model."""

import numpy as np
from trees import random_transform

from contactlab.multibody.constraints import ConstraintSet, ContactConstraint, DistanceConstraint, LoopConstraint
from contactlab.simulation import Model


def random_loop(
    model: Model, rng: np.random.Generator, *, sliding: bool = False, pull: float | None = None
) -> LoopConstraint:
    """A loop between any two bodies, fixed ones and the world included."""
    one, two = rng.choice([*model.names, "world"], 2)
    X_p, X_s = random_transform(rng), random_transform(rng)
    return LoopConstraint(str(one), str(two), X_p, X_s, rng.standard_normal(6), sliding=sliding, baumgarte=pull)


def random_contact(model: Model, rng: np.random.Generator) -> ContactConstraint:
    """A point of any body, along any direction."""
    n = rng.standard_normal(3)
    return ContactConstraint(
        str(rng.choice(model.names)),
        rng.uniform(-1, 1, 3),
        n / np.linalg.norm(n),
        acceleration=float(rng.standard_normal()),
    )


def random_distance(model: Model, rng: np.random.Generator, *, pull: float | None = None) -> DistanceConstraint:
    """A rod between points of any two bodies, the world included."""
    a, b = (str(body) for body in rng.choice([*model.names, "world"], 2, replace=False))
    return DistanceConstraint(a, rng.uniform(-1, 1, 3), b, rng.uniform(-1, 1, 3), rng.uniform(0.5, 2.0), baumgarte=pull)


def random_set(model: Model, rng: np.random.Generator, n: int = 12) -> ConstraintSet:
    """Contacts, loops, sliding loops and distances in any order."""
    makers = (random_contact, random_loop, lambda m, r: random_loop(m, r, sliding=True), random_distance)
    return ConstraintSet(model, [makers[rng.integers(4)](model, rng) for _ in range(n)])
