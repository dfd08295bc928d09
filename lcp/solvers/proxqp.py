"""ProxQP, a primal-dual augmented Lagrangian method for quadratic programs, as an LCP solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.options import flag, real, whole
from lcp.solvers.shared.quadratic import Answer, ProgramMethod, usable
from lcp.solvers.shared.quadratic_program import Program
from lcp.traits import MONOTONE, Traits

# What ProxQP takes for infinite.
_INFINITE = 1e20


@dataclass(frozen=True)
class ProxQP(ProgramMethod):
    """Primal-dual augmented Lagrangian on the QP of a positive semidefinite problem by ProxQP (Bambade et al. 2022).

    UNSUITABLE for any other, and where the package ``proxsuite`` is not installed. Scaled before and polished after as
    in `OSQP`; a sparse M stays sparse, bounds stay bounds. ProxQP takes no time limit,
    and its sparse form is slow on banded problems beyond n = 1000.

    Parameters
    ----------
    eps
        Absolute tolerance on primal and dual feasibility.
    max_iter
        Limit on outer iterations.
    polish
        Polish on the active set (see `Refined`).

    References
    ----------
    A. Bambade, S. El-Kazdadi, A. Taylor, J. Carpentier, ProxQP: yet another quadratic programming solver for robotics
    and beyond, Robotics: Science and Systems (2022).
    """

    eps: float = real(1e-9, least=0.0, most=1.0, open_ends=True)
    max_iter: int = whole(1000, least=1)
    polish: bool = flag(True)

    package: ClassVar[str | None] = "proxsuite"
    traits: ClassVar[Traits] = MONOTONE | Traits.WARM_START | Traits.SPARSE | Traits.BOXED

    def _answer(self, program: Program, start: NDArray[np.float64] | None) -> Answer:
        from proxsuite import proxqp

        n = program.c.shape[0]
        if program.sparse:
            # The sparse form has no bounds of its own.
            C, low, high = program.all_rows()
            task = proxqp.sparse.QP(n, 0, C.shape[0])
            bounds: tuple[NDArray[np.float64], ...] = ()
        else:
            C, low, high = program.G, program.low, program.high
            task = proxqp.dense.QP(n, 0, 0 if C is None else C.shape[0], True)
            bounds = (_finite(program.lo), _finite(program.hi))
        rows = (None, None, None) if C is None else (C, _finite(low), _finite(high))
        P = program.P.tocsc() if program.sparse else program.P
        settings = task.settings
        settings.eps_abs, settings.eps_rel = self.eps, 0.0
        settings.eps_primal_inf = settings.eps_dual_inf = 1e-9
        settings.max_iter = self.max_iter
        task.init(P, program.c, None, None, *rows, *bounds)
        if start is not None:
            settings.initial_guess = proxqp.InitialGuess.WARM_START
            task.solve(start, None, None)
        else:
            task.solve()
        info = task.results.info
        word = info.status.name.removeprefix("PROXQP_").lower().replace("_", " ")
        limited = info.status == proxqp.PROXQP_MAX_ITER_REACHED
        return Answer(usable(task.results.x, n), f"ProxQP: {word}", int(info.iter), limited)


def _finite(bound: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(bound, -_INFINITE, _INFINITE)
