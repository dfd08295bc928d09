"""The mechanical certificate of a solved step: the violation of every condition of contact, and its scale.

An LCP solver's verdict means that a vector solves a matrix problem. The certificate means that the forces and the
velocity after the step obey mechanics; it is evaluated on the problem data, not on the LCP.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from contactlab.multibody.spatial.arrays import FloatArray

#: Conditions in the order of the kernel's certificate array: violation of condition c at 2 c, its scale at 2 c + 1.
CONDITIONS = (
    "normal_gap",
    "normal_complementarity",
    "cone",
    "dissipation",
    "maximum_dissipation",
    "limit_gap",
    "limit_complementarity",
    "force_sign",
)

#: Conditions of boxed rows, in the order of the array of the kernel `certify_boxed`.
BOXED_CONDITIONS = ("box_bounds", "box_gap", "box_complementarity")

#: The formula of each condition, for every row; s = F v+ + kF of a contact, edges fF+, fF- >= 0 with fF = fF+ - fF-;
#: sB = B v+ + kB + gammaB fB of a boxed row.
FORMULAS = {
    "normal_gap": "N v+ + kN + gammaN fN >= 0",
    "normal_complementarity": "fN (N v+ + kN + gammaN fN) = 0",
    "cone": "sum |fF| <= mu fN",
    "dissipation": "fF . s <= 0",
    "maximum_dissipation": "fF . s + mu fN max|s| = 0",
    "limit_gap": "L v+ + kL + gammaL fL >= 0",
    "limit_complementarity": "fL (L v+ + kL + gammaL fL) = 0",
    "force_sign": "fN, fF+, fF-, fL >= 0",
    "bilateral": "G v+ + kG = 0",
    "box_bounds": "lo <= fB <= hi",
    "box_gap": "hi = inf: sB >= 0; lo = -inf: sB <= 0",
    "box_complementarity": "(fB - lo) sB+ = 0, (hi - fB) sB- = 0",
}

#: The same with Coulomb's exact cone, s = F v+ + kF + gammaF fF over the tangents of a contact; it has no boxed rows.
CONE_FORMULAS = {
    **{name: formula for name, formula in FORMULAS.items() if name not in BOXED_CONDITIONS},
    "cone": "|fF| <= mu fN",
    "maximum_dissipation": "fF . s + mu fN |s| = 0",
    "force_sign": "fN, fL >= 0",
}

#: The same at acceleration level, which has no boxed rows; cone and dissipation are for contacts that do not
#: slide, with s = F a + kF.
ACCELERATION_FORMULAS = {
    "normal_gap": "N a + kN >= 0",
    "normal_complementarity": "fN (N a + kN) = 0",
    "cone": "sum |fF| <= mu fN",
    "dissipation": "fF . s <= 0",
    "maximum_dissipation": "fF . s + mu fN max|s| = 0",
    "limit_gap": "L a + kL >= 0",
    "limit_complementarity": "fL (L a + kL) = 0",
    "force_sign": "fN, fF+, fF-, fL >= 0",
    "bilateral": "G a + kG = 0",
}


#: Maximum distance from the selected forces, relative to the largest force, of forces that count as selected:
#: `ForceChoice.EQUAL_COMPLIANCE`. The kernels that mark them have the same number
#: (`lcp.contacts.kernels.active_set`).
SELECTED_WITHIN = 1e-3
#: The tolerance of `verify`, which computes these forces with other compliances.
VERIFIED_WITHIN = 5e-3


class ForceChoice(enum.IntEnum):
    """How the forces of a contact problem were selected among all its solutions; unique forces are the same for all."""

    #: of a record that is too old to have it
    UNKNOWN = 0
    #: any solution: a solver was named, or there is no contact
    ANY = 1
    #: the selected forces (`contactlab.EqualCompliance`), within `SELECTED_WITHIN` of the largest, or unique forces
    EQUAL_COMPLIANCE = 2
    #: another certified solution, because the selected forces were not found
    OTHER_SOLUTION = 3
    #: no solution was found, and the run continued with the best forces (`TimeStepping.on_unsolved`)
    UNCERTIFIED = 4


@dataclass(frozen=True)
class Check:
    """One condition on the row with the largest violation.

    Parameters
    ----------
    violation : float
        Violation of the condition, in its unit (a rate, a force or a power); 0 if it is satisfied.
    scale : float
        Size of the terms of that row before cancellation, in the same unit; 0 if there is no such row.
    """

    violation: float
    scale: float

    @property
    def scaled(self) -> float:
        """Violation over scale: rounding gives about 1e-15, an error of one per cent in a force about 1e-3."""
        if self.scale > 0.0:
            return self.violation / self.scale
        return 0.0 if self.violation == 0.0 else math.inf


@dataclass(frozen=True)
class Certificate:
    """The checks of one solved problem; `FORMULAS`, `CONE_FORMULAS` or `ACCELERATION_FORMULAS` have the conditions.

    With softening, the cone is widened by gammaE lambda, and maximum dissipation includes the dissipation of the
    softening (`lcp.contacts.kernels.certify`). A scaled value compares the violation with the size of the terms before
    cancellation, so it is independent of units and mass ratios (componentwise backward error, Oettli and Prager 1964).
    """

    normal_gap: Check
    normal_complementarity: Check
    cone: Check
    dissipation: Check
    maximum_dissipation: Check
    limit_gap: Check
    limit_complementarity: Check
    force_sign: Check
    bilateral: Check
    box_bounds: Check = Check(0.0, 0.0)
    box_gap: Check = Check(0.0, 0.0)
    box_complementarity: Check = Check(0.0, 0.0)
    #: the formula of each condition
    formulas: Mapping[str, str] = field(default_factory=lambda: FORMULAS, repr=False)
    #: conditions that the method did not impose: they are measured like the others, and may be violated
    not_enforced: tuple[str, ...] = ()

    @classmethod
    def from_kernel(
        cls,
        cert: FloatArray,
        bilateral: Check | None = None,
        boxed: FloatArray | None = None,
        *,
        formulas: Mapping[str, str] = FORMULAS,
        not_enforced: tuple[str, ...] = (),
    ) -> Certificate:
        """Return a certificate from the arrays that the kernels `certify` (>= 16,) and `certify_boxed` (6,) filled."""
        checks = {name: Check(float(cert[2 * c]), float(cert[2 * c + 1])) for c, name in enumerate(CONDITIONS)}
        if boxed is not None:
            for c, name in enumerate(BOXED_CONDITIONS):
                checks[name] = Check(float(boxed[2 * c]), float(boxed[2 * c + 1]))
        return cls(
            **checks,
            bilateral=Check(0.0, 0.0) if bilateral is None else bilateral,
            formulas=formulas,
            not_enforced=not_enforced,
        )

    def checks(self) -> dict[str, Check]:
        """Return every check by the name of its condition, for conditions with a formula."""
        return {name: getattr(self, name) for name in self.formulas}

    def violated(self, tolerance: float = 1e-9) -> tuple[str, ...]:
        """Return the names of the conditions whose scaled violation exceeds ``tolerance``."""
        return tuple(name for name, check in self.checks().items() if not check.scaled <= tolerance)

    @property
    def worst(self) -> float:
        """Largest scaled violation."""
        return self.checks()[self.worst_condition].scaled

    @property
    def worst_condition(self) -> str:
        """Name of the condition with the largest scaled violation."""
        checks = self.checks()
        return max(checks, key=lambda name: (math.isnan(checks[name].scaled), checks[name].scaled))

    def holds(self, tolerance: float = 1e-9) -> bool:
        """Return True if every scaled violation is at most ``tolerance``, also of conditions that were not enforced."""
        return self.worst <= tolerance

    def __str__(self) -> str:
        lines = [f"{'condition':<24}{'states':<40}{'violation':>12}{'scale':>12}{'scaled':>12}"]
        for name, check in self.checks().items():
            if check.scale == 0.0 and check.violation == 0.0:
                values = f"{'-':>12}{'-':>12}{'-':>12}"
            else:
                values = f"{check.violation:>12.2e}{check.scale:>12.2e}{check.scaled:>12.2e}"
            lines.append(f"{name:<24}{self.formulas[name]:<40}{values}")
        if self.not_enforced:
            broken = [name for name in self.violated() if name in self.not_enforced]
            lines.append(f"not enforced, only measured: {', '.join(self.not_enforced)}")
            lines.append(f"of these violated: {', '.join(broken) or 'none'}")
        lines.append(f"worst: {self.worst_condition}, {self.worst:.2e}")
        return "\n".join(lines)
