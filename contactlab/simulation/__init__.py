"""Simulation: worlds, time stepping, records."""

from __future__ import annotations

from contactlab.event_driven import Event, EventDriven, EventError, EventKind, EventRecording, InconsistentContact
from contactlab.formulation import JointLimit, PositionDrive, VelocityDrive
from contactlab.recording import (
    ENTRIES,
    ContactEvent,
    EnergyLedger,
    RecordError,
    Recording,
    RecordWriteError,
    SimulationError,
    SolverStatistics,
)
from contactlab.simulation.batch import BatchResult, simulate_batch
from contactlab.simulation.rollouts import Rollout, rollout
from contactlab.simulation.running import Simulation
from contactlab.simulation.simulate import simulate
from contactlab.stepping import (
    OPEN,
    SLIDE,
    STICK,
    CertificateTable,
    ContactPair,
    ContactTable,
    ExternalContact,
    JointTable,
    Sleep,
    StepResult,
    TimeStepping,
    WorstCertificate,
)
from contactlab.verification import VerificationFailure, VerificationReport, verify
from contactlab.world import (
    ConstantVelocity,
    Conveyor,
    JointRow,
    Motion,
    Oscillation,
    PrescribedMotion,
    SimulationConfigError,
    StepperState,
    Surface,
    Visual,
    VisualMesh,
    World,
    WorldBuilder,
)

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
    "JointLimit",
    "JointRow",
    "JointTable",
    "InconsistentContact",
    "ConstantVelocity",
    "Conveyor",
    "Motion",
    "Oscillation",
    "PositionDrive",
    "PrescribedMotion",
    "RecordError",
    "RecordWriteError",
    "Recording",
    "Rollout",
    "Simulation",
    "SimulationConfigError",
    "SimulationError",
    "SolverStatistics",
    "Sleep",
    "StepResult",
    "StepperState",
    "Surface",
    "TimeStepping",
    "VelocityDrive",
    "VerificationFailure",
    "VerificationReport",
    "Visual",
    "VisualMesh",
    "WorstCertificate",
    "World",
    "WorldBuilder",
    "rollout",
    "simulate",
    "simulate_batch",
    "verify",
]
