"""The impact problem: impulses at one instant, from the velocity before to the velocity after.

With v0 = M^-1 Mv led onto the bilateral rows and C the inverse inertia they leave, the LCP in
[fN | fF+ | fF- | lambda | fL], all impulses [N s], is that of the discretised problem at h = 1::

         | N C N' + gN   N C F'        -N C F'        0    N C L'      |        |  N v0 + kN |
         | F C N'        F C F' + gF   -F C F'        E    F C L'      |        |  F v0 + kF |
    MM = |-F C N'       -F C F'         F C F' + gF   E   -F C L'      |   qq = | -F v0 - kF |
         | mu           -E'            -E'            gE   0           |        |  0         |
         | L C N'        L C F'        -L C F'        0    L C L' + gL |        |  L v0 + kL |

The gammas are therefore in 1/kg: a gamma meant for forces over a step h [s/kg] has to be divided by h first. Boxed rows
bring the variables x and y of `discretized`; their bounds are impulses.
"""

from __future__ import annotations

from contactlab.formulation.discretized import DiscretizedLCP, form_discretized_lcp
from problem_data import ConstraintVelProblemData

__all__ = ["form_impact_lcp"]


def form_impact_lcp(data: ConstraintVelProblemData) -> DiscretizedLCP:
    """State the LCP of the impulses [N s]: MM and qq above, h being 1 and dimensionless."""
    return form_discretized_lcp(data, 1.0)
