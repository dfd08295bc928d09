"""Time stepping in compiled form; the loop returns to Python whenever user code must be called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.naming import module_hooks
from contactlab.simulation.stepping.callbacks import EXTERNAL_ID, ExternalContact
from contactlab.simulation.stepping.contact_table import (
    OPEN,
    SLIDE,
    STICK,
    CertificateTable,
    ContactContext,
    ContactPair,
    ContactTable,
    WorstCertificate,
)
from contactlab.simulation.stepping.find_contacts import find_contacts
from contactlab.simulation.stepping.prepared import Prepared, Sleep, prepare, transfer_state, world_arrays
from contactlab.simulation.stepping.step_result import JointTable, StepResult
from contactlab.simulation.stepping.time_stepping import TimeStepping

__all__ = [
    "EXTERNAL_ID",
    "OPEN",
    "SLIDE",
    "STICK",
    "CertificateTable",
    "ContactPair",
    "ContactContext",
    "ContactTable",
    "ExternalContact",
    "JointTable",
    "Prepared",
    "Sleep",
    "StepResult",
    "TimeStepping",
    "WorstCertificate",
    "world_arrays",
    "transfer_state",
    "find_contacts",
    "prepare",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__, {})
