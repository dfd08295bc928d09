"""Simulation: worlds, time stepping, records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.collision import (
    Box,
    Capsule,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Material,
    Mesh,
    PlacedShape,
    Sphere,
    load_mesh,
)
from contactlab.constraint_solver.certificate import ForceChoice
from contactlab.constraint_solver.model_problem import drives
from contactlab.constraint_solver.model_problem.drives import *  # noqa: F403  # its __all__
from contactlab.constraint_solver.model_problem.options import JointLimit
from contactlab.multibody import Model, ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.naming import module_hooks
from contactlab.simulation.batch import Batch, rollout
from contactlab.simulation.batch_runs import Rollout
from contactlab.simulation.recording import Recording
from contactlab.simulation.recording.energy_ledger import ENTRIES, EnergyLedger
from contactlab.simulation.recording.notices import ImplausibleWarning, Notice
from contactlab.simulation.recording.record import ContactEvent, RecordError, RecordWriteError, SolverStatistics
from contactlab.simulation.recording.run_reports import SimulationError
from contactlab.simulation.simulate_run import simulate
from contactlab.simulation.simulation_run import Simulation
from contactlab.simulation.single_step import StepResult, find_contacts, step
from contactlab.simulation.stepping import Sleep, TimeStepping
from contactlab.simulation.stepping.callbacks import ExternalContact
from contactlab.simulation.stepping.contact_table import ContactPair, ContactTable
from contactlab.simulation.stepping.island_tables import (
    CertificateTable,
    JointTable,
    UncertifiedTable,
    WorstCertificate,
)
from contactlab.simulation.stepping.kernels.layout import OPEN, SLIDE, STICK
from contactlab.simulation.stepping.prepared import transfer_state
from contactlab.simulation.stepping.wrenches import Wrench
from contactlab.simulation.verification import VerificationFailure, VerificationReport, verify
from contactlab.simulation.world import (
    Collider,
    ConstantVelocity,
    Conveyor,
    JointActions,
    JointPolynomial,
    JointRow,
    Motion,
    Oscillation,
    PointSpring,
    PrescribedMotion,
    RayHits,
    RowKind,
    SimulationConfigError,
    StepperState,
    Visual,
    VisualMesh,
    World,
    WorldBuilder,
    load_mjcf,
    load_mjcf_world,
    load_urdf_world,
    sensors,
)

__all__ = [
    "ForceChoice", "Box", "Capsule", "ConvexPoints", "Cylinder", "HalfSpace", "HeightField", "Material", "Mesh",
    "PlacedShape", "Sphere", "load_mesh", "Model", "ModelBuilder", "joints", "RigidInertia", "Transform", "RowKind",
    "JointActions", "ENTRIES", "OPEN", "SLIDE", "STICK", "Batch", "CertificateTable", "ContactEvent", "ContactPair",
    "ContactTable", "EnergyLedger", "ExternalContact", "ImplausibleWarning", "JointLimit", "JointPolynomial",
    "JointRow", "JointTable", "ConstantVelocity", "Conveyor", "Motion", "Oscillation", "Notice", "PointSpring",
    "PrescribedMotion", "RayHits", "RecordError", "RecordWriteError", "Recording", "Rollout", "Simulation",
    "SimulationConfigError", "SimulationError", "SolverStatistics", "Sleep", "StepResult", "StepperState",
    "Collider", "TimeStepping", "UncertifiedTable", "VerificationFailure", "VerificationReport", "Visual",
    "VisualMesh", "WorstCertificate", "Wrench", "World", "WorldBuilder", "load_mjcf", "load_mjcf_world",
    "load_urdf_world", "transfer_state", "find_contacts", "rollout", "sensors", "simulate", "verify", "step",
]  # fmt: skip
__all__ += drives.__all__

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
