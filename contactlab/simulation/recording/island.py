"""One island of a step of a record: its rows, its solution, and its problem formed again by the loop's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.recording.record import Record
from contactlab.simulation.stepping.callbacks import Motions, Supply
from contactlab.simulation.stepping.contact_table import IntArray
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.packing import touching_materials
from contactlab.simulation.stepping.prepared import world_arrays
from contactlab.simulation.stepping.step_result import has_given_force, row_classes
from problem_data import ConstraintForces, ConstraintVelProblemData


def solution_of(recording: Record, i: int, island: int) -> FloatArray:
    """Return z of an island, in the order of its LCP."""
    fN, plus, minus, slack = _of_contacts(recording, i, island)
    numbers, z = island_rows(recording, "joint_row", i, island), island_rows(recording, "joint_z", i, island)
    classes = row_classes(recording.world, recording.stepper, numbers)
    moving = (classes == "B") & ~has_given_force(recording.world, numbers)
    of_joints = (z[classes == "L", 0], z[moving, 0], z[moving, 1])
    return np.concatenate([fN, plus, minus, slack, *of_joints])


def _of_contacts(recording: Record, i: int, island: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return fN, fF+, fF- and lambda of an island of step ``i``, one array each.

    In the last three, all contacts' sliding friction comes first, then moments, contact by contact.
    """
    z = island_rows(recording, "contact_z", i, island)
    r = recording.stepper.edges_in(recording.world) // 2
    fN, *sliding = np.split(z[:, : 2 + 2 * r], [1, 1 + r, 1 + 2 * r], axis=1)
    parts = [[part.ravel()] for part in sliding]
    packed, _, _, moments = world_arrays(recording.world)
    if moments is not None:
        names = ("contact_half_space", "contact_shape_a", "contact_shape_b")
        known, a, b = touching_materials(packed, *(island_rows(recording, name, i, island) for name in names))
        for n, c in enumerate(np.flatnonzero(known)):
            at = 2 + 2 * r
            for length, directions in ((moments.torsional, 1), (moments.rolling, r)):
                values = z[c, at : at + 2 * directions + 1]
                if length[a[n], b[n]] > 0.0:
                    for part, share in zip(parts, np.split(values, [directions, 2 * directions]), strict=True):
                        part.append(share)
                at += 2 * directions + 1
    plus, minus, slack = (np.concatenate(part) for part in parts)
    return fN.ravel(), plus, minus, slack


def forces_of(recording: Record, i: int, island: int) -> ConstraintForces:
    """Return the forces of contacts [N] and of joint rows [N, N m] of an island of step ``i``."""
    fN, plus, minus, _ = _of_contacts(recording, i, island)
    numbers, force = island_rows(recording, "joint_row", i, island), island_rows(recording, "joint_force", i, island)
    classes = row_classes(recording.world, recording.stepper, numbers)
    return ConstraintForces(fN, plus - minus, *(force[classes == one] for one in "LGB"))


def distance_of(recording: Record, i: int, island: int) -> float:
    """Return the distance of an island's contact forces from the selected ones, relative to the largest force."""
    from contactlab.constraint_solver.strategy_solver import distance_from_selected

    (data, z0), stepper = formed(recording, i, island), recording.stepper
    forces, h = forces_of(recording, i, island), float(recording.h[i])
    return distance_from_selected(data, h, forces, z0=z0, tolerance=stepper.tolerance)


def trees_of(recording: Record, i: int, island: int) -> IntArray:
    """Return the numbers of the trees of an island of step ``i`` (n,), ascending."""
    names = ("contact_body_a", "contact_body_b")
    touching = np.concatenate([island_rows(recording, name, i, island) for name in names])
    rows = island_rows(recording, "joint_row", i, island)
    joined = [tree for row in rows for tree in recording.world.joint_rows[int(row)].trees]
    trees: IntArray = np.unique([*recording.world.body_trees[touching[touching >= 0]], *joined]).astype(np.int64)
    return trees[trees >= 0]


def formed(recording: Record, i: int, island: int) -> tuple[ConstraintVelProblemData, FloatArray | None]:
    """Form the problem data of an island in step i again, and its start z0, or None, as the step had them."""
    supply = _supply(recording, i)  # first, because it checks the step number
    tau = recording.rows["tau"][i] if recording.rows["tau"].shape[0] else None
    h, poses, twists = float(recording.h[i]), recording.rows["motion_pose"], recording.rows["motion_twist"]
    motions: Motions | None = (lambda _, __: (poses[i], twists[i], poses[i + 1])) if recording.world.motions else None
    run, targets = (recording.world, recording.stepper, recording.state(i)), recording.rows["drive_target"][i]
    given = {"tau": tau, "supply": supply, "targets": targets, "motions": motions}
    driver = Driver(*run, steps=1, h=h, **given, external=True)
    if recording.stepper.projection:
        _list_rows(recording, i, driver)
    view = driver.form(island)
    return view.problem(), view.warm_start()


def _list_rows(recording: Record, i: int, driver: Driver) -> None:
    """Restrict the driver's next search to the contacts and joint rows that took part in step ``i``.

    Their ids go to ``work.listed``, rows to ``joints.missed``, and the margin is enlarged. A new search alone may find
    others, because a repeated search depends on data that are not recorded.
    """
    own, rows = recording.rows_of_step("contact_step", i), recording.rows
    ids, gaps = np.sort(rows["contact_id"][own]), rows["contact_gap"][own]
    driver.work.v_seen[0] = recording.v[i + 1]
    driver.work = driver.work._replace(listed=ids.astype(np.int64))
    driver.parameters.more = max(0.0, float(np.max(gaps, initial=0.0)) - recording.stepper.thresholds.margin)
    if driver.joints is not None:
        driver.joints.missed[rows["joint_row"][recording.rows_of_step("joint_step", i)]] = 1


def _supply(recording: Record, i: int) -> Supply | None:
    """Return a function that gives step ``i`` its external contacts again, None if it has none."""
    own = recording.rows_of_step("contact_step", i)
    chosen = own.start + np.flatnonzero(recording.rows["contact_id"][own] >= layout.EXTERNAL_ID)
    if not chosen.size:
        return None
    ints = np.full((chosen.size, layout.CONTACT_INTS), -1, dtype=np.int64)
    floats = np.zeros((chosen.size, layout.CONTACT_FLOATS))
    for name, column in (("body_a", layout.BODY_A), ("body_b", layout.BODY_B), ("id", layout.CONTACT_ID)):
        ints[:, column] = recording.rows[f"contact_{name}"][chosen]
    floats[:, layout.POINT : layout.POINT + 3] = recording.rows["contact_point"][chosen]
    floats[:, layout.NORMAL : layout.NORMAL + 3] = recording.rows["contact_normal"][chosen]
    for name, column in (("gap", layout.GAP), ("mu", layout.MU), ("restitution", layout.RESTITUTION)):
        floats[:, column] = recording.rows[f"contact_{name}"][chosen]
    return lambda _time, _q, _v: (ints, floats)


def island_rows(recording: Record, name: str, i: int, island: int) -> NDArray[Any]:
    """Return the rows of an array of contacts or joints that belong to an island."""
    axis = name.split("_", maxsplit=1)[0]
    chosen = recording.rows_of_step(f"{axis}_step", i)
    mask = recording.rows[f"{axis}_island"][chosen] == island
    if not 0 <= island < recording.islands[i]:
        raise IndexError(f"island {island}: step {i} has {int(recording.islands[i])}")
    selected: NDArray[Any] = recording.rows[name][chosen][mask]
    return selected
