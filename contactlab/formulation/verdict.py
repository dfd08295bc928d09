"""Certificates of forces: the kernel's conditions on the unilateral rows, and the residual of the bilateral ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.certificate import ACCELERATION_FORMULAS, Certificate, Check
from contactlab.formulation.acceleration import full_slack
from contactlab.formulation.blocks import Blocks, force_responses
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

__all__ = ["certify_accelerations", "certify_forces"]

FloatArray = NDArray[np.float64]


def certify_forces(
    data: ConstraintVelProblemData, h: float, z: FloatArray, packed: FloatArray, v_plus: FloatArray
) -> Certificate:
    """Certificate of forces [fN | fF | fL | fG] and v+ over a step h, with the edge magnitudes in z.

    Impulses are certified at h = 1.
    """
    from contactlab.formulation.kernels.certify import CERT_SIZE, certify

    blocks = data.blocks()
    cert = np.empty(CERT_SIZE)
    size = np.empty(blocks.nv)
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
        z,
        packed,
        v_plus,
        size,
        cert,
    )
    return Certificate.from_kernel(cert, _bilateral(blocks, v_plus, size))


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
    size = np.empty(blocks.nv)
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
        full_slack(blocks, z),
        packed,
        acceleration,
        size,
        cert,
    )
    return Certificate.from_kernel(
        cert,
        _bilateral(blocks, acceleration, size),
        formulas=ACCELERATION_FORMULAS,
        not_enforced=not_enforced,
    )


def _bilateral(blocks: Blocks, motion: FloatArray, size: FloatArray) -> Check | None:
    """Residual of the bilateral row that is worst against the size of its terms."""
    if blocks.nb == 0:
        return None
    nu = blocks.nc + blocks.nr + blocks.nl
    G, kG = blocks.J[nu:], blocks.k[nu:]
    rates = np.abs(G @ motion + kG)
    scales = np.abs(G) @ size + np.abs(kG)
    checks = [Check(float(rate), float(scale)) for rate, scale in zip(rates, scales, strict=True)]
    return max(checks, key=lambda check: check.scaled)
