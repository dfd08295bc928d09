"""Records checked with arithmetic of their own: plain numpy from joints and shapes to the certificate, no kernels."""

from __future__ import annotations

from contactlab.verification.report import (
    CONDITIONS,
    ConditionReport,
    VerificationFailure,
    VerificationReport,
)
from contactlab.verification.verifying import verify

__all__ = ["CONDITIONS", "ConditionReport", "VerificationFailure", "VerificationReport", "verify"]
