"""Small worlds whose steps are differentiated, and comparisons of their derivatives with differences."""

import joint_scenes
import numpy as np
from step_differences import Steps

from contactlab.derivatives import linearize, parameter
from contactlab.multibody import difference
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    ModelBuilder,
    RigidInertia,
    Simulation,
    Sphere,
    WorldBuilder,
    joints,
)

H, G = 2e-3, 9.81

HALF = (0.1, 0.1, 0.1)
TOLERANCE = {"pyramid": 1e-6, "cone": 1e-5}
# In settled boxes on cones differences of 1e-7 and less differ from those of 1e-6 by 5e-4: the step answers so small a
# change with the forces before it.
TOLERANCES = {("boxes", "cone"): 1e-4, ("capsules", "cone"): 1e-5}


def scaled(found, expected):
    """The largest error, relative for entries above 1."""
    return float((np.abs(found - expected) / np.maximum(1.0, np.abs(expected))).max(initial=0.0))


def differences(world, stepper, state, targets=None, tau=None, step=1e-6):
    """A by centred differences of this step."""
    ahead, behind = Steps(world, stepper, 1).sides(state, np.eye(2 * world.nv), tau, targets, step=step)
    return 0.5 * (ahead + behind).T


def assert_agrees(world, stepper, state, targets=None, tau=None, *, steps=(1e-6, 1e-7), tolerance=1e-6):
    """A, B and targets agree with centred differences, A with differences of one of these steps."""
    found = linearize(world, stepper, state, tau, targets)
    errors = {}
    for step in steps:
        errors[step] = scaled(found.A, differences(world, stepper, state, targets, tau, step))
        if errors[step] < tolerance:
            break
    assert min(errors.values()) < tolerance, errors
    B, by_targets = Steps(world, stepper, 1).by_controls(state, tau, targets)
    assert scaled(found.B, B) < tolerance
    assert scaled(found.targets, by_targets) < tolerance
    return found


def stepped(world, stepper, state, targets=None):
    """The state after a step."""
    run = Simulation(world, stepper, state)
    run.step(targets=targets)
    return run.q.copy(), run.v.copy()


def slope(world, stepper, state, one, targets=None, way=None, sides=(1, -1)):
    """The column of a parameter by differences of worlds, on the given sides."""
    way = way or 1e-5 * one.scale
    ends = [stepped(one.world(one.value + side * way), stepper, state, targets) for side in sides]
    change = np.concatenate((difference(world.model, ends[1][0], ends[0][0]), ends[0][1] - ends[1][1]))
    return change / ((sides[0] - sides[1]) * way)


def assert_parameters_agree(world, stepper, state, wrt, targets=None, *, tolerance=1e-6):
    """Every column agrees with differences of worlds, in the unit of its scale."""
    found = linearize(world, stepper, state, None, targets, wrt)
    assert list(found.parameters) == [one if isinstance(one, str) else one.name for one in wrt]
    for one in wrt:
        one = parameter(world, one) if isinstance(one, str) else one
        expected = slope(world, stepper, state, one, targets) * one.scale
        assert scaled(found.parameters[one.name] * one.scale, expected) < tolerance, one.name
    return found


def whys(linear, row=False):
    """Return reason and contact or row of all kinks at the state."""
    return {(kink.reason, kink.row if row else kink.contact) for kink in linear.kinks if kink.state_distance <= 1e-6}


def assert_one_sided(world, stepper, state, directions, targets=None, tau=None, *, step=1e-8, tolerance=1e-5):
    """`directional` agrees with differences to one side."""
    found = linearize(world, stepper, state, tau, targets)
    assert not found.unique
    ahead, _ = Steps(world, stepper, 1).sides(state, np.array(directions, float), tau, targets, step=step)
    for direction, expected in zip(directions, ahead, strict=True):
        assert scaled(found.directional(direction), expected) < tolerance, direction
    return found


def signed(n, *columns):
    """Both directions of each of these columns of n, and some random ones."""
    ways = [sign * np.eye(n)[column] for column in columns for sign in (1.0, -1.0)]
    return [*ways, *np.random.default_rng(1).normal(size=(6, n))]


def later(world, stepper, steps):
    """Return the state after this many steps."""
    run = Simulation(world, stepper)
    for _ in range(steps):
        run.step()
    return run.state


def cube(height=0.0, v=(0, 0, 0, 0, 0, 0), material=None, turn=(1, 0, 0, 0)):
    """A cube of 2 kg above a floor."""
    builder, material = WorldBuilder(), material or Material(0.3)
    builder.add_half_space("floor", HalfSpace(), material)
    turn = np.array(turn) / np.linalg.norm(turn)
    inertia = RigidInertia.solid_box(2.0, HALF)
    builder.add_free_body("cube", inertia, Box(HALF), material, (0, 0, 0.1 + height, *turn), v)
    return builder.build()


def slider(v=(0, 0, 0), *, height=0.0, mu=0.5, restitution=0.0, gravity=-G, planar=False):
    """A ball of 1 kg that cannot turn, above a floor; in a plane with the coordinates x, z."""
    material = Material(mu, restitution)
    gravity = (0, 0, gravity)
    model, mass = ModelBuilder(gravity), RigidInertia(1.0, (0, 0, 0), inertia=np.eye(3))
    joint = joints.TranslationXYZ()
    if planar:
        joint = joints.Composite((joints.Prismatic((1, 0, 0)), joints.Prismatic((0, 0, 1))))
    model.add_body("ball", joint=joint, inertia=mass)
    builder = WorldBuilder(gravity, planar=(0, 1, 0) if planar else None, **joint_scenes.FAST)
    builder.add_model(model.build(), [0, 0.1 + height] if planar else [0, 0, 0.1 + height], list(v))
    builder.add_shape("ball", Sphere(0.1), material)
    builder.add_half_space("floor", HalfSpace(), material)
    return builder.build()
