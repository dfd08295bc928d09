"""Conformance suite: tests of any engine against closed-form solutions and known complaints of the field.

>>> from contactlab.lab.conformance import conform
>>> conform(["ours"], ["projectile"]).score("ours")
(1, 1)

Every case runs on every engine, optionally in separate processes. Verdicts are computed. This module also has
contactlab as an engine: `TimeStepping` with its defaults, or with the exact friction cone.
"""

from __future__ import annotations

import functools
import runpy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import contactlab
from contactlab.collision import Box, Capsule, HalfSpace, Material, Sphere
from contactlab.lab.conformance import friction_cases, motion_cases
from contactlab.lab.conformance.case import (
    Body,
    Case,
    CaseResult,
    CaseVerdict,
    Engine,
    EngineContacts,
    HalfSpaceSpec,
    Joint,
    Measure,
    NotReportedError,
    NotSupportedError,
    Pin,
    Run,
    Scene,
    ShapeSpec,
    run_case,
)
from contactlab.lab.conformance.peers import Drake, MuJoCo
from contactlab.lab.sweeps import sweep
from contactlab.multibody import Model, ModelBuilder, body_poses, joints, kinematics, point_velocity_6d
from contactlab.multibody.constraints import LoopConstraint
from contactlab.multibody.spatial import RigidInertia, Transform, quaternion
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.naming import module_hooks
from contactlab.simulation import Simulation, TimeStepping, WorldBuilder, Wrench

__all__ = [
    "CASES", "Body", "Case", "CaseResult", "CaseVerdict", "Engine", "EngineContacts", "HalfSpaceSpec", "Joint",
    "Measure", "NotReportedError", "NotSupportedError", "Pin", "Report", "Run", "Scene", "ShapeSpec",
    "UnknownEngineError", "conform", "engine_of",
]  # fmt: skip


#: The cases, in the order of the report.
CASES: tuple[Case, ...] = (
    *friction_cases.CASES,
    *motion_cases.IMPACTS,
    *motion_cases.LINKAGES,
    *motion_cases.FLIGHT,
    *motion_cases.MANNERS,
)


