"""Checks of the islands of a slice: contacts and joint rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sparse

from contactlab.constraint_solver.model_problem.drives import RowKind
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.verification.contacts import ContactRows, contact_rows
from contactlab.simulation.verification.dynamics import Blocks
from contactlab.simulation.verification.equal_compliance_check import EqualComplianceCheck
from contactlab.simulation.verification.island import FAINT, NOTHING, ContactProblem, JointProblem
from contactlab.simulation.verification.joints import JointLaws
from contactlab.simulation.verification.portion import (
    Found,
    Islands,
    StepSlice,
    inverse,
    largest_of,
    max_relative,
    sparse_rows,
    worst_of,
)


def island_findings(
    portion: StepSlice,
    islands: Islands,
    frames: FloatArray,
    laws: JointLaws,
    forces: FloatArray,
    v_free: FloatArray,
    M: Blocks,
    selections: EqualComplianceCheck | None,
) -> Iterator[Found]:
    """Yield the conditions of the islands, and whether each has a certificate in the record."""
    recording, rows, ns = portion.recording, portion.recording.rows, portion.steps.size
    numbers = rows["joint_row"][portion.joints]
    listed = np.zeros((ns, laws.lo.size), dtype=bool)
    listed[portion.joint_at, numbers] = True
    yield "rows", np.arange(ns), -1, -1, laws.missing_rows(listed)
    count = islands.at.size
    sizes = [np.bincount(of, minlength=count) for of in (islands.of_contacts, islands.of_joints)]
    said = [np.where(islands.row >= 0, rows[f"island_{name}"][islands.row], -1) for name in ("contacts", "joints")]
    sound = (sizes[0] == said[0]) & (sizes[1] == said[1]) & (sizes[0] + sizes[1] > 0) if count else np.zeros(0, bool)
    claimed = np.abs(rows["island_measures"][islands.row, 1]) if count else np.zeros(0)
    yield "solved", islands.at, islands.label, -1, np.where(sound, claimed, np.inf)
    contacts, J = contact_rows(portion, v_free, frames)
    n = contacts.cone.size + contacts.at.size
    members = sound[islands.of_contacts], sound[islands.of_joints]
    places = portion.joint_at[:, None] * recording.world.nv + np.arange(recording.world.nv)
    of_rows = laws.J[portion.joint_at, numbers][:, None]
    J_joints = sparse_rows([(np.arange(numbers.size)[:, None], places, of_rows)], (numbers.size, J.shape[1]))
    J_joints.eliminate_zeros()
    M_inverse = inverse(M)
    Y, Y_joints = (sparse.csr_matrix(rows_of @ M_inverse) for rows_of in (J, J_joints))
    free, v_plus, lively = v_free.ravel(), portion.v_plus.ravel(), islands.kinetic_norm(M, v_free)
    # The effects of joint rows are given data for the contacts, and vice versa.
    pushing = forces[portion.joint_at, numbers]
    given = portion.h[portion.joint_at] * pushing
    h, answers = portion.h[contacts.at], contacts.solution(portion.column("z"))
    pressed = np.concatenate((answers[0], answers[1] - answers[2]))
    off = portion.column("moment") - h[:, None] * (contacts.along.T @ pressed).reshape(-1, 6)[:, 3:]
    size = (
        h
        * largest_of(np.abs(np.concatenate(answers)), islands.of_contacts[contacts.owners], count)[islands.of_contacts]
    )
    moments = max_relative(off, np.tile(size[:, None], 3))[members[0]]
    found, worst = worst_of(moments, islands.of_contacts[members[0]])
    yield "impulse", islands.at[found], islands.label[found], -1, moments[worst]
    diagonal = np.concatenate(
        [np.asarray(one.multiply(other).sum(axis=1)).ravel() for one, other in ((J, Y), (J_joints, Y_joints))]
    )
    impulse, of_joints = _rated(portion, laws, contacts, islands, diagonal, answers, pushing, numbers)
    speed = np.abs(free) + abs(Y).T @ impulse[:n] + abs(Y_joints).T @ impulse[n:]
    stepper, velocities = recording.stepper, (free, Y_joints.T @ given, v_plus, speed, lively, of_joints)
    law = stepper.friction == "cone", stepper.law if stepper.asks_backend else None
    problem = ContactProblem(contacts, islands.of_contacts, count, h, J, Y, J @ Y.T, *answers, *velocities, *law)
    for condition, own, values in problem.measures():
        own, values = own[members[0][own]], values[members[0][own]]
        yield condition, contacts.at[own], islands.label[islands.of_contacts[own]], portion.contacts[own], values
    force, error, rate = (rows[f"joint_{name}"][portion.joints] for name in ("force", "error", "rate"))
    moves = J_joints, Y_joints, v_plus, speed, lively[islands.of_joints], portion.h[portion.joint_at]
    joined = JointProblem(numbers, portion.joint_at, islands.of_joints, force, error, rate, *moves)
    for condition, own, values in joined.measures(laws):
        own, values = own[members[1][own]], values[members[1][own]]
        yield condition, portion.joint_at[own], islands.label[islands.of_joints[own]], -1, values
    if selections is not None:
        yield selections.take(portion, problem, joined, laws, islands, sound)


def _rated(
    portion: StepSlice,
    laws: JointLaws,
    contacts: ContactRows,
    islands: Islands,
    own: FloatArray,
    answers: tuple[FloatArray, ...],
    pushing: FloatArray,
    numbers: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the sizes of the impulses (m,) of all rows, and by island the largest balanced force of compliant joints.

    A smaller force is rounding of the whole. ``own`` (m,) is the diagonal of J M^-1 J^T. Rows are [N; F] of contacts,
    then joint rows. ``pushing`` are the forces of the joint rows, ``numbers`` their indices in ``world.joint_rows``. A
    unilateral force counts with at least NOTHING of the island's largest. With moments, from active limits or from
    friction, balanced forces f sqrt(h W_ii + gamma) are compared.
    """
    fN, plus, minus = answers[:3]
    n, count = fN.size + plus.size, islands.at.size
    h = np.concatenate((portion.h[contacts.at[contacts.row_contact]], portion.h[portion.joint_at]))
    island = np.concatenate((islands.of_contacts[contacts.row_contact], islands.of_joints))
    soft = laws.gamma[portion.joint_at, numbers]
    gamma = np.concatenate((contacts.gamma, np.zeros(plus.size), soft))
    force = np.abs(np.concatenate((fN, plus - minus, pushing)))
    root = np.sqrt(np.maximum(0.0, h * own + gamma))
    kinds = [row.kind for row in portion.recording.world.joint_rows]
    stops = np.array([kind == RowKind.LIMIT for kind in kinds] or [False])[numbers]
    unilateral = np.concatenate((np.ones(n, dtype=bool), stops))
    # An island with moment rows has more friction rows than sliding friction.
    turning = np.zeros(island.size, dtype=bool)
    turning[fN.size : n] = contacts.cone >= fN.size
    turning[n:] = stops
    mixed = np.bincount(island[turning], minlength=count)[island] > 0
    unit = np.where(mixed, root, 1.0)
    largest = largest_of(np.where(unilateral, unit * force, 0.0), island, count)[island]
    least = np.divide(NOTHING * largest, unit, out=np.zeros_like(unit), where=unilateral & (unit > 0.0))
    # A force between bounds has the rounding of its bounds.
    ends = [np.where(np.isfinite(end), np.abs(end), 0.0)[numbers] for end in (laws.lo, laws.hi)]
    pressed = np.where(stops, force[n:], np.maximum(force[n:], FAINT * np.maximum(*ends)))
    gives = ~laws.equation[numbers]
    of_joints = largest_of(np.where(gives, root[n:] * pressed, 0.0), islands.of_joints, count)
    return h * np.maximum(force, least), of_joints
