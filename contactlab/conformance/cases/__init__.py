"""The cases, in the order of the report; another one is an entry of a list in one of these files."""

from __future__ import annotations

from contactlab.conformance.case import Case
from contactlab.conformance.cases import flight, friction, impacts, linkage, manners, rest

CASES: tuple[Case, ...] = (*friction.CASES, *rest.CASES, *impacts.CASES, *linkage.CASES, *flight.CASES, *manners.CASES)
