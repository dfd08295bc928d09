"""Simulation: worlds, time stepping, records."""

from __future__ import annotations

from contactlab.event_driven import (
    Event,
    EventDriven,
    EventError,
    EventKind,
    EventRecording,
    InconsistentContact,
)
from contactlab.recording.energy_ledger import ENTRIES, EnergyLedger
from contactlab.recording.events import ContactEvent, SolverStatistics
from contactlab.recording.record import Recording
from contactlab.simulation.batch import BatchResult, simulate_batch
from contactlab.simulation.simulate import simulate
from contactlab.stepping.contact_pair import ContactPair
from contactlab.stepping.contact_table import OPEN, SLIDE, STICK, CertificateTable, ContactTable, WorstCertificate
from contactlab.stepping.errors import RecordError, RecordWriteError, SimulationConfigError, SimulationError
from contactlab.stepping.external_contacts import ExternalContact
from contactlab.stepping.joint_packing import JointRow
from contactlab.stepping.joint_table import JointTable
from contactlab.stepping.sleep import Sleep
from contactlab.stepping.state import StepperState
from contactlab.stepping.time_stepping import StepResult, TimeStepping
from contactlab.verification import VerificationFailure, VerificationReport, verify
from contactlab.world.builder import WorldBuilder
from contactlab.world.motion import ConstantVelocity, Conveyor, Motion, Oscillation, PrescribedMotion
from contactlab.world.surface import Surface
from contactlab.world.world import World

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
