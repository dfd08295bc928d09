"""Simulation: worlds, time stepping, records."""

from __future__ import annotations

from contactlab.simulation.batch import BatchResult, simulate_batch
from contactlab.simulation.contact_pair import ContactPair
from contactlab.simulation.contact_table import OPEN, SLIDE, STICK, CertificateTable, ContactTable, WorstCertificate
from contactlab.simulation.energy_ledger import ENTRIES, EnergyLedger
from contactlab.simulation.errors import RecordError, RecordWriteError, SimulationConfigError, SimulationError
from contactlab.simulation.event_driven import (
    Event,
    EventDriven,
    EventError,
    EventKind,
    EventRecording,
    InconsistentContact,
)
from contactlab.simulation.events import ContactEvent, SolverStatistics
from contactlab.simulation.external_contacts import ExternalContact
from contactlab.simulation.joint_packing import JointRow
from contactlab.simulation.joint_table import JointTable
from contactlab.simulation.motion import ConstantVelocity, Conveyor, Motion, Oscillation, PrescribedMotion
from contactlab.simulation.record import Recording
from contactlab.simulation.simulate import simulate
from contactlab.simulation.sleep import Sleep
from contactlab.simulation.state import StepperState
from contactlab.simulation.surface import Surface
from contactlab.simulation.time_stepping import StepResult, TimeStepping
from contactlab.simulation.verification import VerificationFailure, VerificationReport, verify
from contactlab.simulation.world import World
from contactlab.simulation.world_builder import WorldBuilder

__all__ = [
    "ENTRIES",
    "OPEN",
    "SLIDE",
    "STICK",
    "BatchResult",
    "CertificateTable",
    "ContactEvent",
    "ContactPair",
    "ContactTable",
    "EnergyLedger",
    "Event",
    "EventDriven",
    "EventError",
    "EventKind",
    "EventRecording",
    "ExternalContact",
    "JointRow",
    "JointTable",
    "InconsistentContact",
    "ConstantVelocity",
    "Conveyor",
    "Motion",
    "Oscillation",
    "PrescribedMotion",
    "RecordError",
    "RecordWriteError",
    "Recording",
    "SimulationConfigError",
    "SimulationError",
    "SolverStatistics",
    "Sleep",
    "StepResult",
    "StepperState",
    "Surface",
    "TimeStepping",
    "VerificationFailure",
    "VerificationReport",
    "WorstCertificate",
    "World",
    "WorldBuilder",
    "simulate",
    "simulate_batch",
    "verify",
]
