"""Scenes whose steps are differentiated: a world, its stepper, its actuation, and states along its motion."""

import importlib.util
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import joint_scenes
import numpy as np
from step_differences import moved

from contactlab.simulation import (
    Box,
    Capsule,
    HalfSpace,
    JointLimit,
    Material,
    ModelBuilder,
    PositionDrive,
    RigidInertia,
    Simulation,
    Sphere,
    StepperState,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    joints,
)
from contactlab.simulation.scene import load_scene

Array = np.ndarray
Law = Callable[[float], Array]
EXAMPLES = Path(__file__).parents[1] / "examples"
BOTH = ("pyramid", "cone")


@dataclass(frozen=True)
class Motion:
    """A scene to take states from.

    Parameters
    ----------
    name
        Its name in tables.
    world
        Bodies and surroundings.
    h, steps
        Size of a step [s], and the number of steps.
    targets
        Targets of the drives, (nd,) at each time; None for the world's.
    frictions
        Laws of friction that change its motion.
    first
        The first step whose state is of interest.
    given
        The stepper, except for erp, if it is not the usual one.
    """

    name: str
    world: World
    h: float
    steps: int
    targets: Law | None = None
    frictions: tuple[str, ...] = BOTH
    first: int = 0
    given: TimeStepping | None = None

    def stepper(self, friction: str = "pyramid", erp: float = 1.0) -> TimeStepping:
        """Return the stepper of the scene."""
        if self.given is not None:
            return replace(self.given, erp=erp)
        return TimeStepping(self.h, friction=friction, erp=erp)

    def targets_at(self, time: float) -> Array | None:
        """Return the targets of the drives in the step that begins at a given time."""
        return None if self.targets is None else self.targets(time)

    def run(
        self, stepper: TimeStepping, start: StepperState | None = None
    ) -> Iterator[tuple[StepperState, Simulation]]:
        """Return every state, and the run of the step from it."""
        run = Simulation(self.world, stepper, start)
        for _ in range(self.steps):
            before = run.state
            run.step(targets=self.targets_at(run.time))
            yield before, run

    def states(self, stepper: TimeStepping, count: int) -> Iterator[StepperState]:
        """Return this many states, evenly from the first relevant one to the last, each with the previous forces."""
        wanted = set(np.linspace(self.first, self.steps - 1, count).astype(int).tolist())
        for i, (state, _) in enumerate(self.run(stepper)):
            if i in wanted:
                yield state


def perturbed(world: World, state: StepperState, random: np.random.Generator, q: float, v: float) -> StepperState:
    """Return a nearby state: dq and dv are drawn around 0 with these spreads."""
    return moved(world, state, np.concatenate((q * random.normal(size=world.nv), v * random.normal(size=world.nv))))


