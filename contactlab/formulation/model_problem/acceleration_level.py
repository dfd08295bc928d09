"""Problem data in accelerations and forces from a model at one instant.

Closed contacts and limits that do not separate have rows; a contact that slides has one friction row, along its
slip, the others have the edges of the pyramid. All rows are rigid: this level knows no softening.
"""

from __future__ import annotations

import math

import numpy as np

from contactlab.formulation.model_problem.branches import SparseRows, unit_rows
from contactlab.formulation.model_problem.errors import BridgeError
from contactlab.formulation.model_problem.inputs import LevelData, ProblemInputs, append_row, contact_rows
from contactlab.formulation.model_problem.rows import Operator, Row, RowTable
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintAccelProblemData


def acceleration_level(p: ProblemInputs) -> LevelData[ConstraintAccelProblemData]:
    """State the acceleration-level problem."""
    rows: dict[Operator, list[Row]] = {}
    g, at = p.geometry, p.thresholds
    contacts = np.flatnonzero((g.gap <= at.closed) & (g.approach <= at.rest))
    slides = p.slides[contacts]
    sliding, resting = contacts[slides], contacts[~slides]
    mu_sliding = np.array([p.contacts[c].mu_sliding for c in sliding.tolist()])
    mu_resting = np.array([p.contacts[c].mu_non_sliding for c in resting.tolist()])
    along = g.slip[sliding] / p.slip_speed[sliding, None]
    counts = np.where(mu_resting > 0.0, p.edges // 2, 0)
    of, number, directions = g.edges(resting, counts, p.edges)
    normals = g.normal[contacts]
    alpha, beta = p.stabilisation["contacts"].rates

    contact_rows(p, rows, "N", contacts, normals, "normal")
    contact_rows(p, rows, "Q", sliding, along, "sliding")
    contact_rows(p, rows, "F", of, directions, "friction", number)
    L, kL = _limits(p, rows)
    tau, held = _held(p)
    G, kG, scaleG, errorG = _bilateral(p, rows, held)
    data = ConstraintAccelProblemData(
        tau=tau,
        N=g.rows(contacts, normals),
        Q=g.rows(sliding, along),
        F=g.rows(of, directions),
        L=L,
        G=G,
        kN=g.bias(contacts, normals) + 2.0 * alpha * g.approach[contacts] + beta**2 * g.gap[contacts],
        kF=g.bias(of, directions),
        kL=kL,
        kG=kG,
        scaleG=scaleG,
        errorG=errorG,
        mu_sliding=mu_sliding,
        mu_non_sliding=mu_resting,
        sliding_contacts=np.flatnonzero(slides),
        non_sliding_contacts=np.flatnonzero(~slides),
        r=counts,
        solve_inertia=p.solve_inertia,
    )
    return LevelData(data, RowTable.of(rows), contacts)


def _limits(p: ProblemInputs, rows: dict[Operator, list[Row]]) -> tuple[SparseRows, FloatArray]:
    """Rows of closed limits that do not open, and their terms."""
    at, v = p.thresholds, p.kin._v
    alpha, beta = p.stabilisation["limits"].rates
    closed = [s for s in p.stops if s.gap <= at.closed and s.sign * v[s.coordinate.v] <= at.rest]
    for stop in closed:
        append_row(rows, "L", Row("L", 0, stop.kind, stop.coordinate.name, stop.label))
    columns = np.array([stop.coordinate.v for stop in closed], dtype=np.int64)
    signs = np.array([stop.sign for stop in closed])
    gaps = np.array([stop.gap for stop in closed])
    return unit_rows(columns, signs, p.model.nv), 2.0 * alpha * signs * v[columns] + beta**2 * gaps


def _held(p: ProblemInputs) -> tuple[FloatArray, list[Row]]:
    """Applied forces, including forces of joints that slip, and rows of joints that stick, by coordinate."""
    tau, held = p.applied.copy(), []
    for servo in p.servos:
        tau[servo.coordinate.v] += servo.force
    for holder in p.holders:
        if holder.label in p.given:
            tau[holder.coordinate.v] += p.given[holder.label]
        elif holder.has_target_speed(p.thresholds.rest):
            source, at = holder.coordinate.name, holder.coordinate.v
            held.append(Row("G", at, holder.kind, source, holder.label, bounds=holder.bounds))
        elif math.isinf(holder.force_against):
            raise BridgeError(
                "drives",
                f"{holder.label!r} has no largest force and is off its speed, {holder.speed:g} instead of "
                f"{holder.target:g}: no finite acceleration brings it there; use the velocity level",
            )
        else:
            tau[holder.coordinate.v] += holder.force_against
    return tau, held


def _bilateral(
    p: ProblemInputs, rows: dict[Operator, list[Row]], held: list[Row]
) -> tuple[SparseRows, FloatArray, FloatArray, FloatArray]:
    """Rows of loops, of mimic relations and of joints that hold: G, kG, scaleG and errorG."""
    from scipy.sparse import csr_array, vstack

    parts, terms, scales, errors = [], [], [], []
    for group in (p.loops, p.mimics):
        for row in group.rows:
            append_row(rows, "G", row)
        parts.append(csr_array(group.jacobian))
        terms.append(group.acceleration)
        scales.append(group.scale)
        errors.append(group.position)
    for row in held:
        append_row(rows, "G", row)
    columns = np.array([row.index for row in held], dtype=np.int64)
    parts.append(unit_rows(columns, np.ones(columns.size), p.model.nv))
    terms.append(np.zeros(columns.size))
    scales.append(np.ones(columns.size))
    errors.append(np.zeros(columns.size))
    return vstack(parts, format="csr"), np.concatenate(terms), np.concatenate(scales), np.concatenate(errors)
