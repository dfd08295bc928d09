"""Certificates of forces: the kernels' conditions on unilateral and boxed rows, the residual of bilateral ones."""

from __future__ import annotations

import numpy as np

from contactlab.certificate import ACCELERATION_FORMULAS, CONE_FORMULAS, Certificate, Check
from contactlab.formulation.blocks import Blocks, bilateral_part, force_responses, free_motion, problem_rows
from contactlab.spatial.arrays import FloatArray
from lcp.contacts.kernels.contact_system import ContactSystem
from problem_data import AccelerationBlocks, ConstraintAccelProblemData, ConstraintVelProblemData, VelocityBlocks


def certify_forces(
    data: ConstraintVelProblemData, h: float, z: FloatArray, packed: FloatArray, v_plus: FloatArray
) -> Certificate:
    """Certificate of forces [fN | fF | fL | fG | fB] and v+ over a step h, with the edge magnitudes in z.

    Impulses are certified at h = 1.
    """
    return certify_blocks(data.blocks(), h, z, packed, v_plus)


def certify_blocks(
    blocks: VelocityBlocks, h: float, z: FloatArray, packed: FloatArray, v_plus: FloatArray
) -> Certificate:
    """Certify forces as `certify_forces` does, from the blocks of a problem."""
    rows = problem_rows(h, blocks)
    cert, size = _certify(rows, blocks.Y, False, z, packed, v_plus)
    boxed = _boxed(rows, packed, v_plus, size)
    return Certificate.from_kernel(cert, _bilateral(blocks, v_plus, size), boxed)


def certify_cone_forces(
    data: ConstraintVelProblemData, h: float, packed: FloatArray, v_plus: FloatArray
) -> Certificate:
    """Certificate of forces [fN | fF | fL | fG | fB] and v+ over a step h against Coulomb's exact cone."""
    blocks = data.blocks()
    rows = problem_rows(h, blocks)
    cert, size = _certify(rows, blocks.Y, True, packed, packed, v_plus)
    boxed = _boxed(rows, packed, v_plus, size)
    return Certificate.from_kernel(cert, _bilateral(blocks, v_plus, size), boxed, formulas=CONE_FORMULAS)


def certify_accelerations(
    data: ConstraintAccelProblemData,
    z: FloatArray,
    packed: FloatArray,
    acceleration: FloatArray,
    *,
    not_enforced: tuple[str, ...] = (),
) -> Certificate:
    """Certificate of forces [fN | fF | fL | fG] and the acceleration (nv,), with the edge magnitudes in z (n,).

    Sliding contacts have no cone of their own: their friction is part of the response to fN.
    """
    blocks = data.blocks()
    cert, size = _certify(problem_rows(1.0, blocks), force_responses(blocks), False, z, packed, acceleration)
    return Certificate.from_kernel(
        cert,
        _bilateral(blocks, acceleration, size),
        formulas=ACCELERATION_FORMULAS,
        not_enforced=not_enforced,
    )


def contradicted_row(blocks: Blocks, h: float | None, packed: FloatArray, motion: FloatArray) -> int:
    """Return the bilateral row that is off by most beyond what errors of assembly explain, -1 if there is none.

    ``h`` is the step, None for an impact or accelerations; ``packed`` are all forces, ``motion`` (nv,) is v+ or a.
    """
    from contactlab.formulation.kernels import agreement

    of_accelerations = isinstance(blocks, AccelerationBlocks)
    # Size of the terms of each velocity before cancellation.
    size = np.abs(free_motion(blocks)) + (h or 1.0) * (np.abs(packed) @ np.abs(force_responses(blocks)))
    part = bilateral_part(blocks)
    # An impact pulls nothing back: position errors explain none of its terms.
    error = blocks.errorG if h is not None or of_accelerations else np.zeros(0)
    G, k, work = blocks.J[part], blocks.k[part], np.empty(blocks.nb)
    return int(agreement.contradicted_row(G, k, blocks.scaleG, error, h or 0.0, motion, size, work))


def _certify(
    rows: ContactSystem, responses: FloatArray, cone: bool, z: FloatArray, packed: FloatArray, motion: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Conditions of contacts and limits as the kernel fills them, and the size (nv + 1,) of the velocities."""
    from lcp.contacts.kernels.certify import CERT_SIZE, certify

    cert, size = np.empty(CERT_SIZE), np.empty(len(motion) + 1)
    certify(rows, responses, cone, z, packed, motion, np.zeros(0), size, cert)
    return cert, size


def _boxed(rows: ContactSystem, packed: FloatArray, v_plus: FloatArray, size: FloatArray) -> FloatArray | None:
    """Conditions of the boxed rows as the kernel fills them; None if there is no such row."""
    from lcp.contacts.kernels.certify_boxed import BOXED_CERT_SIZE, certify_boxed

    if rows.lo.size == 0:
        return None
    cert = np.empty(BOXED_CERT_SIZE)
    certify_boxed(rows, packed, v_plus, np.zeros(0), size, cert)
    return cert


def _bilateral(blocks: Blocks, motion: FloatArray, size: FloatArray) -> Check | None:
    """Residual of the bilateral row that is worst against the size of its terms."""
    if blocks.nb == 0:
        return None
    from contactlab.formulation.kernels.agreement import certify_bilateral

    part, cert = bilateral_part(blocks), np.empty(2)
    certify_bilateral(blocks.J[part], blocks.Y[part], blocks.k[part], blocks.scaleG, motion, size, cert)
    return Check(float(cert[0]), float(cert[1]))
