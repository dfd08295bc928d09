"""What a race ran on: machine, versions, load. No names of hosts or users."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass

import contactlab
from contactlab.recording.environment import environment

__all__ = ["Machine", "load_average", "this_machine"]

_PACKAGES = ("numpy", "scipy", "numba", "osqp", "cvxpy", "clarabel", "piqp", "proxsuite")
_DISTRIBUTION = {"pydrake": "drake", "pinocchio": "pin"}


@dataclass(frozen=True)
class Machine:
    """Machine and versions."""

    # As the system tells them.
    processor: str
    cores: int
    system: str
    versions: tuple[tuple[str, str], ...]  # package and version, as far as installed

    def text(self) -> str:
        """One line."""
        return f"{self.processor}, {self.cores} cores, {self.system}; " + ", ".join(
            f"{name} {version}" for name, version in self.versions
        )


def this_machine(peers: Iterable[str] = ()) -> Machine:
    """Describe this machine, with the versions of the packages that solve and of these peers."""
    versions = [("contactlab", contactlab.__version__), ("Python", platform.python_version())]
    for package in dict.fromkeys((*_PACKAGES, *peers)):
        distribution = _DISTRIBUTION.get(package, package)
        try:
            versions.append((distribution, importlib.metadata.version(distribution)))
        except importlib.metadata.PackageNotFoundError:
            continue
    return Machine(
        environment()["cpu"], os.cpu_count() or 1, f"{platform.system()} {platform.machine()}", tuple(versions)
    )


def load_average() -> float | None:
    """Processes that wanted a core over the last minute; None where the system does not tell."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None