def _unit(values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(float(x) for x in np.array(values) / np.linalg.norm(values))


def _example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tumbling_cube() -> Motion:
    """A cube thrown onto a floor, where it tumbles over its edges until it comes to rest."""
    half = (0.05, 0.05, 0.05)
    builder, material = WorldBuilder(), Material(0.2)
    builder.add_half_space("floor", HalfSpace(), material)
    start = (0, 0, 0.4, *_unit((0.9, 0.3, 0.2, 0.1)))
    cube = RigidInertia.solid_box(0.37, half)
    builder.add_free_body("cube", cube, Box(half), material, start, (2.0, 0.3, 0.5, 3.0, 8.0, -4.0))
    return Motion("tumbling cube", builder.build(), 2e-3, 500, first=100)


def trot() -> Motion:
    """A walking quadruped of 14 degrees of freedom, with drives on its joints."""
    example = _example("24_trot")
    return Motion("trot", example.robot(), 2e-3, 400, example.angles)


def quadruped() -> Motion:
    """A quadruped from a file, dropped onto its feet: servos of limited strength, joint limits."""
    scene = load_scene(EXAMPLES / "scenes" / "quadruped.toml")
    return Motion("quadruped", scene.world, 2e-3, 400, first=20)


def plate() -> Motion:
    """A plate with its centre of mass off the middle, dropped on a corner."""
    half = (0.2, 0.15, 0.02)
    box = RigidInertia.solid_box(1.5, half)
    aside = RigidInertia(box.mass, (0.07, -0.04, 0.005), inertia=box.inertia)
    builder, material = WorldBuilder(), Material(0.4)
    builder.add_half_space("floor", HalfSpace(), material)
    start = (0, 0, 0.3, *_unit((0.95, 0.2, -0.15, 0.1)))
    builder.add_free_body("plate", aside, Box(half), material, start, (0.6, 0.2, 0, 1, 2, 3))
    return Motion("plate, centre aside", builder.build(), 2e-3, 500, first=90)


def bouncing_rod() -> Motion:
    """A rod that falls on one end and bounces, e = 0.5."""
    builder, material = WorldBuilder(), Material(0.3, 0.5)
    builder.add_half_space("floor", HalfSpace(), material)
    inertia = RigidInertia.solid_box(1.0, (0.02, 0.02, 0.3))
    start = (0, 0, 0.5, math.cos(0.5), math.sin(0.5), 0, 0)
    builder.add_free_body("rod", inertia, Capsule(0.02, 0.3), material, start, (0.5, 0, -0.5, 0, 1, 0.3))
    return Motion("rod, e = 0.5", builder.build(), 2e-3, 500, first=40)


def two_spheres() -> Motion:
    """A rotating ball on a second one; in the end both lie on the floor."""
    builder, material = WorldBuilder(), Material(0.5)
    builder.add_half_space("floor", HalfSpace(), material)
    ball = RigidInertia.solid_sphere(0.5, 0.1)
    builder.add_free_body("lower", ball, Sphere(0.1), material, (0, 0, 0.1, 1, 0, 0, 0))
    start = (0.03, 0.01, 0.32, 1, 0, 0, 0)
    builder.add_free_body("upper", ball, Sphere(0.1), material, start, (0, 0, -0.5, 2, -3, 5))
    return Motion("two spheres", builder.build(), 2e-3, 300, first=10)


def soft_floor() -> Motion:
    """Return a brick on a floor with a spring and a damper."""
    half = (0.1, 0.08, 0.05)
    builder, material = WorldBuilder(), Material(0.5, stiffness=2e4, dissipation=40.0)
    builder.add_half_space("floor", HalfSpace(), material)
    start = (0, 0, 0.12, *_unit((0.97, 0.15, 0.1, 0.1)))
    brick = RigidInertia.solid_box(2.0, half)
    builder.add_free_body("brick", brick, Box(half), material, start, (0.8, 0.1, -0.5, 0.5, 1, 2))
    return Motion("stiff material", builder.build(), 2e-3, 400, first=5)


def _arm() -> WorldBuilder:
    """An arm of two links that rotate about y, to be completed."""
    model, link = ModelBuilder(), RigidInertia(0.5, (0.2, 0.0, 0.0), inertia=np.diag([1e-3, 8e-3, 8e-3]))
    model.add_body("upper", joint=joints.Revolute((0, 1, 0)), inertia=link)
    place = Transform(p=(0.4, 0, 0))
    model.add_body("lower", parent="upper", joint=joints.Revolute((0, 1, 0)), placement=place, inertia=link)
    builder = WorldBuilder(body_contacts=False)
    builder.add_model(model.build(), [0.2, 0.3], [0.0, 1.0])
    return builder


def stops() -> Motion:
    """Return an arm that falls against its joint limits, one with restitution."""
    builder = _arm()
    builder.add_joint_limit(JointLimit("upper", -1.0, 0.8, restitution=0.4))
    builder.add_joint_limit(JointLimit("lower", -0.2, 0.6))
    return Motion("joint stops", builder.build(), 2e-3, 700, frictions=("pyramid",), first=50)


def bounded_drives() -> Motion:
    """Return an arm whose drives are sometimes too weak for their targets."""
    builder = _arm()
    builder.add_drive(PositionDrive("upper", 0.0, 200.0, 4.0, max_force=5.0))
    builder.add_drive(PositionDrive("lower", 0.0, 50.0, 1.0, max_force=1.5))

    def wanted(time: float) -> Array:
        return np.array([0.4 * math.sin(5.0 * time), 0.8 * math.sin(11.0 * time)])

    return Motion("bounded drives", builder.build(), 2e-3, 700, wanted, ("pyramid",))


def loop() -> Motion:
    """A four-bar linkage, closed by equations, turned by a drive."""
    return Motion("four-bar", joint_scenes.four_bar(speed=2.0), 2e-3, 700, frictions=("pyramid",))


def grasp() -> Motion:
    """A gripped box: lifted, carried and set down."""
    example = _example("18_grasp")
    world = example.gantry_and_box()
    laws = example.targets()
    # In the order of the arrays of targets.
    names = [drive.name for drive in world.joint_actions.drives]
    return Motion("grasp", world, 2e-3, 1400, lambda time: np.array([laws[name](time) for name in names]), first=60)


def _bin(name: str, shape: Sphere | Capsule | Box, count: int, pitch: float, half: float, first: int) -> Motion:
    """Bodies of 1 kg that fall into a bin of this width, in layers, each displaced and tilted a little.

    The first state is at the first impacts: a heap of so many bodies is nearly always at some kink.
    """
    random, builder, material = np.random.default_rng(3), WorldBuilder(), Material(0.5)
    for side, normal in {"floor": (0, 0, 1), "left": (1, 0, 0), "front": (0, 1, 0)}.items():
        builder.add_half_space(side, HalfSpace(normal, 0.0 if side == "floor" else -half), material)
        if side != "floor":
            builder.add_half_space(f"{side}, facing", HalfSpace(tuple(-x for x in normal), -half), material)
    inertia, columns = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1)), int((2.0 * half + 0.02) / pitch)
    for i in range(count):
        layer, place = divmod(i, columns * columns)
        x, y = (pitch * (k - (columns - 1) / 2) for k in divmod(place, columns))
        turn = _unit((1.0, *(0.2 * random.normal(size=3))))
        at = np.array([x, y, pitch * (layer + 0.6)]) + [*(0.01 * random.normal(size=2)), 0.0]
        builder.add_free_body(f"body {i}", inertia, shape, material, (*at, *turn))
    return Motion(name, builder.build(), 2e-3, 300, first=first)


