"""Solvers of other projects behind the interface of ours, one project per file; each imported only when it races.

A peer is an object with ``solve`` like any solver. ``package`` names what has to be installed; traits with
`lcp.Traits.CONE` say that it is for friction. Its answer is a claim like any other: the original data decide.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from contactlab.lab.racing.peers.drake import DrakeMoby, DrakeUnrevisedLemke
from contactlab.lab.racing.peers.pin import PinADMM, PinPGS
from contactlab.lab.racing.peers.quantecon_lemke import QuantEconLemke
from contactlab.lab.racing.peers.siconos_lcp import SiconosLCP

__all__ = ["ALL_PEERS", "installed"]

ALL_PEERS: tuple[type[Any], ...] = (DrakeMoby, DrakeUnrevisedLemke, QuantEconLemke, SiconosLCP, PinADMM, PinPGS)


def installed(peer: type[Any]) -> bool:
    """Whether the package of a peer can be imported."""
    return importlib.util.find_spec(peer.package) is not None
