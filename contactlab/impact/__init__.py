"""Impacts: comparison of restitution laws, the impulse path of a single impact, and Painleve's paradox.

Every law takes one `problem_data.ConstraintVelProblemData`, whose Mv is the momentum before the impact, and returns an
`ImpactOutcome`. No law is right for all impacts: `compare` shows how far they differ, and which of them gain energy.
"""

from typing import TYPE_CHECKING

from contactlab.collision import PowerLaw, RestitutionLaw
from contactlab.impact.collision import Collision, ImpactProblem, Restitution
from contactlab.impact.compare import Comparison, ContactMotion, ImpactMap, all_laws, compare, impact_map, uniqueness
from contactlab.impact.law import ImpactLaw, ImpactOutcome, ImpactStatus, SequentialLaw
from contactlab.impact.ordered_laws import Newton, Poisson, Stronge
from contactlab.impact.outcome_set import OutcomeSet, outcome_set
from contactlab.impact.painleve import InstantMode, PainleveMap, painleve_map, painleve_scan, painleve_threshold
from contactlab.impact.single import Phase, RouthDiagram, Segment, SingleImpact, State, routh_diagram
from contactlab.impact.single_laws import Brach, ChatterjeeRuina, Smith, TangentialCompliance
from contactlab.multibody.spatial.arrays import ImpactError
from contactlab.naming import module_hooks

#: All laws, as classes; `all_laws` has the three laws with an order, in both orders.
ALL_LAWS = (Newton, Poisson, Stronge, ChatterjeeRuina, Brach, Smith, TangentialCompliance)

__all__ = [
    "ALL_LAWS", "Brach", "ChatterjeeRuina", "Collision", "Comparison", "ImpactError", "ImpactLaw", "ImpactMap",
    "ImpactOutcome", "ImpactProblem", "ImpactStatus", "InstantMode", "ContactMotion", "Newton", "OutcomeSet",
    "PainleveMap", "Phase", "Poisson", "PowerLaw", "Restitution", "RestitutionLaw", "RouthDiagram", "Segment",
    "SequentialLaw", "SingleImpact", "Smith", "State", "Stronge", "TangentialCompliance", "compare", "all_laws",
    "outcome_set", "painleve_map", "painleve_scan", "painleve_threshold", "routh_diagram", "impact_map", "uniqueness",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
