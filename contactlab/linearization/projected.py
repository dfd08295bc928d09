"""What the displacement that undoes depth does to the derivative of a step: see `stepping.kernels.projection`.

The gaps that pushed end where they were opened to, whatever the start, and what friction held is not moved along the
surface. The displacement that has both, with its rows and masses as they are, is differentiated. That is exact for one
contact of a free body with a half-space, whose normal and mass do not change with q. What is left out is of the order
of the displacement: how rows and masses change, friction that slides, and that relaxation ends before it has the
solution of several rows. Steps with a displacement are therefore told as kinks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactlab.linearization.kernels.layout import FORCE, GAMMA, RATE, Memory
from contactlab.multibody import mass_matrix
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.kernels.layout import TREE_DOF

if TYPE_CHECKING:
    from contactlab.stepping.driver import Driver

#: Of its bound, what friction that holds is at most.
HOLDS = 1.0 - 1e-6


def hold_gaps(driver: Driver, m: Memory) -> None:
    """Take off from dq+ in m.A what the displacement makes up for."""
    world, control, h = driver.prepared.world, driver.control, float(driver.parameters.last_h)
    nv = world.nv
    contacts = driver.chunk.contact[: int(control.n_contacts)]
    joints = driver.chunk.joint[: int(control.chunk_joints)]
    moved = set(contacts["island"][contacts["push"] > 0.0]) | set(joints["island"][joints["push"] > 0.0])
    if not moved:
        return
    shifting = _shifting(driver, set(joints["island"]))
    # Of rows R of the displacement, how R dq changes, but for its sign.
    rows, wanted = list[FloatArray](), list[FloatArray]()
    none = np.zeros(m.A.shape[1])
    for c, row in enumerate(contacts):
        own, frame = m.contact[c], m.frame[c, :3] * (shifting >= 0.0)
        if row["island"] not in moved or own[GAMMA] != driver.parameters.cfm:
            continue
        push, bears = row["push"], h * h * own[FORCE]
        if push > 0.0:
            change = h * (m.frame[c, 0] @ m.A[nv:])
            change[:nv] += m.gaps[c] + h * m.changes[c, 0, :nv]
            capped = row["gap"] + h * own[RATE] < -h * _fastest(driver, row["shape_a"], row["shape_b"])
            rows.append(frame[0])
            wanted.append(none if capped else change)
        friction = row["push_tangential"] + h * h * own[FORCE + 1 : FORCE + 3]
        if np.linalg.norm(friction) < HOLDS * row["mu"] * (bears + push):
            rows += [frame[1], frame[2]]
            wanted += [none, none]
    for row in joints:
        if row["island"] in moved:
            _add_joint_row(driver, row, m, h, rows, wanted)
    R = np.array(rows)
    inverse = np.linalg.inv(mass_matrix(world.model, m.q))
    alone = shifting != 0.0
    inverse[alone], inverse[:, alone] = 0.0, 0.0
    inverse[alone, alone] = np.maximum(shifting[alone], 0.0)
    Y = inverse @ R.T
    m.A[:nv] -= Y @ np.linalg.lstsq(R @ Y, np.array(wanted), rcond=1e-10)[0]


def _shifting(driver: Driver, joined: set[int]) -> FloatArray:
    """Return `PackedWorld.shifting`, 0 also in islands with rows of joints."""
    packed, work = driver.prepared.arrays.packed, driver.work
    shifting = packed.shifting.copy()
    for i in joined:
        for k in work.island_trees[work.tree_start[i] : work.tree_start[i + 1]]:
            shifting[packed.trees[k, TREE_DOF] : packed.trees[k + 1, TREE_DOF]] = 0.0
    return shifting


def _fastest(driver: Driver, *shapes: int) -> float:
    """Return the speed at which the depth of a contact of these shapes, -1 for none, is undone at most."""
    from contactlab.stepping.kernels.blocks import PROJECTION_RATE

    if driver.parameters.fastest >= 0.0:
        return float(driver.parameters.fastest)
    longest = driver.prepared.arrays.packed.longest
    size = min(longest[shape] if shape >= 0 else np.inf for shape in shapes)
    return float(PROJECTION_RATE * (size if size < np.inf else longest[-1]))


def _add_joint_row(
    driver: Driver, entry: np.void, m: Memory, h: float, rows: list[FloatArray], wanted: list[FloatArray]
) -> None:
    """Add a stop that pushed, or an equation that the displacement keeps."""
    from contactlab.formulation.kernels.laws import LIMIT, LOOP, MIMIC
    from contactlab.stepping.kernels.blocks import STOP_PROJECTION_RATE

    joints, nv = driver.joints, m.v.size
    assert joints is not None
    row = joints.rows[int(entry["row"])]
    J, change = np.zeros(nv), np.zeros(m.A.shape[1])
    if row["kind"] == LIMIT and entry["push"] > 0.0:
        J[row["dof"]] = row["sign"]
        fastest = driver.parameters.fastest if driver.parameters.fastest == np.inf else STOP_PROJECTION_RATE
        if entry["error"] + h * entry["rate"] >= -h * fastest:
            change = J @ m.A[:nv]
    elif row["kind"] == LOOP:
        J = joints.loop_G[int(row["loop_row"])].copy()
    elif row["kind"] == MIMIC:
        J[row["dof"]], J[row["other"]] = 1.0, -row["factor"]
    else:
        return
    rows.append(J)
    wanted.append(change)
