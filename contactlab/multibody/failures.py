"""What the return codes of dynamics kernels mean to the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.multibody.arguments import bad_configuration, check_finite
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.outcomes import NOT_FINITE, SINGULAR
from contactlab.spatial.arrays import FloatArray

if TYPE_CHECKING:
    from contactlab.multibody.model import Model

__all__ = ["failure", "singular_joint"]


def failure(model: Model, code: int, q: FloatArray, *others: tuple[str, FloatArray]) -> MultibodyError:
    """Error for a kernel's code: the first entry that is not finite, a bad quaternion, or a joint without inertia."""
    for name, array in (("q", q), *others):
        try:
            check_finite(name, array)
        except MultibodyError as error:
            return error
    if code >= 0:
        return bad_configuration(model, q, code)
    if code in (GOOD, NOT_FINITE):
        return MultibodyError("q", "the entries are finite but so large that the result is not")
    return singular_joint(model, SINGULAR - code)


def singular_joint(model: Model, dof: int) -> MultibodyError:
    """Error for a degree of freedom along which nothing resists."""
    for body in model.bodies:
        place = model.v_slice(body.name)
        if place.start <= dof < place.stop:
            joint = type(body.joint).__name__
            hint = "; Euler angles at their singularity? Spherical has none" if joint.startswith("Euler") else ""
            return MultibodyError(
                "q",
                f"the mass matrix is singular: v[{dof}], of the {joint} joint of {body.name!r}, moves no mass{hint}",
            )
    return MultibodyError("q", f"the mass matrix is singular at v[{dof}]")
