"""The pictures of examples that are not simply a frame of the last recording they simulate."""

from __future__ import annotations

import math
import runpy
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contactlab import ConstraintSolver, ConvexRelaxation, StaggeredProjections, impact
from contactlab import multibody as mb
from contactlab.collision import Box, Cylinder, HalfSpace, Material, Sphere
from contactlab.event_driven import EventKind
from contactlab.multibody import constraints as con
from contactlab.multibody import joints
from contactlab.simulation import TimeStepping, WorldBuilder, simulate
from contactlab.view import plotting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from contactlab.simulation import Recording

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
#: Pages with a picture, and the file into which their own code draws it.
PAGES = {"tutorial_simulate": "tower.png"}
#: The time at which an example's last recording is shown [s]; its end if no time is given.
CARDS = {
    "03_a_toss": 0.392,
    "08_free_flyer_momentum": 0.2,
    "09_rolling_constraint": 0.4,
    "13_pulled_from_under": 0.1,
    "18_grasp": 1.5,
    "24_trot": 2.05,
    "25_grasp_in_clutter": 2.3,
    "26_mppi_push": 0.8,
}
BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"


def paper(width: float = 6.0, height: float = 3.0, columns: int = 1) -> tuple[Figure, Any]:
    """An empty figure and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(1, columns)


def names_of(script: str) -> dict[str, Any]:
    """The names that an example defines, without calling its `main`; its files go into a temporary folder."""
    sys.path.insert(0, str(EXAMPLES))
    return runpy.run_path(str(EXAMPLES / f"{script}.py"), run_name="picture")


def of_png(path: Path) -> Figure:
    """A figure that shows a picture file."""
    from matplotlib.image import imread

    image = imread(path)
    figure, axes = paper(image.shape[1] / 100, image.shape[0] / 100)
    axes.imshow(image)
    axes.set_axis_off()
    return figure


def still(builder: WorldBuilder) -> Recording:
    """A world in its initial state."""
    return simulate(builder.build(), TimeStepping(1e-3), 1e-3)


def example_01_first_lcp() -> Figure:
    """The complementary corner, and the lines w = z + q of the mass at rest and of the mass that lifts off."""
    figure, axes = paper(5.0, 3.4)
    axes.plot([0, 0, 14], [6, 0, 0], color="0.3", linewidth=3, label=r"$z \geq 0,\ w \geq 0,\ z w = 0$")
    z = np.array([0.0, 14.0])
    for q, color, at, name in ((-9.81, BLUE, (9.81, 0), "rests: z = 9.81 N"), (2.0, ORANGE, (0, 2), "lifts off")):
        axes.plot(z, z + q, color=color, label=f"w = z {q:+g}")
        axes.plot(*at, "o", color=color, markersize=9)
        axes.annotate(name, at, (at[0] + 0.5, at[1] - 0.55), color=color)
    axes.set(xlim=(-1, 14), ylim=(-1, 6), xlabel="push z [N]", ylabel="acceleration w [m/s²]")
    axes.legend(frameon=False, fontsize=9, ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return figure


def example_03_a_toss() -> Recording:
    """A synthetic toss, as simulated."""
    from contactlab.lab.studies import TossSettings, simulate_toss, synthesize_tosses

    recording: Recording = simulate_toss(synthesize_tosses(3, TossSettings(mu=0.2)), 0, TossSettings(mu=0.2))
    return recording


def example_04_rod2d() -> Figure:
    """Contact force over friction, up to the paradox."""
    figure, (left, right) = paper(7.0, 2.9, 2)
    left.plot([0, np.sqrt(2)], [0, np.sqrt(2)], color=BLUE, linewidth=6, solid_capstyle="round")
    left.axhline(0, color="0.4")
    left.annotate("", (-0.6, 0.06), (0.0, 0.06), arrowprops={"arrowstyle": "->", "color": ORANGE, "linewidth": 2})
    left.text(-0.6, 0.15, "1 m/s", color=ORANGE)
    left.set(xlim=(-0.8, 1.7), ylim=(-0.2, 1.6), aspect="equal")
    left.set_axis_off()
    mu = np.linspace(0, 2.9, 100)
    right.plot(mu, 9.81 / (1.5 - 0.5 * mu), color=BLUE)
    right.axvspan(3, 4, color=ORANGE, alpha=0.25)
    right.text(3.08, 60, "no force", rotation=90, color=ORANGE)
    right.set(xlim=(0, 4), ylim=(0, 200), xlabel="friction", ylabel="force at the low end [N]")
    return figure


def example_05_friction_backends() -> Figure:
    """Normal force and lift-off speed of the sliding block with each method."""
    names = names_of("05_friction_backends")
    data = names["block"](1.0, 0.0)
    solvers = {
        "Lemke": names["SOLVERS"][0],
        "convex relaxation": ConvexRelaxation(),
        "staggered": StaggeredProjections(),
    }
    found = {
        name: ConstraintSolver(solver).solve_discretized_problem(data, names["H"]) for name, solver in solvers.items()
    }
    figure, (left, right) = paper(7.0, 2.6, 2)
    left.barh(list(found), [solution.forces.fN[0] for solution in found.values()], color=[GREEN, ORANGE, BLUE])
    left.set(xlabel="normal force [N]; the weight is 19.62")
    right.barh(list(found), [solution.v_plus[1] for solution in found.values()], color=[GREEN, ORANGE, BLUE])
    right.set(xlabel="speed off the ground [m/s]", yticks=[])
    for axes in (left, right):
        axes.invert_yaxis()
    return figure


def example_06_race_the_solvers() -> Figure:
    """The curves the example draws."""
    import os

    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        names_of("06_race_the_solvers")
        os.chdir(here)
        return of_png(Path(folder) / "race.png")


def example_07_robot_arm() -> Recording:
    """The arm, bent."""
    builder = WorldBuilder(body_contacts=False)
    builder.add_model(names_of("07_robot_arm")["arm"](), [0.4, 0.7, 1.1, 0.3])
    return still(builder)


def example_08_free_flyer_momentum() -> Recording:
    """Hull, arm and bead in flight; the bead is kept in place here."""
    box, ball = mb.RigidInertia.solid_box(3.0, (0.3, 0.2, 0.1)), mb.RigidInertia.solid_sphere(0.5, 0.1)
    model = mb.ModelBuilder().add_body("hull", joint=joints.FloatingBase(), inertia=box)
    model.add_body("arm", parent="hull", joint=joints.Spherical(), inertia=ball.moved(mb.Transform(p=(0, 0, -0.4))))
    up = mb.Transform(p=(0.2, 0.0, 0.25))
    model.add_body("bead", parent="hull", joint=joints.Fixed(), placement=up, inertia=ball)
    builder = WorldBuilder(body_contacts=False)
    built = model.build()
    builder.add_model(built, built.neutral, [1.0, 0.0, 4.0, 1.0, 3.0, -2.0, 2.0, -4.0, 1.0])
    builder.add_shape("hull", Box((0.3, 0.2, 0.1)), Material(0.0))
    builder.add_shape("arm", Sphere(0.1, (0, 0, -0.4)), Material(0.0))
    builder.add_shape("bead", Sphere(0.06), Material(0.0))
    return simulate(builder.build(), TimeStepping(1e-3), 0.5)


def example_09_rolling_constraint() -> Recording:
    """A coin that leans and rolls; drawn here with contact instead of the constraint."""
    inertia = mb.RigidInertia(0.5, inertia=np.diag([0.25, 0.25, 0.5]) * 0.5 * 0.01)
    builder = WorldBuilder()
    builder.add_half_space("table", HalfSpace(), Material(1.0))
    lean = 0.25
    turn = [np.cos(np.pi / 4 - lean / 2), np.sin(np.pi / 4 - lean / 2), 0.0, 0.0]
    height = 0.1 * np.cos(lean) + 0.006 * np.sin(lean)
    builder.add_free_body(
        "coin", inertia, Cylinder(0.1, 0.006), Material(1.0), q=(0, 0, height, *turn), v=(1.0, 0, 0, 0, 0.4, 10.0)
    )
    return simulate(builder.build(), TimeStepping(1e-3, margin=0.003), 0.6)


def example_17_sweep_of_tosses() -> Figure:
    """Where the cubes come to rest, by friction."""
    from contactlab.lab import SceneGrid, sweep

    names = names_of("17_sweep_of_tosses")
    with tempfile.TemporaryDirectory() as folder:
        scene = Path(folder) / "throw.toml"
        scene.write_text(names["SCENE"], encoding="utf-8")
        parameters, spread = {"material.felt.mu": names["FRICTION"]}, {"body.cube.velocity": 0.05}
        rows = sweep(SceneGrid(scene, parameters, range(4), spread), out=Path(folder) / "rows").rows
    places = np.array([row["q"][:2] for row in rows]).reshape(len(names["FRICTION"]), -1, 2)
    figure, axes = paper(6.0, 2.8)
    for mu, at, color in zip(names["FRICTION"], places, (BLUE, ORANGE, GREEN), strict=True):
        axes.plot(*(1000 * at.T), "s", color=color, markersize=9, alpha=0.7, label=f"friction {mu}")
    axes.set(xlabel="x at rest [mm]", ylabel="y at rest [mm]")
    axes.legend(frameon=False, fontsize=9, ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return figure


def bars(axes: Axes, points: Any, share: float) -> None:
    """A chain of bars, paler the older it is."""
    axes.plot(*np.transpose(points), "-o", color=BLUE, alpha=0.15 + 0.85 * share, linewidth=3, markersize=4)


def example_10_time_varying_constraint() -> Figure:
    """The rod at ten instants, and the path of the guided end."""
    names = names_of("10_time_varying_constraint")
    figure, axes = paper(6.0, 3.0)
    angle, rate, h = 0.5, 0.0, 1e-3
    for step in range(1001):
        if step % 100 == 0:
            top = names["path"](step * h)[[0, 2]]
            low = top - names["LENGTH"] * np.array([np.sin(angle), np.cos(angle)])
            bars(axes, [top, low], step / 1000)
        rate += h * names["pendulum"](angle, step * h)
        angle += h * rate
    axes.plot([-0.3, 0.3], [0, 0], color=ORANGE, linewidth=1.5, zorder=0)
    axes.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
    return figure


def example_11_four_bar() -> Figure:
    """The linkage at several angles of its crank."""
    names = names_of("11_four_bar")
    model, cs = names["four_bar"]()
    figure, axes = paper(6.0, 3.4)
    q = np.array([0.8, 0.0, 1.5])
    for i in range(9):
        q = con.assemble_q(model, [0.8 + 0.3 * i, *q[1:]], cs, [1.0, 0.0, 0.0]).q
        ends = [("crank", 0.0), ("coupler", 0.0), ("coupler", names["COUPLER"]), ("rocker", 0.0)]
        points = [mb.point_position(model, q, body, (x, 0.0, 0.0))[[0, 2]] for body, x in ends]
        bars(axes, points, i / 8)
    axes.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
    return figure


def example_12_quadruped_standing() -> Recording:
    """The quadruped of the scene, standing, with the forces at its feet."""
    from contactlab.simulation.scene import load_scene

    scene = load_scene(EXAMPLES / "scenes" / "quadruped.toml")
    return simulate(scene.world, scene.stepper, 1.0)


def example_15_impact_laws() -> Figure:
    """Routh's diagram of the rod's impact."""
    diagram = impact.routh_diagram(names_of("15_impact_laws")["rod"](0.5, 2.0), restitution=0.8)
    with tempfile.TemporaryDirectory() as folder:
        return of_png(plotting.plot_routh(Path(folder) / "routh.png", diagram))


def example_16_rocking_and_bouncing() -> Figure:
    """Height of the ball and angle of the block."""
    names = names_of("16_rocking_and_bouncing")
    figure, (left, right) = paper(7.5, 2.8, 2)
    ball, block = names["ball"], names["block"]
    times = np.linspace(0, ball.time[-1], 1500)
    left.plot(times, [ball.at(t)[0][2] - 0.1 for t in times], color=BLUE)
    left.set(xlabel="time [s]", ylabel="height of the ball [m]")
    times = np.linspace(0, block.time[-1], 1500)
    states = [block.at(t)[0] for t in times]
    right.plot(times, [np.degrees(2 * np.arctan2(q[5], q[3])) for q in states], color=GREEN)
    for event in block.of_kind(EventKind.IMPACT):
        right.axvline(event.time, color="0.6", linewidth=0.8)
    right.set(xlabel="time [s]", ylabel="angle of the block [deg]")
    return figure


def example_22_your_own_solver() -> Figure:
    """Performance profiles of the example's solver and three of the library's, on the named problems."""
    from contactlab import lab
    from lcp.catalog import entries

    problems = [(entry.name, entry.problem) for entry in entries() if entry.problem.n > 0]
    solvers = f"Lemke,Murty,InteriorPoint,{EXAMPLES / '22_your_own_solver.py'}:TextbookLemke"
    report = lab.race(problems, solvers, jobs=1, curves=0, time_limit=10.0)
    (field,) = report.fields
    profile = report.profile(field)
    figure, axes = paper()
    for number, (label, color) in enumerate(zip(field.labels, (GREEN, BLUE, "#888888", ORANGE), strict=True)):
        tau, share = profile.steps(number)
        first = share[0] if tau[0] == 1.0 else 0.0
        axes.step(
            [1.0, *tau, 1.5 * profile.largest], [first, *share, share[-1]], where="post", label=label, color=color
        )
    axes.set(xscale="log", ylim=(0.0, 1.03), xlabel="time / least time", ylabel="share of problems solved")
    axes.legend(frameon=False, fontsize=9, ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return figure


def example_19_gymnasium() -> Figure:
    """The pole's angle, when it is caught and when it falls."""
    names = names_of("19_gymnasium")
    world, stepper = names["cart_and_pole"](), names["TimeStepping"](names["H"])
    figure, axes = paper(6.0, 3.0)
    for label, gains, colour in (("caught", names["GAINS"], BLUE), ("let fall", 0.0 * names["GAINS"], ORANGE)):
        run = names["Simulation"](world, stepper, names["StepperState"](np.array([0.0, 0.05]), np.zeros(2)))
        angles = []
        while run.steps < 300 and abs(run.q[1]) < names["FALLEN"]:
            angles.append(run.q[1])
            run.step([gains @ np.concatenate((run.q, run.v)), 0.0])
        axes.plot(names["H"] * np.arange(len(angles)), angles, color=colour, label=label)
    axes.set(xlabel="time [s]", ylabel="angle of the pole [rad]")
    axes.legend(frameon=False, fontsize=9, ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return figure


def example_23_learning_locomotion() -> Figure:
    """gymnasium's Ant at its start and under random controls."""
    from contactlab.simulation import Simulation

    task, rng = names_of("23_learning_locomotion")["locomotion"]("Ant"), np.random.default_rng(3)
    run = Simulation(task.world, task.stepper, record=True)
    for _ in range(20):
        taus, _ = task.actions.inputs(rng.uniform(-1.0, 1.0, (1, 8)), run.q[None], run.v[None])
        run.step(taus[0], n=task.frame_skip)
    return plotting.picture(run.recording, [0.0, 0.5, 1.0], size=(480, 400))


def example_27_swing_up_by_a_stop() -> Figure:
    """The pole hangs, the cart stands at the stop, the pole goes up."""
    names = names_of("27_swing_up_by_a_stop")
    run = names["cart_pole"](stop=True)
    _, us, gains, states = names["ilqr"](run)
    names["roll"](run, us, gains, states)
    hit = run.recording.time[np.argmax(states[:, 0])]
    return plotting.picture(run.recording, [0.0, hit, hit + 0.3, 2.0], size=(360, 300), view=(0.0, -1.0, 0.1))


def example_29_turning_points() -> Figure:
    """The homotopy parameter by step, with and without the sign of the determinant."""
    names = names_of("29_turning_points")
    problem = names["friction_lcp"](seed=48, contacts=6, mu=3.0, velocities=9)
    figure, axes = paper()
    for oriented, label, color in ((True, "direction by sign det K", BLUE), (False, "always towards l = 0", ORANGE)):
        path = names["follow"](problem, oriented=oriented)[1][:31]
        axes.semilogy(path, marker="o", markersize=4, color=color, label=label)
    axes.set(xlabel="step", ylabel="l", xlim=(0, 30))
    axes.legend(frameon=False)
    return figure


def example_28_stand_up() -> Figure:
    """Lying on its belly, halfway, and standing."""
    names = names_of("28_stand_up")
    *_, recording = names["ilqr"](names["lying"]())
    return plotting.picture(recording, [0.01, 0.1, 0.3, 0.9], size=(360, 300))


def example_21_falling_rod() -> Figure:
    """Energy and motion after the impact of a rod that slides while it falls, by three laws."""
    from contactlab.impact import Newton, Poisson, Stronge, impact_map

    rod = names_of("21_falling_rod")["sliding_rod"]
    found = impact_map(
        lambda angle, friction: rod(angle, friction, (0.6, -1.0, 0.0)),
        {"angle": np.linspace(0.05, 1.5, 40), "friction": np.linspace(0.0, 1.5, 40)},
        restitutions=[0.9],
        laws=lambda e: {"Newton": Newton(e), "Poisson": Poisson(e, "sequential"), "Stronge": Stronge(e)},
    )
    with tempfile.TemporaryDirectory() as folder:
        return of_png(plotting.plot_impact_map(Path(folder) / "map.png", found))


def hero() -> Recording:
    """A ball rolls into a wall of bricks: the wall stands, breaks, and comes to rest."""
    builder, wood = WorldBuilder(), Material(0.5)
    builder.add_half_space("floor", HalfSpace(), wood)
    half = (0.1, 0.06, 0.05)
    brick = mb.RigidInertia.solid_box(0.5, half)
    for row in range(6):
        for i in range(5 - row % 2):
            at = (0.0, 0.205 * (i - 0.5 * (4 - row % 2)), 0.05 + 0.1 * row)
            turned = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))
            builder.add_free_body(f"brick {row} {i}", brick, Box(half), wood, q=(*at, *turned))
    ball = mb.RigidInertia.solid_sphere(9.0, 0.15)
    rolling = (3.2, 0, 0, 0, 3.2 / 0.15, 0)
    builder.add_free_body("ball", ball, Sphere(0.15), wood, q=(-1.3, 0.06, 0.15, 1, 0, 0, 0), v=rolling)
    return simulate(builder.build(), TimeStepping(2e-3), 1.8)
