"""Models without degrees of freedom, and lists that are ragged or empty."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from trees import random_tree

from contactlab.constraints import (
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    LoopConstraint,
    check_constraint,
    constrained_system,
    forward_dynamics_constraints,
    inverse_dynamics_constraints,
    inverse_dynamics_constraints_relaxed,
    is_fully_actuated,
)
from contactlab.constraints.forward_dynamics import Method
from contactlab.multibody import ModelBuilder, MultibodyError, joints, normalize, random_configuration
from contactlab.spatial import RigidInertia

DOWN = ContactConstraint("post", (0, 0, 1), (0, 0, 1))


def post():
    """A body that is fixed to the world."""
    builder = ModelBuilder()
    return builder.add_body("post", joint=joints.Fixed(), inertia=RigidInertia(1.0, inertia=np.eye(3))).build()


@pytest.mark.parametrize("method", get_args(Method))
def test_a_model_that_cannot_move_does_not(method) -> None:
    """Empty lists are vectors of length 0; rows on what is fixed hold nothing and bear nothing."""
    model = post()
    rows = [DOWN] if method == "kokkevis" else [DOWN, LoopConstraint("post", "world", axis=(0, 0, 0, 1, 0, 0))]
    found = forward_dynamics_constraints(model, [], [], [], ConstraintSet(model, rows), method=method)
    assert found.a.shape == (0,)
    assert not found.forces.any()
    assert (found.rank, found.residual) == (0, 0.0)


def test_a_model_that_cannot_move_has_inverse_dynamics() -> None:
    """System, both inverse dynamics and the check take a model without degrees of freedom."""
    model = post()
    cs = ConstraintSet(model, [DOWN])
    assert constrained_system(model, [], [], [], cs).G.shape == (1, 0)
    for inverse in (inverse_dynamics_constraints, inverse_dynamics_constraints_relaxed):
        assert inverse(model, [], [], [], cs, []).tau.shape == (0,)
    assert check_constraint(model, cs).ok
    assert normalize(model, []).shape == (0,)


def test_ragged_lists_are_named() -> None:
    """A list of lists of different lengths is refused like any other wrong shape."""
    model = random_tree(3)
    q, v, ragged = random_configuration(model, 0), np.zeros(model.nv), [[0.0], [0.0, 0.0]]
    cs = ConstraintSet(model, [ContactConstraint("b1", (0, 0, 0), (0, 0, 1))])
    for field, given in (("q", (ragged, v, v)), ("v", (q, ragged, v)), ("tau", (q, v, ragged))):
        with pytest.raises(MultibodyError) as caught:
            forward_dynamics_constraints(model, *given, cs)
        assert caught.value.field == field
    with pytest.raises(ConstraintError) as refused:
        is_fully_actuated(model, q, cs, ragged)
    assert refused.value.field == "actuated"


def test_one_constraint_is_no_list() -> None:
    """A constraint in place of a list of them is refused by type."""
    with pytest.raises(ConstraintError, match="in a list") as refused:
        ConstraintSet(post(), DOWN)
    assert refused.value.field == "constraints"
