"""Certificates of forces: the kernels' conditions on unilateral and boxed rows, the residual of bilateral ones."""

from __future__ import annotations

import numpy as np

from contactlab.certificate import ACCELERATION_FORMULAS, CONE_FORMULAS, Certificate, Check
from contactlab.formulation.acceleration import full_slack
from contactlab.formulation.blocks import ALL_COLUMNS, Blocks, bilateral_part, force_responses
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData, VelocityBlocks

__all__ = ["certify_accelerations", "certify_cone_forces", "certify_forces"]


def certify_forces(
    data: ConstraintVelProblemData, h: float, z: FloatArray, packed: FloatArray, v_plus: FloatArray
) -> Certificate:
    """Certificate of forces [fN | fF | fL | fG | fB] and v+ over a step h, with the edge magnitudes in z.

    Impulses are certified at h = 1.
    """
    from contactlab.formulation.kernels.certify import CERT_SIZE, certify

    blocks = data.blocks()
    cert = np.empty(CERT_SIZE)
    size = np.empty(blocks.nv + 1)
    certify(
        h,
        blocks.nc,
        blocks.nr,
        blocks.nl,
        blocks.r,
        blocks.mu,
        blocks.J,
        blocks.Y,
        blocks.k,
        blocks.gamma,
        blocks.gammaE,
        blocks.v_free,
        blocks.Mv,
        z,
        packed,
        v_plus,
        ALL_COLUMNS,
        size,
        cert,
    )
    boxed = _boxed(blocks, h, packed, v_plus, size)
    return Certificate.from_kernel(cert, _bilateral(blocks, v_plus, size), boxed)


def certify_cone_forces(
    data: ConstraintVelProblemData, h: float, packed: FloatArray, v_plus: FloatArray
) -> Certificate:
    """Certificate of forces [fN | fF | fL | fG] and v+ over a step h against Coulomb's exact cone."""
    from contactlab.formulation.kernels.certify import CERT_SIZE
    from contactlab.formulation.kernels.certify_cone import certify_with_cones

    blocks = data.blocks()
    cert, size = np.empty(CERT_SIZE), np.empty(blocks.nv + 1)
    certify_with_cones(
        h,
        blocks.nc,
        blocks.nr,
        blocks.nl,
        blocks.r,
        blocks.mu,
        blocks.J,
        blocks.Y,
        blocks.k,
        blocks.gamma,
        blocks.gammaE,
        blocks.v_free,
        blocks.Mv,
        packed,
        v_plus,
        ALL_COLUMNS,
        np.empty_like(blocks.r),
        size,
        cert,
    )
    return Certificate.from_kernel(cert, _bilateral(blocks, v_plus, size), formulas=CONE_FORMULAS)


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
    from contactlab.formulation.kernels.certify import CERT_SIZE, certify_responses

    blocks = data.blocks()
    r = np.zeros(blocks.nc, dtype=np.int64)
    mu = np.zeros(blocks.nc)
    r[blocks.non_sliding] = blocks.r
    mu[blocks.non_sliding] = blocks.mu_non_sliding
    cert = np.empty(CERT_SIZE)
    size = np.empty(blocks.nv + 1)
    certify_responses(
        1.0,
        blocks.nc,
        blocks.nr,
        blocks.nl,
        r,
        mu,
        blocks.J,
        blocks.Y,
        force_responses(blocks),
        blocks.k,
        np.zeros(len(blocks.k)),
        np.zeros(blocks.nc),
        blocks.a_free,
        blocks.tau,
        full_slack(blocks, z),
        packed,
        acceleration,
        ALL_COLUMNS,
        size,
        cert,
    )
    return Certificate.from_kernel(
        cert,
        _bilateral(blocks, acceleration, size),
        formulas=ACCELERATION_FORMULAS,
        not_enforced=not_enforced,
    )


def _boxed(
    blocks: VelocityBlocks, h: float, packed: FloatArray, v_plus: FloatArray, size: FloatArray
) -> FloatArray | None:
    """Conditions of the boxed rows as the kernel fills them; None where there is no such row."""
    from contactlab.formulation.kernels.certify_boxed import BOXED_CERT_SIZE, certify_boxed

    if blocks.nbox == 0:
        return None
    first = bilateral_part(blocks).stop
    cert = np.empty(BOXED_CERT_SIZE)
    certify_boxed(
        h,
        first,
        blocks.J,
        blocks.Y,
        blocks.k,
        blocks.gamma,
        blocks.lo,
        blocks.hi,
        packed,
        v_plus,
        size,
        ALL_COLUMNS,
        cert,
    )
    return cert


def _bilateral(blocks: Blocks, motion: FloatArray, size: FloatArray) -> Check | None:
    """Residual of the bilateral row that is worst against the size of its terms."""
    if blocks.nb == 0:
        return None
    from contactlab.formulation.kernels.bilateral import certify_bilateral

    part, cert = bilateral_part(blocks), np.empty(2)
    certify_bilateral(blocks.J[part], blocks.Y[part], blocks.k[part], motion, size, cert)
    return Check(float(cert[0]), float(cert[1]))
