"""The memory of the derivatives of one step.

Sizes: nv velocities, nb bodies, nd drives, nc contacts, nj joint rows, m unknown forces, p parameters. Columns of
right-hand sides and results are by q, v, tau, targets and parameters, in this order.

A contact has one friction cone, of sliding; in a world with moments also cones of spin and of rolling. Axis 0 is the
normal, the axes of cone i are 1 + 2 i and the next one; from `SPIN` on they are axes of angular velocity. There are
na = 3 axes, or 7. Their derivatives are by nx = nv coordinates, or by 2 nv, because axes of rolling turn with v. Spin
has one axis; the one after it is 0.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contactlab.multibody.spatial.arrays import FloatArray, IntArray

#: A gap [m] between minus this and 0 counts as closed, and stays closed.
CLOSED_GAP: Final = 1e-8
#: Friction below its bound by more than this fraction of it sticks.
AT_BOUND: Final = 1e-7
#: Compliance of redundant forces, relative to the smallest response of any force.
COMPLIANCE: Final = 1e-9
#: Pivots below this fraction of the response to a force belong to redundant forces.
REDUNDANT: Final = 1e-6
#: Maximum change of selected forces by the compliance, relative to the largest force.
COMPLIANCE_ERROR: Final = 1e-6
#: Distance in (dq, dv) up to which kinks are reported.
KINK_HORIZON: Final = 1e-4
#: Distance up to which the state counts as being on the kink.
ON_KINK: Final = 1e-6
#: Distance up to which a direction can cross a kink immediately.
CROSSED: Final = 2e-8
#: Forces below this fraction of the largest one count as zero.
NO_FORCE: Final = 1e-11
#: Minimum slip [m/s] with a direction.
SLIPS: Final = 1e-9

# Reasons of kinks: a closed gap, contact without load that can change, about to open; sticking and about to slide,
# about to stick, the slip turns to the next edge or side of the polygon; other features at nearby states, as of
# parallel faces.
GAP_AT_ZERO, TOUCHING_UNLOADED, NEARLY_OPEN, AT_CONE, NEARLY_STICKING, NEXT_EDGE, FEATURE = range(7)

# Forces that are not selected, the minimum speed of an impact with restitution (a jump), a drive or dry friction at its
# maximum force, forces on the edge of redundancy within the compliance.
NOT_SELECTED, IMPACT, AT_BOUND_OF_ROW, NEARLY_REDUNDANT = range(7, 11)

# Hardly rolling before the step, so that its axes jump; friction that conflicts with normal rows and jumps; depth
# corrected in the positions, by relaxation; depth corrected at the maximum speed, or as fast as it bounces; an impact
# that closes its gap, and would bounce with any restitution: a jump by that parameter.
ROLLS_OFF, FRICTION_RELEASED, MOVED, PUSHED, STAYS = range(11, 16)

# Columns of the kinks, and their number: NEIGHBOUR is the mode of the contact beyond the kink.
REASON, CONTACT, ROW, NEIGHBOUR, CONE, KINK_INTS = range(6)

# Axes of moments.
SPIN: Final = 3
ROLL: Final = 5
CONES: Final = 3
NAXES: Final = 7

# Columns of the contacts.
FORCE: Final = 0  # NAXES: along the axes [N, N m]
AXES: Final = 7  # 3 NAXES
RATE: Final = 28  # NAXES: velocity of body B against A after the step, along them
BOUND: Final = 35  # CONES: bounds of friction per fN, the coefficient and the lengths
PER_GAP: Final = 38  # derivatives of k by gap and by normal velocity before the step
PER_SPEED: Final = 39
KNOWN: Final = 40  # k
GAMMA: Final = 41
SLIDE: Final = 42  # 2 CONES: the bound times the direction of sliding friction
EPS: Final = 48  # compliance of its redundant forces [s/kg]
ROLLING: Final = 49  # its rolling speed before the step [rad/s]
FASTEST: Final = 50  # maximum speed [m/s] at which the step corrects its depth in the positions
PER_CONTACT: Final = 51


class DerivativeWork(NamedTuple):
    """Arrays in which derivatives of a step are computed, and the results."""

    q: FloatArray  # (nq,) at the start of the step
    v: FloatArray  # (nv,)
    v_plus: FloatArray  # (nv,) at the end
    W: FloatArray  # workspaces of the multibody kernels
    V: FloatArray
    dynamics: FloatArray  # (3, nv, nv) derivatives of inverse dynamics
    wrenches: FloatArray  # (nb, 6) contact forces on bodies, about the world's origin
    loops: FloatArray  # (4, nloop, nv) of gamma - G a by q and by v, of G v and of the errors by q
    carried: FloatArray  # (nv, nv)
    points: FloatArray  # (2, 4, 6, nv)
    loop_forces: FloatArray  # (nloop,)
    exact: IntArray  # (1,) whether friction has the exact cone
    turns: FloatArray  # (2 r + 1, 2) corners of the friction polygon
    line: FloatArray  # (3, 2) corners for spin
    lengths: FloatArray  # (2, materials, materials) of torsional and rolling friction [m]; 0 materials without
    frame: FloatArray  # (nc, na, nv) motion of each contact's point along its axes
    changes: FloatArray  # (nc, na, nx) of these speeds after the step
    before: FloatArray  # (nc, nv) of the normal speed before the step
    compliance_rates: FloatArray  # (nc, na, nx) of the rates at the compliance velocity
    rolling_axis_rates: FloatArray  # (nc, nx, 3) change of the first axis of rolling; no contact without moments
    force_rates: FloatArray  # (nc, 3, nv) of the force in world axes by q, with constant components along the axes
    contact: FloatArray  # (nc, PER_CONTACT)
    mode: IntArray  # (nc, cones) of each cone
    first: IntArray  # (nc, cones + 2) first unknown force: of the normal, of each cone, of the next contact
    rates: FloatArray  # (nc, 7, 6) of point, normal and gap by a displacement of body B
    gaps: FloatArray  # (nc, nv) of the gaps by q
    columns: FloatArray  # (2, nv, 6) motion columns at a point
    dofs: IntArray  # (nv,)
    H: FloatArray  # (m, nv) rows of rates
    G: FloatArray  # (m, nv) rows of forces
    Y: FloatArray  # (m, nv) M^-1 of the rows of forces
    D: FloatArray  # (m,) compliance
    f: FloatArray  # (m,) forces
    S: FloatArray  # m m
    perm: IntArray  # (m,)
    row_mode: IntArray  # (nj,) whether the force of a joint row is unknown
    row_slope: FloatArray  # (nj, 2) derivatives of k of a stop by gap and approach speed
    owner: IntArray  # (m, 2) contact or -1, joint row or -1
    X: FloatArray  # (nv, columns) motion without these forces
    right: FloatArray  # (m, columns)
    solved: FloatArray  # (m, columns) forces
    moved: FloatArray  # (nv, columns) velocities
    nearly: IntArray  # (trees,) whether an island has forces that are nearly redundant
    friction_released: IntArray  # (trees,) whether friction was released because of normal rows
    own_columns: IntArray  # (columns,) columns of the present island; then flat copies of its arrays
    H_island: FloatArray  # m nv
    Y_own: FloatArray  # m nv
    X_own: FloatArray  # nv columns
    right_own: FloatArray  # m columns
    forces_own: FloatArray  # m columns
    island_compliance_terms: FloatArray  # m columns
    base: FloatArray  # (3, m) right-hand side and forces at the compliances
    compliance_velocity: FloatArray  # (nv,) change of the velocity per unit of compliance
    by_parameter: FloatArray  # (nv, p) impulses
    by_law: FloatArray  # (nc, 1 + cones, p) required rate of the normal row, bounds of friction
    by_row: FloatArray  # (nj, 2, p) required rate of the row, its force at a bound
    kinks: IntArray  # (capacity, KINK_INTS)
    kink_distances: FloatArray  # (capacity, 3) as a velocity [m/s], in (dq, dv), length of the gradient
    towards: FloatArray  # (capacity,) change of each quantity along the direction
    direction: FloatArray  # (columns,) a change of the start
    way: FloatArray  # (2 nv,) scratch
    near: FloatArray  # (nc, 4, 7) point, normal and gap at a displaced shape, less the values of the step
    on_kink: IntArray  # (nc, 3) whether a contact is on a kink; scratch while this is determined
    A: FloatArray  # (2 nv, columns)
    forces: FloatArray  # (nc, 3, columns) contact forces in world axes
    joint_forces: FloatArray  # (nj, columns)