def spheres() -> Motion:
    """Spheres that fall into a bin."""
    return _bin("30 spheres", Sphere(0.1), 30, 0.24, 0.39, 70)


def capsules() -> Motion:
    """Capsules that fall into a bin."""
    return _bin("27 capsules", Capsule(0.05, 0.1), 27, 0.32, 0.6, 52)


def boxes() -> Motion:
    """Boxes that fall into a bin."""
    return _bin("20 boxes", Box.cube(0.1), 20, 0.3, 0.5, 52)


def stack() -> Motion:
    """Equal boxes, one on top of the other."""
    builder, material, half = WorldBuilder(), Material(0.5), (0.1, 0.1, 0.1)
    builder.add_half_space("floor", HalfSpace(), material)
    for i in range(6):
        start = (0, 0, 0.1 + 0.2 * i, 1, 0, 0, 0)
        builder.add_free_body(f"box {i}", RigidInertia.solid_box(1.0, half), Box(half), material, start)
    return Motion("stack of 6", builder.build(), 2e-3, 100)


#: All scenes, small ones first.
MOTIONS: dict[str, Callable[[], Motion]] = {
    "cube": tumbling_cube,
    "plate": plate,
    "rod": bouncing_rod,
    "two spheres": two_spheres,
    "stiff": soft_floor,
    "stops": stops,
    "drives": bounded_drives,
    "loop": loop,
    "trot": trot,
    "quadruped": quadruped,
    "grasp": grasp,
    "stack": stack,
    "boxes": boxes,
    "spheres": spheres,
    "capsules": capsules,
}


def settled(motion: Motion, stepper: TimeStepping, steps: int) -> StepperState:
    """Return the state after this many steps."""
    *_, (_, run) = replace(motion, steps=steps).run(stepper)
    return run.state
