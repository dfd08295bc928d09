"""Time stepping in compiled form; the loop returns to Python whenever user code must be called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.naming import module_hooks
from contactlab.simulation.stepping.callbacks import EXTERNAL_ID, ExternalContact
from contactlab.simulation.stepping.contact_table import (
    OPEN,
    SLIDE,
    STICK,
    ContactContext,
    ContactPair,
    ContactTable,
)
from contactlab.simulation.stepping.island_tables import (
    CertificateTable,
    JointTable,
    UncertifiedTable,
    WorstCertificate,
)
from contactlab.simulation.stepping.prepared import Prepared, prepare, transfer_state, world_arrays
from contactlab.simulation.stepping.time_stepping import Sleep, TimeStepping

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
    "TimeStepping",
    "UncertifiedTable",
    "WorstCertificate",
    "world_arrays",
    "transfer_state",
    "prepare",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
