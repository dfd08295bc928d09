"""What becomes of an island that nothing solved: the best forces found, where they are nearly right and make no energy.

Nearly right: every condition of their certificate, of contacts, limits and boxed rows alike, is off by at most NEAR of
its scale, and the measures of the problem as a whole by COARSE: where no forces exist, those of contacts grow without
bound, and their own conditions with them, which then look met. Making no energy: the power of all forces at the rates
of their own rows,

    sum_i f_i (J_i v+ + k_i + gamma_i f_i) <= MADE sum_i |f_i| s_i,

s_i the rate scale of row i (`condition_scales`). Exact forces dissipate: each product is 0 but for friction, drives and
bounds that give way, where it is negative. The sum on the right is what forces and rates exchange before they cancel;
a body held against its weight m g over h has 2 m g^2 h there, so that it may gain speed by about MADE g h, where NEAR
alone would let it have a hundred times that. Ten thousand such steps make less than a hundredth of what one exchanges.
"""

from __future__ import annotations

from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.kernels.layout import (
    CERTIFICATE,
    CHOICE_UNCERTIFIED,
    COARSE,
    MADE,
    NEAR,
    NEARLY,
    Control,
    Island,
)
from lcp.contacts.kernels.condition_scales import row_rate
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.island_acceptance import BEST_RESIDUAL
from lcp.contacts.kernels.strategy_loop import NO_STRATEGY
from lcp.kernels import kernel
from lcp.kernels.residuals import NATURAL_MAP, SCALED


@kernel(inline=True)
def settle(island: Island, control: Control) -> None:
    """Settle for the best of the attempts, or for z as a solver left it; what follows from it is formed as of any."""
    if control.tried != 0:
        for i in range(control.n):
            island.z[i] = island.best[i]
        for i in range(island.measures.shape[0]):
            island.measures[i] = 0.0
        island.measures[SCALED] = island.measures[NATURAL_MAP] = island.state[BEST_RESIDUAL]
        control.pivots = 0
    control.choice = CHOICE_UNCERTIFIED
    control.attempt = NO_STRATEGY
    control.warm_hit = 0


@kernel(inner=True)
def will_do(rows: ContactSystem, island: Island, control: Control) -> bool:
    """Whether the forces, as certified, are taken; notes that they are."""
    if control.backend != 0 and control.nc > 0:
        # By the law that the backend states, of which the certificate here may know nothing.
        nv = rows.v_free.shape[0]
        f = island.f[: rows.k.shape[0]]
        if control.backend_verdict != NEARLY or not makes_no_energy(
            rows, f, island.v_plus[:nv], island.certificate_work[: nv + 1]
        ):
            return False
    elif not is_near(rows, island) or (control.tried != 0 and not island.state[BEST_RESIDUAL] <= COARSE):
        return False
    control.uncertified += 1
    if control.adaptive != 0:
        # Of this island no smaller h was left; of the next one there may be.
        control.go_on = 0
    return True


@kernel(inner=True)
def is_near(rows: ContactSystem, island: Island) -> bool:
    """Whether forces, as certified, are nearly right and make no energy; what is no number is neither."""
    for c in range(CERTIFICATE // 2):
        if not island.certificate[2 * c] <= NEAR * island.certificate[2 * c + 1]:
            return False
    nv = rows.v_free.shape[0]
    f = island.f[: rows.k.shape[0]]
    return makes_no_energy(rows, f, island.v_plus[:nv], island.certificate_work[: nv + 1])


@kernel(inner=True)
def makes_no_energy(rows: ContactSystem, f: FloatArray, v_plus: FloatArray, u: FloatArray) -> bool:
    """Whether the power of the forces at their own rates is not positive; u is what `certify` filled."""
    power = 0.0
    exchanged = 0.0
    for i in range(f.shape[0]):
        rate, scale, _ = row_rate(rows, i, f, v_plus, f[:0], u)
        power += f[i] * (rate + rows.gamma[i] * f[i])
        exchanged += abs(f[i]) * scale
    return power <= MADE * exchanged
