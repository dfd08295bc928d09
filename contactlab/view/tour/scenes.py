"""The six scenes of the tour: a sentence, one or two sliders, and the displayed function that makes the scene.

`LcpPlanes` draws the scene of two solvers; `contactlab.view.viewer` draws the others.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

import lcp
from contactlab.collision import Box, Capsule, HalfSpace, Material, Sphere
from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia, Transform, quaternion
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation import Motion, PositionDrive, Recording, TimeStepping, WorldBuilder, Wrench, simulate
from contactlab.view.viewer import FrameSource, PlaybackView

if TYPE_CHECKING:
    from viser import LineSegmentsHandle, SceneApi

Color = tuple[int, int, int]
LabelAnchor = Literal["top-left", "bottom-right", "bottom-center", "center-center"]

CONES: tuple[Color, ...] = ((86, 180, 233), (240, 228, 66), (204, 121, 167), (230, 159, 0))
HELD = ("z = 0", "z1 > 0", "z2 > 0", "z1, z2 > 0")  # signs of z for q in each cone
LEMKE, SWEEPS, INK, FAINT = (0, 114, 178), (213, 94, 0), (70, 70, 70), (190, 190, 190)
SIDE, FAR, FRAMES = 4.0, 6.0, 121  # half a side of the displayed square; t at Lemke's start; number of frames
ASIDE = 4.6  # distance of the two planes from the middle
ARRIVED = 0.8  # fraction of the time at which the solvers arrive


class LcpPlanes:
    """The plane of q with the complementary cones of M, and the plane of z; a `contactlab.view.viewer.FrameSource`."""

    view = (0.0, -1.0, 0.0)

    def __init__(
        self, scene: SceneApi, root: str, played: tuple[lcp.LCP, lcp.ParametricPath, list[FloatArray]]
    ) -> None:
        self._scene, self._root = scene, root
        problem, self._path, iterates = played
        self._q = np.asarray(problem.q)
        # One unknown after the other: there is a corner between two iterates.
        steps = [z for a, b in pairwise(iterates) for z in (np.array([b[0], a[1]]), b)]
        self._steps = np.array([iterates[0], *steps]).clip(-SIDE, SIDE)
        self.times = np.linspace(0.0, 6.0, FRAMES)
        corners = SIDE * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        self.points = np.concatenate([_at(1.1 * corners, aside) for aside in (-ASIDE, ASIDE)])
        marks = ((LEMKE, "Lemke's path"), (SWEEPS, "Gauss-Seidel's sweeps"), (INK, "w1 = 0, w2 = 0"))
        self.words = "".join(f'<div><span style="color:rgb{c}">&#9632;</span> {name}</div>' for c, name in marks)
        self._draw_cones(np.asarray(problem.M))
        for aside, name in ((-ASIDE, "q, among four cones"), (ASIDE, "z, on both walks")):
            self._lines(name, aside, FAINT, [*zip(corners, np.roll(corners, 1, axis=0), strict=True)])
            self._lines(f"{name} axes", aside, FAINT, [((-SIDE, 0.0), (SIDE, 0.0)), ((0.0, -SIDE), (0.0, SIDE))])
            self._write(name, (0.0, 1.04 * SIDE), aside, "bottom-center", 1.2)
            self._write(f"{name[0]}1", (0.98 * SIDE, 0.0), aside, "bottom-right")
            self._write(f"{name[0]}2", (0.0, 0.98 * SIDE), aside, "top-left")
        for k, (row, c) in enumerate(zip(np.asarray(problem.M), self._q, strict=True)):
            reach = np.linspace(-20.0, 20.0, 2001)[:, None]
            line = -c * row / (row @ row) + reach * np.array([-row[1], row[0]])
            inside = line[np.abs(line).max(axis=1) <= SIDE]
            if len(inside):
                self._lines(f"line {k}", ASIDE, INK, [(inside[0], inside[-1])])
                self._write(f"w{k + 1} = 0", inside[round((0.1, 0.9)[k] * (len(inside) - 1))], ASIDE)
        self._walks = [self._lines(name, aside, color, [(corners[0],) * 2], 4.0) for name, aside, color in WALKS]
        # Points keep their colour in any light, and are round at any position.
        dot = np.zeros((1, 3), dtype=np.float32)
        self._ends = [
            scene.add_point_cloud(f"{root}/{name} end", dot, color, point_size=0.14, point_shape="circle")
            for name, _, color in WALKS
        ]

    def _draw_cones(self, M: FloatArray) -> None:
        """Draw the cones with columns of the unit matrix or of -M as sides; a cone that contains q is a solution."""
        for i, color in enumerate(CONES):
            a, b = (-M[:, k] if i >> k & 1 else np.eye(2)[k] for k in range(2))
            share = np.linspace(0.0, 1.0, 481)[:, None]
            rim = (1.0 - share) * a / np.linalg.norm(a) + share * b / np.linalg.norm(b)
            rim *= SIDE / np.abs(rim).max(axis=1, keepdims=True).clip(1e-9)
            fan = np.array([[0, k, k + 1] for k in range(1, len(rim))], dtype=np.uint32)
            place = _at(np.concatenate((np.zeros((1, 2)), rim)), -ASIDE, -0.005 * (i + 1)).astype(np.float32)
            self._scene.add_mesh_simple(
                f"{self._root}/cone {i}", place, fan, color=color, opacity=0.55, side="double", cast_shadow=False
            )

            self._write(HELD[i], 0.6 * rim[len(rim) // 2], -ASIDE)

    def _write(
        self, text: str, at: ArrayLike, aside: float, anchor: LabelAnchor = "center-center", size: float = 1.0
    ) -> None:
        """Add a label at a point of a plane that is shifted sideways by ``aside``."""
        place = _at(np.array([at], dtype=float), aside, 0.04)[0]
        name = f"{self._root}/{text} of {aside}"
        self._scene.add_label(name, text, position=place, anchor=anchor, font_screen_scale=size)

    def _lines(
        self, name: str, aside: float, color: Color, ends: Sequence[Sequence[ArrayLike]], thick: float = 2.0
    ) -> LineSegmentsHandle:
        places = np.array([_at(np.array(pair, dtype=float), aside, 0.02) for pair in ends], dtype=np.float32)
        return self._scene.add_line_segments(
            f"{self._root}/{name}", places, color, thickness=thick, thickness_units="screen"
        )

    def show(self, frame: int) -> None:
        """Show both solvers after the same fraction of their paths."""
        share, t, z = _share(frame), self._path.t, self._path.z
        now = share * t[-1]
        here = [float(np.interp(now, t, z[:, k])) for k in range(2)]
        seen = SIDE - float(self._q.max())  # the t at which q + t (1, 1) comes into view
        done = share * (len(self._steps) - 1)
        k = min(int(done), len(self._steps) - 2)
        step = self._steps[k] + (done - k) * (self._steps[k + 1] - self._steps[k])
        walked = (
            np.array([self._q + seen, self._q + min(FAR - now, seen)]),
            np.array([*z[t < now], here]),
            np.array([*self._steps[: k + 1], step]),
        )
        for path, lines, end, (_, aside, _) in zip(walked, self._walks, self._ends, WALKS, strict=True):
            places = _at(path.clip(-SIDE, SIDE), aside, 0.03)
            lines.points = np.stack((places[:-1], places[1:]), axis=1) if len(places) > 1 else np.stack([places] * 2, 1)
            end.position = places[-1]

    def caption(self, frame: int) -> str:
        """Return the positions of both solvers as text."""
        share = _share(frame)
        t, sweep = FAR - share * self._path.t[-1], int(share * 0.5 * len(self._steps))
        return f"Lemke: t = {t:.2f}   Gauss-Seidel: sweep {sweep}"


WALKS: tuple[tuple[str, float, Color], ...] = (
    ("Lemke's q", -ASIDE, LEMKE),
    ("Lemke's z", ASIDE, LEMKE),
    ("sweeps", ASIDE, SWEEPS),
)


def _at(points: FloatArray, aside: float, near: float = 0.0) -> FloatArray:
    """Return points (n, 2) of a plane in the world: upright, at these distances aside and towards the eye [m]."""
    return np.column_stack((points[:, 0] + aside, np.full(len(points), -near), points[:, 1]))


def _share(frame: int) -> float:
    """Return the finished fraction of the motion; it reaches 1 some time before the end."""
    return min(1.0, frame / (ARRIVED * (FRAMES - 1)))


if TYPE_CHECKING:
    from viser import SceneApi


@dataclass(frozen=True)
class Slider:
    """A number to be changed; its name is the name of the argument."""

    name: str
    low: float
    high: float
    step: float
    start: float
    unit: str = ""


@dataclass(frozen=True)
class TourScene:
    """One scene.

    Attributes
    ----------
    name
        Name of its module, and of the file of its replay.
    title, sentence
        Title and text for the visitor.
    page
        Page of `docs/` that explains it.
    sliders
        One or two.
    simulate
        Displayed function of the sliders' values that returns a recording, or several by name.
    spacing
        Distance of several recordings along x [m].
    view
        Direction from the scene towards the eye.
    draw
        Function that draws the result of `simulate` under a node of the browser's scene, if it is not a recording.
    """

    name: str
    title: str
    sentence: str
    page: str
    sliders: tuple[Slider, ...]
    simulate: Callable[..., Any]
    spacing: float = 0.0
    view: tuple[float, float, float] = (-0.38, -0.85, 0.42)
    draw: Callable[[SceneApi, str, Any], FrameSource] | None = None

    @property
    def code(self) -> str:
        """Code of the scene, to be pasted anywhere: its imports and its function."""
        function = inspect.getsource(self.simulate)
        used = {node.id for node in ast.walk(ast.parse(function)) if isinstance(node, ast.Name)}
        imports = []
        for line in ast.parse(inspect.getsource(inspect.getmodule(self.simulate) or self.simulate)).body:
            if isinstance(line, ast.Import | ast.ImportFrom):
                line.names = [one for one in line.names if (one.asname or one.name) in used]
                imports += [ast.unparse(line)] if line.names else []
        return "\n".join(imports) + "\n\n\n" + function

    def start(self) -> dict[str, float]:
        """Return the initial values of the sliders."""
        return {slider.name: slider.start for slider in self.sliders}

    def drawn(self, scene: SceneApi, root: str, values: dict[str, float]) -> FrameSource:
        """Simulate with these values, and draw the result under the node ``root``."""
        played = self.simulate(**values)
        if self.draw is not None:
            return self.draw(scene, root, played)
        films = played if isinstance(played, dict) else {"": played}
        places = [(self.spacing * (i - 0.5 * (len(films) - 1)), 0.0, 0.0) for i in range(len(films))]
        return PlaybackView(scene, films, places=places, root=root, view=self.view, whole=True)


def throw(friction: float, restitution: float) -> Recording:
    """Simulate a cube that flies, hits the floor with a corner, tumbles, slides and comes to rest."""
    floor, cube = Material(friction, restitution), Material(friction, restitution)
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), floor)
    builder.add_free_body(
        "cube",
        RigidInertia.solid_box(0.4, (0.1, 0.1, 0.1)),
        Box.cube(0.1),
        cube,
        q=(-0.8, 0.0, 0.6, 0.8, 0.36, 0.48, 0.0),
        v=(1.6, 0.0, 0.5, 3.0, 5.0, 1.0),
    )
    return simulate(builder.build(), TimeStepping(h=2e-3, friction="cone"), duration=2.0)


def grip(firmness: float) -> dict[str, Recording]:
    """Return runs in which two fingers hold a box with this multiple of the force that friction needs."""
    rubber, finger, half = Material(0.5), (0.02, 0.04, 0.04), (0.05, 0.05, 0.05)
    weight = 0.5 * 9.81
    hand = ModelBuilder()
    for name, side in (("left", -1), ("right", 1)):
        place, inertia = Transform(p=(0.07 * side, 0, 0.2)), RigidInertia.solid_box(0.3, finger)
        hand.add_body(name, joint=joints.Prismatic((1, 0, 0)), placement=place, inertia=inertia)
    hand.add_body("box", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(0.5, half))
    builder = WorldBuilder()
    builder.add_fixed_body("table", Box((0.12, 0.1, 0.01)), rubber, Transform(p=(0, 0, -0.01)))
    builder.add_model(hand.build(), q=(0, 0, 0, 0, 0.2, 1, 0, 0, 0))
    for name, target in (("left", 0.0), ("right", -0.01)):
        builder.add_shape(name, Box(finger), rubber)
        force = firmness * weight / (2 * 0.5) if name == "right" else 1e4
        builder.add_drive(PositionDrive(name, target, 2e4, 2e2, max_force=force))
    builder.add_shape("box", Box(half), rubber, shown=False)
    builder.add_visual("box", Box(half), rgba=(0.34, 0.71, 0.91, 0.4))  # transparent, so that forces are visible
    world = builder.build()
    ways = {
        "Lemke's vertex": TimeStepping(4e-3, solver=lcp.Lemke()),
        "exact cone": TimeStepping(4e-3, friction="cone"),
        "selected": TimeStepping(4e-3),
    }
    return {name: simulate(world, stepper, duration=2.0) for name, stepper in ways.items()}


def push(force: float, friction: float) -> Recording:
    """Simulate a push on the trunk from behind, from 0.4 s on, for 0.2 s."""
    robot, trunk, down = ModelBuilder(), (0.3, 0.12, 0.06), Transform(p=(0, 0, -0.14))
    robot.add_body("trunk", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(12.0, trunk))
    leg, turn = RigidInertia.solid_box(0.6, (0.02, 0.02, 0.14)).moved(down), joints.Revolute((0, 1, 0))
    legs = {
        "front left": (0.25, 0.16),
        "front right": (0.25, -0.16),
        "rear left": (-0.25, 0.16),
        "rear right": (-0.25, -0.16),
    }
    for name, (x, y) in legs.items():
        hip, knee = Transform(p=(x, y, 0)), Transform(p=(0, 0, -0.28))
        robot.add_body(f"{name} thigh", parent="trunk", joint=turn, placement=hip, inertia=leg)
        robot.add_body(f"{name} shank", parent=f"{name} thigh", joint=turn, placement=knee, inertia=leg)
    builder, rubber = WorldBuilder(), Material(friction)
    builder.add_half_space("floor", HalfSpace(), rubber)
    builder.add_model(robot.build(), q=[0, 0, 0.484, 1, 0, 0, 0, *(0.6, -1.2) * 4])
    builder.add_shape("trunk", Box(trunk), rubber)
    for name in legs:
        builder.add_shape(f"{name} shank", Sphere(0.022, (0, 0, -0.28)), rubber)
        for part, angle in (("thigh", 0.6), ("shank", -1.2)):
            builder.add_visual(f"{name} {part}", Capsule(0.02, 0.14), placement=down, rgba=(0.35, 0.4, 0.5, 1))
            builder.add_drive(PositionDrive(f"{name} {part}", angle, 300.0, 10.0, max_force=60.0))

    def pushed(t: float, q: np.ndarray, v: np.ndarray) -> dict[str, Wrench]:
        return {"trunk": Wrench(force=(force, 0, 0))} if 0.4 < t < 0.6 else {}

    return simulate(builder.build(), TimeStepping(h=2e-3), duration=2.0, f_ext=pushed)


def strike(speed: float, mass: float) -> Recording:
    """Simulate a ball that hits a wall of stacked bricks."""
    builder, wood, half = WorldBuilder(), Material(0.5), (0.1, 0.06, 0.05)
    builder.add_half_space("floor", HalfSpace(), wood)
    brick = RigidInertia.solid_box(0.5, half)
    for row in range(4):
        for i in range(4 - row % 2):
            x = 0.21 * (i - 0.5 * (3 - row % 2))
            builder.add_free_body(f"brick {row} {i}", brick, Box(half), wood, q=(x, 0, 0.05 + 0.1 * row, 1, 0, 0, 0))
    ball, flight = RigidInertia.solid_sphere(mass, 0.1), 0.9 / speed
    start = (0.05, -1.0, 0.25 + 0.5 * 9.81 * flight * flight - 0.5 * flight, 1, 0, 0, 0)
    builder.add_free_body("ball", ball, Sphere(0.1), wood, q=start, v=(0, speed, 0.5, 0, 0, 0))
    return simulate(builder.build(), TimeStepping(h=2e-3), duration=1.6)


def walk(coupling: float, turn: float) -> tuple[lcp.LCP, lcp.ParametricPath, list[np.ndarray]]:
    """Return the LCP, Lemke's path, on which q + t (1, 1) comes from far away, and the iterates of Gauss-Seidel."""
    angle = np.radians(turn)
    problem = lcp.LCP([[1.5, coupling], [coupling, 1.0]], [2.5 * np.cos(angle), 2.5 * np.sin(angle)])
    # If q + t (1, 1) is positive, z = 0 is a solution. From there t decreases to 0, where z solves the problem.
    far = lcp.LCP(problem.M, np.asarray(problem.q) + 6.0)
    path = lcp.parametric(far, direction=[-1.0, -1.0], to=6.0)
    iterates = [np.zeros(2)]
    for k in range(1, 13):
        sweeps = lcp.ProjectedGaussSeidel(relaxation=1.0, max_iterations=k)
        iterates.append(lcp.solve(problem, sweeps, z0=[0.0, 0.0]).z)
    return problem, path, iterates