@dataclass(frozen=True)
class Report:
    """All rows, engine by engine, in the order of the cases."""

    rows: tuple[CaseResult, ...]
    cases: tuple[Case, ...]

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the engines."""
        return tuple(dict.fromkeys(row.engine for row in self.rows))

    def row(self, engine: str, case: str) -> CaseResult:
        """Return the row of an engine and a case."""
        return next(row for row in self.rows if (row.engine, row.case) == (engine, case))

    def score(self, engine: str) -> tuple[int, int]:
        """Return the number of passed cases, and the number of all cases with a verdict, passed or lost.

        A crash or a timeout counts as lost. Cases that are not supported or not reported do not count.
        """
        mine = [row for row in self.rows if row.engine == engine]
        kept = sum(row.verdict is CaseVerdict.PASSED for row in mine)
        return kept, kept + sum(row.lost for row in mine)

    def as_data(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        rows = [{
            "engine": row.engine, "version": row.version, "case": row.case, "verdict": row.verdict.value,
            "reason": row.reason, "measures": [one.as_data() for one in row.measures],
        } for row in self.rows]  # fmt: skip
        return {"scores": {name: self.score(name) for name in self.engines}, "rows": rows}

    def to_html(self, path: Path) -> Path:
        """Write scores, table and reasons as one self-contained HTML file."""
        from contactlab.lab.racing.report import templates

        template = templates().get_template("lab/conformance/report.html")
        rows = {case: [self.row(name, case.name) for name in self.engines] for case in self.cases}
        # Lost cases come first, sorted by their worst figure.
        reasons = {
            case: sorted(some, key=lambda row: (not row.lost, -row.times if row.lost else 0.0))
            for case, some in rows.items()
        }
        path.write_text(template.render(report=self, rows=rows, reasons=reasons, cell=cell), encoding="utf-8")
        return path

    def __str__(self) -> str:
        """Return a table, then a line for each lost case."""
        wide, names = max(len(case.name) for case in self.cases), self.engines
        lines = [" " * wide + "".join(f"  {name:>14}" for name in names)]
        lines += [
            f"{case.name:{wide}}" + "".join(f"  {cell(self.row(name, case.name)):>14}" for name in names)
            for case in self.cases
        ]
        scores = (f"{kept} of {held}" for kept, held in map(self.score, names))
        lines.append(f"{'kept':{wide}}" + "".join(f"  {text:>14}" for text in scores))
        others = (row for row in self.rows if row.verdict is not CaseVerdict.PASSED)
        return "\n".join([*lines, *(f"{row.engine}, {row.case}: {row.verdict.value}: {row.reason}" for row in others)])


def cell(row: CaseResult) -> str:
    """Return the verdict of a case as text for the table; for a failed one "lost x" and the ratio `times`."""
    times = f"{row.times:.2g}" if row.times < 100.0 or row.times >= 1e5 else f"{float(f'{row.times:.2g}'):.0f}"
    return f"lost x {times}" if row.verdict is CaseVerdict.FAILED else row.verdict.value


def conform(
    engines: Sequence[str | Engine],
    cases: Sequence[str] = (),
    *,
    seconds: float | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Report:
    """Run cases on engines and return the report.

    Parameters
    ----------
    engines
        Names (`contactlab.lab.conformance.ENGINES`), ``path.py:Name``, or engine objects. A missing or crashing
        engine has rows with the reason.
    cases
        Names, or parts of names; all cases by default.
    seconds
        Time limit of a case [s]. Named engines then run in separate processes, and a case is lost if it takes longer or
        ends the process. With None all cases run in this process, and a case that hangs blocks the suite.
    progress
        Called with (finished rows, all rows).

    Raises
    ------
    ValueError
        A name is not the name of an engine or case.
    """
    chosen = tuple(case for case in CASES if not cases or any(word in case.name for word in cases))
    if not chosen:
        raise ValueError(f"there is no case named {', '.join(cases)}")
    for one in engines:
        if isinstance(one, str):
            check_name(one)
    _engine.cache_clear()
    rows: list[CaseResult] = []

    def told(done: int, of: int) -> None:
        if progress is not None:
            progress(len(rows) + done, len(chosen) * len(engines))

    for one in engines:
        rows += _rows_of(one, chosen, seconds, told) if isinstance(one, str) else [run_case(one, x) for x in chosen]
        told(0, 0)
    return Report(tuple(rows), chosen)


@functools.cache
def _engine(name: str) -> Engine | str:
    """Return the engine of a name, or the reason why it is not available."""
    try:
        return engine_of(name)
    except Exception as error:  # noqa: BLE001  whatever an engine raises is a finding
        return f"{type(error).__name__}: {error}"


def _rows_of(
    name: str, cases: Sequence[Case], seconds: float | None, progress: Callable[[int, int], None]
) -> Iterator[CaseResult]:
    """Yield a row for each case; with a time limit [s] they run in a process, which is then ended and replaced."""
    tasks = [{"engine": name, "case": case.name} for case in cases]
    rows = sweep(run_case_by_name, tasks, jobs=1, time_limit=seconds, retries=0, progress=progress).rows
    version = next((row["version"] for row in rows if row["outcome"] == "done"), "")
    for row in rows:
        if row["outcome"] == "done":
            measures = tuple(Measure(**one) for one in row["measures"])
            yield CaseResult(name, version, row["case"], CaseVerdict(row["verdict"]), measures, row["detail"])
        else:
            verdict = CaseVerdict.TIMED_OUT if row["outcome"] == "timeout" else CaseVerdict.CRASHED
            yield CaseResult(name, version, row["case"], verdict, (), " ".join(row["error"].split()))


def run_case_by_name(task: dict[str, Any]) -> dict[str, Any]:
    """Run a task of a sweep, a case on an engine; return the fields of its row."""
    name, case = task["engine"], next(case for case in CASES if case.name == task["case"])
    made = _engine(name)
    missing = CaseResult(name, "", case.name, CaseVerdict.MISSING, (), str(made))
    return asdict(missing if isinstance(made, str) else run_case(made, case)) | task


class Contactlab:
    """contactlab."""

    version = contactlab.__version__

    def __init__(self, setting: str = "") -> None:
        self.name = "ours:cone" if setting else "ours"
        self._friction = "cone" if setting else "pyramid"

    def load(self, scene: Scene, h: float) -> OurRun:
        """Return a run of the scene."""
        builder, material = WorldBuilder(scene.gravity), Material(scene.mu, scene.restitution)
        for i, wall in enumerate(scene.walls):
            builder.add_half_space(f"wall {i}", HalfSpace(wall.normal, wall.offset), material)
        model, q, v, centres = _tree(scene)
        builder.add_model(model, q, v)
        for i, body in enumerate(scene.bodies):
            if body.shape is not None:
                builder.add_shape(f"body {i}", _shape(body.shape), material, placement=Transform(p=centres[i]))
        for pin in scene.pins:
            ends = [Transform(p=np.array(scene.local(k, pin.point)) + (centres[k] if k >= 0 else 0.0))
                    for k in (pin.body, pin.other)]  # fmt: skip
            one, other = ("world" if k < 0 else f"body {k}" for k in (pin.body, pin.other))
            builder.add_loop([LoopConstraint(one, other, ends[0], ends[1], axis) for axis in np.eye(6)[3:]])
        return OurRun(Simulation(builder.build(), TimeStepping(h, friction=self._friction)), scene, model, centres)


class OurRun:
    """A run by `Simulation`; frames of bodies are at their joints, or at the centre of mass of free bodies."""

    def __init__(self, run: Simulation, scene: Scene, model: Model, centres: FloatArray) -> None:
        self._run, self._model, self._centres = run, model, centres
        bodies = enumerate(zip(scene.bodies, centres, strict=True))
        self._wrenches = {f"body {i}": Wrench(body.force, at=at) for i, (body, at) in bodies if any(body.force)}

    def step(self) -> None:
        """Make one step of h."""
        self._run.step(f_ext=self._wrenches or None)

    def poses(self) -> FloatArray:
        """Return the poses (n, 7) of all bodies: centre of mass [m] and unit quaternion (w, x, y, z)."""
        R, p = body_poses(self._model, self._run.q)
        return np.hstack(((R @ self._centres[:, :, None])[..., 0] + p, quaternion.from_matrix(R)))

    def velocities(self) -> FloatArray:
        """Return the velocities (n, 6) of all bodies: of the centre of mass, then angular; world axes."""
        at, points = kinematics(self._model, self._run.q, self._run.v), enumerate(self._centres)
        twists = np.array([point_velocity_6d(self._model, at, None, f"body {i}", centre) for i, centre in points])
        return np.roll(twists, 3, axis=1)

    def contacts(self) -> EngineContacts:
        """Return the contacts of the last step."""
        table, h = self._run.contacts, self._run.stepper.h
        return EngineContacts(
            tuple(table.body_b.tolist()), tuple(table.body_a.tolist()), table.point, table.normal, table.impulse / h
        )


def _tree(scene: Scene) -> tuple[Model, list[float], list[float], FloatArray]:
    """Return the model of all bodies, its start q and v, and the centres of mass (n, 3) in the bodies' frames.

    A body without a joint is free. The frame of a body with a joint is at the joint.
    """
    tree, centres = ModelBuilder(scene.gravity), np.zeros((len(scene.bodies), 3))
    q: list[float] = []
    v: list[float] = []
    kind: joints.FloatingBase | joints.Revolute | joints.Prismatic
    turns = [quaternion.to_matrix(np.array(body.turn, dtype=float)) for body in scene.bodies]
    for i, (body, turn) in enumerate(zip(scene.bodies, turns, strict=True)):
        joint = scene.joint_of(i)
        if joint is None:
            kind, parent, place = joints.FloatingBase(), "world", Transform()
            q, v = [*q, *body.position, *body.turn], [*v, *body.velocity, *(turn.T @ body.spin)]
        else:
            made = joints.Revolute if joint.kind == "revolute" else joints.Prismatic
            kind, q, v = made(turn.T @ joint.axis), [*q, 0.0], [*v, 0.0]
            centres[i] = turn.T @ (np.array(body.position, dtype=float) - joint.point)
            held = joint.other >= 0
            outer, base = (turns[joint.other], centres[joint.other]) if held else (np.eye(3), np.zeros(3))
            parent = f"body {joint.other}" if held else "world"
            place = Transform(outer.T @ turn, base + scene.local(joint.other, joint.point))
        inertia = RigidInertia(body.mass, centres[i], np.diag(body.inertia))
        tree.add_body(f"body {i}", parent=parent, joint=kind, placement=place, inertia=inertia)
    return tree.build(), q, v, centres


def _shape(shape: ShapeSpec) -> Box | Sphere | Capsule:
    if shape.kind == "box":
        return Box(shape.size)
    return Sphere(*shape.size) if shape.kind == "sphere" else Capsule(*shape.size)


#: By the name before the colon: the class, and settings ("" for the default).
ENGINES: dict[str, tuple[Callable[[str], Engine], tuple[str, ...]]] = {
    "ours": (Contactlab, ("", "cone")),
    "mujoco": (MuJoCo, ("", "elliptic", "noslip")),
    "drake": (Drake, ("", "tamsi", "sap", "similar", "lagged")),
}


class UnknownEngineError(ValueError):
    """No engine has this name, or the file does not exist."""


def check_name(name: str) -> None:
    """Raise an `UnknownEngineError` for a name without an engine, or a missing file."""
    first, setting = _parts(name)
    if first.endswith(".py"):
        if not Path(first).is_file():
            raise UnknownEngineError(f"there is no file {first}")
    elif setting not in ENGINES.get(first, (None, ()))[1]:
        known = ", ".join(f"{one}:{s}" if s else one for one, (_, settings) in ENGINES.items() for s in settings)
        raise UnknownEngineError(f"there is no engine {name!r}; there are {known}, and path.py:Name")


def engine_of(name: str) -> Engine:
    """Return the engine of a name such as ``mujoco:elliptic``, or of a file: ``path.py:Name``.

    Raises
    ------
    UnknownEngineError
        There is no engine of this name.
    ImportError
        The package of the engine is not installed.
    """
    check_name(name)
    first, setting = _parts(name)
    if first.endswith(".py"):
        # Run under another name than __main__, so that the main part of the script is not executed.
        found: Engine = runpy.run_path(first, run_name=f"_engine_{Path(first).stem}")[setting]()
        return found
    made: Engine = ENGINES[first][0](setting)
    return made


def _parts(name: str) -> tuple[str, str]:
    first, _, setting = name.rpartition(":") if ".py:" in name else name.partition(":")
    return first, setting


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
