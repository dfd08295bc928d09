"""Independent checks of records: plain numpy from joints and shapes to the certificate, without kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.naming import module_hooks
from contactlab.simulation.verification.verifying import (
    CONDITIONS,
    ConditionReport,
    VerificationFailure,
    VerificationReport,
    verify,
)

__all__ = ["CONDITIONS", "ConditionReport", "VerificationFailure", "VerificationReport", "verify"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
