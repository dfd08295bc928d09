"""The cases, in the order of the report; add a case to a list in one of these files."""

from __future__ import annotations

from contactlab.conformance.case import Case
from contactlab.conformance.cases import friction, motion

CASES: tuple[Case, ...] = (*friction.CASES, *motion.IMPACTS, *motion.LINKAGES, *motion.FLIGHT, *motion.MANNERS)
