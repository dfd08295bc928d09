"""Coordinates of named joints: their entries of q and v."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.formulation.bridge.errors import BridgeError
from contactlab.multibody.kernels import codes
from contactlab.multibody.model import WORLD, Model
from contactlab.multibody.structure import Structure, motions
from contactlab.spatial.errors import close_names


@dataclass(frozen=True)
class Coordinate:
    """One degree of freedom of a joint."""

    name: str  # the joint's name, with "[i]" behind it where it has several degrees of freedom
    q: int | None  # place in q of the position whose rate it is; None where there is none (quaternions)
    v: int  # place in v


class Coordinates:
    """Joints of a model by name: those of its description, else by the body they move."""

    def __init__(self, model: Model, tree: Structure) -> None:
        self._model = model
        self._tree, self._motions = tree, motions(model)
        self._known = dict.fromkeys([*model.joint_names, *model.names])

    def joint(self, name: str, field: str) -> tuple[Coordinate, ...]:
        """Degrees of freedom of a joint; an unknown name or a joint without any raises, naming ``field``."""
        if name not in self._known:
            hint = close_names(name, self._known) if name != WORLD else ""
            raise BridgeError(field, f"no joint is called {name!r}{hint}")
        place = self._model.joint_v(name)
        several = place.stop - place.start > 1
        coordinates = tuple(
            Coordinate(f"{name}[{i}]" if several else name, self._position(v), v)
            for i, v in enumerate(range(place.start, place.stop))
        )
        if not coordinates:
            raise BridgeError(field, f"joint {name!r} does not move")
        return coordinates

    def coordinate(self, name: str, index: int, field: str) -> Coordinate:
        """Degree of freedom ``index`` of a joint."""
        coordinates = self.joint(name, field)
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise BridgeError(field, f"coordinate of {name!r} must be a whole number, got {index!r}")
        if not 0 <= index < len(coordinates):
            raise BridgeError(field, f"joint {name!r} has coordinates 0 to {len(coordinates) - 1}, not {index}")
        return coordinates[index]

    def with_position(self, name: str, index: int, field: str) -> tuple[Coordinate, int]:
        """Degree of freedom ``index`` of a joint and the place of its position, which it must have."""
        coordinate = self.coordinate(name, index, field)
        if coordinate.q is None:
            raise BridgeError(field, f"{coordinate.name!r} turns an orientation: it has no position of its own")
        return coordinate, coordinate.q

    def _position(self, v: int) -> int | None:
        tree = self._tree
        link = int(tree.dof_link[v])
        kinds, iq = self._motions
        kind, first, offset = int(kinds[link]), int(iq[link]), v - int(tree.iv[link])
        nq, nv = np.diff(iq[link : link + 2])[0], np.diff(tree.iv[link : link + 2])[0]
        # A floating base begins with its three translations.
        follows = nq == nv or (kind == codes.FLOATING and offset < 3)
        return first + offset if follows else None
