"""The memory of the derivatives of one step.

Sizes: nv velocities, nb bodies, nd drives, nc contacts, nj rows of joints, m unknown forces, p parameters. Columns of
right-hand sides and results are those by q, v, tau, targets and parameters, one behind the other.

A contact has one friction cone, of sliding; three where the world has moments, of spin and of rolling besides. Axis 0
is the normal, the axes of cone i are 1 + 2 i and the next, from `SPIN` on of turning: na = 3 of them, or 7, with
changes by nx = nv coordinates, or by 2 nv, for axes of rolling turn with v. Spin has one axis; the one behind it is 0.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contactlab.spatial.arrays import FloatArray, IntArray

#: A gap [m] between this and 0 from below counts as closed, and what closes it as held.
HELD: Final = 1e-8
#: Share of its bound by which friction below it sticks.
AT_BOUND: Final = 1e-7
#: Compliance of redundant forces, as a share of the smallest response of any.
COMPLIANCE: Final = 1e-9
#: Pivots below this share of the response to a force are those of redundant ones.
REDUNDANT: Final = 1e-6
#: What the compliance may change of forces, as a share of the largest, where they are the selected ones, and stay so.
SURE: Final = 1e-6
#: Way in (dq, dv) to a kink from which on nobody is told.
FAR: Final = 1e-4
#: A kink at most so far counts as one on which the state stands.
ON_KINK: Final = 1e-6
#: And one at most so far may be crossed by a direction at once.
CROSSED: Final = 2e-8
#: Forces below this share of the largest of all are none.
NO_FORCE: Final = 1e-11
#: Slip [m/s] from which on it has a direction.
SLIPS: Final = 1e-9

# Why there is a kink.
GAP_AT_ZERO: Final = 0
UNLOADED: Final = 1  # touching without load: a load may come
HARDLY_LOADED: Final = 2  # about to open
AT_CONE: Final = 3  # sticking, about to slide
HARDLY_SLIDING: Final = 4  # about to stick
NEXT_EDGE: Final = 5  # the slip turns to the next edge, or side, of the polygon
FEATURE: Final = 6  # other features touch near by, as with parallel faces
NOT_SELECTED: Final = 7
IMPACT: Final = 8  # at the speed from which an impact bounces: a jump
AT_BOUND_OF_ROW: Final = 9  # a drive or dry friction at its largest force
NEARLY_REDUNDANT: Final = 10  # forces that are neither redundant nor not, within the compliance
ROLLS_OFF: Final = 11  # hardly rolls before the step: its axes jump
YIELDS: Final = 12  # friction that forbids what normal forces ask for: it jumps
MOVED: Final = 13  # its depth was undone in the positions, by relaxation
PUSHED: Final = 14  # depth is pushed out at the largest speed, or as fast as it bounces
STAYS: Final = 15  # an impact that closes its gap, and would bounce with any restitution: a jump by that parameter

# Columns of the kinks.
WHY: Final = 0
CONTACT: Final = 1
ROW: Final = 2
NEIGHBOUR: Final = 3  # mode of the contact on the other side
CONE: Final = 4
KINK_INTS: Final = 5

# Axes of moments.
SPIN: Final = 3
ROLL: Final = 5
CONES: Final = 3
NAXES: Final = 7

# Columns of the contacts.
FORCE: Final = 0  # NAXES: along the axes [N, N m]
AXES: Final = 7  # 3 NAXES
RATE: Final = 28  # NAXES: velocity of body B against A after the step, along them
BOUND: Final = 35  # CONES: largest forces by fN, the coefficient of friction and lengths
PER_GAP: Final = 38  # how k changes with gap and speed of approach
PER_SPEED: Final = 39
KNOWN: Final = 40  # k
GAMMA: Final = 41
SLIDE: Final = 42  # 2 CONES: the bound times the direction of friction that slides
EPS: Final = 48  # compliance that its redundant forces were given [s/kg]
ROLLING: Final = 49  # how fast it rolls before the step [rad/s]
PER_CONTACT: Final = 50


class Memory(NamedTuple):
    """Where derivatives of a step are computed, and what comes of it."""

    q: FloatArray  # (nq,) where the step begins
    v: FloatArray  # (nv,)
    v_plus: FloatArray  # (nv,) where it ends
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
    line: FloatArray  # (3, 2) of the one of spin
    lengths: FloatArray  # (2, materials, materials) of torsional and rolling friction [m]; 0 materials without
    frame: FloatArray  # (nc, na, nv) motion of each contact's point along its axes
    changes: FloatArray  # (nc, na, nx) of these speeds after the step
    before: FloatArray  # (nc, nv) of the normal one before it
    drawn: FloatArray  # (nc, na, nx) of the rates where the velocity is what compliance changes it by
    rolled: FloatArray  # (nc, nx, 3) change of the first axis of rolling; no contact without moments
    push: FloatArray  # (nc, 3, nv) of the force in world axes by q, the parts along the axes being held
    contact: FloatArray  # (nc, PER_CONTACT)
    mode: IntArray  # (nc, cones) of each cone
    first: IntArray  # (nc, cones + 2) unknown force: of the normal, of each cone, and the next one's
    rates: FloatArray  # (nc, 7, 6) of point, normal and gap by a displacement of body B
    gaps: FloatArray  # (nc, nv) of the gaps by q
    columns: FloatArray  # (2, nv, 6) motion columns at a point
    dofs: IntArray  # (nv,)
    H: FloatArray  # (m, nv) rows of rates
    G: FloatArray  # (m, nv) rows of forces
    Y: FloatArray  # (m, nv) M^-1 of the latter
    D: FloatArray  # (m,) compliance
    f: FloatArray  # (m,) forces
    S: FloatArray  # m m
    perm: IntArray  # (m,)
    row_mode: IntArray  # (nj,) whether the force of a row of joints is unknown
    row_slope: FloatArray  # (nj, 2) how k of a stop changes with gap and speed of approach
    owner: IntArray  # (m, 2) contact or -1, row of joints or -1
    X: FloatArray  # (nv, columns) motion without these forces
    right: FloatArray  # (m, columns)
    solved: FloatArray  # (m, columns) forces
    moved: FloatArray  # (nv, columns) velocities
    nearly: IntArray  # (trees,) whether an island has forces that are nearly redundant
    yields: IntArray  # (trees,) and friction that gives way to what normal forces ask for
    own_columns: IntArray  # (columns,) those of the island in progress; flat copies of what it needs
    H_own: FloatArray  # m nv
    Y_own: FloatArray  # m nv
    X_own: FloatArray  # nv columns
    right_own: FloatArray  # m columns
    forces_own: FloatArray  # m columns
    late_own: FloatArray  # m columns
    base: FloatArray  # (3, m) right-hand side and forces at the compliances
    lag: FloatArray  # (nv,) change of the velocity per unit of compliance
    by_parameter: FloatArray  # (nv, p) impulses
    by_law: FloatArray  # (nc, 1 + cones, p) what the normal row wants, bounds of friction
    by_row: FloatArray  # (nj, 2, p) what the row wants, its force at a bound
    kinks: IntArray  # (capacity, KINK_INTS)
    how_far: FloatArray  # (capacity, 3) velocity [m/s], way in (dq, dv), length of the gradient
    towards: FloatArray  # (capacity,) by which each grows along the direction
    direction: FloatArray  # (columns,) a change of the start
    way: FloatArray  # (2 nv,) scratch
    six: FloatArray  # (6,) scratch
    pose_of_pair: FloatArray  # (12,) of the shape that is displaced
    near: FloatArray  # (nc, 4, 7) point, normal and gap beside a displaced shape, less those of the step
    bent: IntArray  # (nc, 3) whether a contact is on a kink; while that is found out
    A: FloatArray  # (2 nv, columns)
    forces: FloatArray  # (nc, 3, columns) contact forces in world axes
    joint_forces: FloatArray  # (nj, columns)