def compare(friction: float, restitution: float) -> Recording:
    """Simulate a cube from the start of a record; a grey cube follows the record."""
    with files("contactlab.view.tour").joinpath("toss.csv").open() as file:
        time, *pose = np.loadtxt(file, delimiter=",").T

    def seen(t: float) -> tuple[Transform, np.ndarray]:
        row = np.array([np.interp(t, time, values) for values in pose])
        return Transform(quaternion.to_matrix(row[3:] / np.linalg.norm(row[3:])), row[:3]), np.zeros(6)

    builder, acrylic, half = WorldBuilder(), Material(friction, restitution), (0.05, 0.05, 0.05)
    builder.add_half_space("board", HalfSpace(), acrylic)
    builder.add_kinematic_body("seen", Box(half), acrylic, Motion(seen), mask=0, category=0)
    q, v = [values[0] for values in pose], (1.1, 0.1, 0.6, 2.0, 5.0, 1.0)
    builder.add_free_body("simulated", RigidInertia.solid_box(0.37, half), Box(half), acrylic, q, v)
    return simulate(builder.build(), TimeStepping(h=2e-3), duration=time[-1])


#: Scenes, in the order of the tour.
SCENES: tuple[TourScene, ...] = (
    TourScene(
        "cube",
        "Throw the cube",
        "A cube flies, tumbles and comes to rest; the line below says how well each step's contact problem was solved "
        "(1e-9 counts as solved).",
        "tutorial_simulate",
        (Slider("friction", 0.0, 1.0, 0.05, 0.3), Slider("restitution", 0.0, 0.9, 0.05, 0.3)),
        throw,
    ),
    TourScene(
        "grip",
        "One grip, three answers",
        "Rigid contacts do not say how eight corners share the load: a vertex of Lemke's method solves every step "
        "exactly and lets the box fall; the cone and the selected forces hold it.",
        "theory/load_sharing",
        (Slider("firmness", 0.5, 15.0, 0.5, 10.0),),
        grip,
        spacing=0.32,
        view=(-0.12, -0.95, 0.28),
    ),
    TourScene(
        "quadruped",
        "Push the quadruped",
        "Drives hold the legs, friction holds the feet: here a push makes them slide; where it is rough, the same push "
        "throws the robot over.",
        "control",
        (Slider("force", 0.0, 300.0, 10.0, 150.0, "N"), Slider("friction", 0.1, 1.2, 0.05, 0.3)),
        push,
    ),
    TourScene(
        "wall",
        "A ball and a wall",
        "Arrows are contact forces: green where a contact sticks, vermilion where it slides; a grey point carries "
        "nothing.",
        "seeing",
        (Slider("speed", 2.0, 8.0, 0.5, 4.0, "m/s"), Slider("mass", 0.5, 10.0, 0.5, 4.0, "kg")),
        strike,
        view=(0.62, -0.68, 0.4),
    ),
    TourScene(
        "plane",
        "Two solvers, one problem",
        "Left, q comes down from far away through the complementary cones of M, which is Lemke's method; right, "
        "both walks to the solution. Beyond a coupling of 1.2 cones overlap: some q have three solutions, some none.",
        "tutorial_solver",
        (Slider("coupling", -1.0, 2.0, 0.05, 0.7), Slider("turn", 0.0, 360.0, 5.0, 215.0, "degrees")),
        walk,
        draw=LcpPlanes,
    ),
    TourScene(
        "toss",
        "A toss found again",
        "The grey cube follows a made-up record, a simulation with a camera's noise; find the friction and the "
        "restitution with which the coloured one stays with it.",
        "validation",
        (Slider("friction", 0.05, 0.6, 0.01, 0.4), Slider("restitution", 0.0, 0.6, 0.02, 0.1)),
        compare,
    ),
)
