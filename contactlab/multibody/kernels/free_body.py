"""Dynamics of one free rigid body, in closed form, for any offset of the centre of mass.

State of a body: q7 = (x, y, z, qw, qx, qy, qz), v6 = (velocity of the body origin in WORLD axes [m/s], angular velocity
in BODY axes [rad/s]). The dual generalized force is (force in world axes at the body origin [N], torque about the body
origin in body axes [N m]). With R the rotation of q7, c the centre of mass in body axes, I_c the inertia about it and
I_o = I_c - m [c]x[c]x that about the origin:

    velocity of the com      v_c  = v_o + R (omega x c)
    mass matrix              M    = [[ m 1,          -m R [c]x ],
                                     [ m [c]x R^T,    I_o      ]]
    bias force               bias = ( m g - m R (omega x (omega x c)),  m c x R^T g - omega x I_o omega )

so that M a = tau + bias is Newton's and Euler's law about the com, written at the body origin (over a step the
gyroscopic part omega x I_c omega is taken by the midpoint rule, see `gyroscopic`). Every output may be the
same array as an input: all inputs are read before the first entry is written.
"""

from __future__ import annotations

from contactlab.multibody.kernels.gyroscopic import midpoint_spin
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.kernels.quaternion import rotated_by, rotation_entries
from lcp.kernels import kernel


@kernel
def rotation(q7: FloatArray, R: FloatArray) -> None:
    """Fill R (3, 3), body axes to world axes, from the quaternion of ``q7``."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_entries(q7[3], q7[4], q7[5], q7[6])
    R[0, 0] = r00
    R[0, 1] = r01
    R[0, 2] = r02
    R[1, 0] = r10
    R[1, 1] = r11
    R[1, 2] = r12
    R[2, 0] = r20
    R[2, 1] = r21
    R[2, 2] = r22


@kernel(inline=True)
def cross(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> tuple[float, float, float]:
    """Cross product a x b of two vectors given by their entries."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@kernel
def free_momentum(
    mass: float,
    com: FloatArray,
    inertia: FloatArray,
    gravity: FloatArray,
    q7: FloatArray,
    v6: FloatArray,
    tau6: FloatArray,
    h: float,
    Mv6: FloatArray,
) -> None:
    """Fill ``Mv6`` with M v + h (tau + bias): M times the velocity the body would have after h without contacts.

    Parameters
    ----------
    mass, com, inertia
        m [kg], c (3,) [m] in body axes, I_c (3, 3) [kg m^2] about the com in body axes.
    gravity
        (3,) [m/s^2], world axes.
    tau6
        Applied generalized force (6,) [N, N m].
    h
        Step [s]. Gravity and the centripetal terms are taken at (q, v), explicitly; the gyroscopic torque about the
        com by the implicit midpoint rule (`gyroscopic`), without which plates and rods gain energy as they tumble.
    """
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_entries(q7[3], q7[4], q7[5], q7[6])
    cx, cy, cz = com[0], com[1], com[2]
    vx, vy, vz = v6[0], v6[1], v6[2]
    wx, wy, wz = v6[3], v6[4], v6[5]

    # omega x c, and omega x (omega x c), body axes.
    ux, uy, uz = cross(wx, wy, wz, cx, cy, cz)
    kx, ky, kz = cross(wx, wy, wz, ux, uy, uz)

    # I_o omega = I_c omega + m c x (omega x c).
    sx, sy, sz = cross(cx, cy, cz, ux, uy, uz)
    lx = inertia[0, 0] * wx + inertia[0, 1] * wy + inertia[0, 2] * wz + mass * sx
    ly = inertia[1, 0] * wx + inertia[1, 1] * wy + inertia[1, 2] * wz + mass * sy
    lz = inertia[2, 0] * wx + inertia[2, 1] * wy + inertia[2, 2] * wz + mass * sz
    gyro_x, gyro_y, gyro_z = cross(wx, wy, wz, lx, ly, lz)

    # m c x (R^T (v, g)): the linear rows seen from the angular ones.
    bvx = r00 * vx + r10 * vy + r20 * vz
    bvy = r01 * vx + r11 * vy + r21 * vz
    bvz = r02 * vx + r12 * vy + r22 * vz
    px, py, pz = cross(cx, cy, cz, bvx, bvy, bvz)
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    bgx = r00 * gx + r10 * gy + r20 * gz
    bgy = r01 * gx + r11 * gy + r21 * gz
    bgz = r02 * gx + r12 * gy + r22 * gz
    tx, ty, tz = cross(cx, cy, cz, bgx, bgy, bgz)

    # Linear rows: m v_c + h (F + m g - m R (omega x (omega x c))); u - h k is what R turns once.
    dx, dy, dz = ux - h * kx, uy - h * ky, uz - h * kz
    fx = mass * (vx + h * gx + (r00 * dx + r01 * dy + r02 * dz)) + h * tau6[0]
    fy = mass * (vy + h * gy + (r10 * dx + r11 * dy + r12 * dz)) + h * tau6[1]
    fz = mass * (vz + h * gz + (r20 * dx + r21 * dy + r22 * dz)) + h * tau6[2]
    # Angular rows: I_o w has two parts; that about the com is integrated by the midpoint rule, which gains no energy.
    jx = inertia[0, 0] * wx + inertia[0, 1] * wy + inertia[0, 2] * wz
    jy = inertia[1, 0] * wx + inertia[1, 1] * wy + inertia[1, 2] * wz
    jz = inertia[2, 0] * wx + inertia[2, 1] * wy + inertia[2, 2] * wz
    spin_x, spin_y, spin_z = cross(wx, wy, wz, jx, jy, jz)
    bfx = r00 * tau6[0] + r10 * tau6[1] + r20 * tau6[2]
    bfy = r01 * tau6[0] + r11 * tau6[1] + r21 * tau6[2]
    bfz = r02 * tau6[0] + r12 * tau6[1] + r22 * tau6[2]
    ax, ay, az = cross(cx, cy, cz, bfx, bfy, bfz)
    qx, qy, qz = tau6[3] - ax, tau6[4] - ay, tau6[5] - az
    wdx, wdy, wdz = midpoint_spin(inertia, qx, qy, qz, wx, wy, wz, h)
    ix = inertia[0, 0] * wdx + inertia[0, 1] * wdy + inertia[0, 2] * wdz - h * qx
    iy = inertia[1, 0] * wdx + inertia[1, 1] * wdy + inertia[1, 2] * wdz - h * qy
    iz = inertia[2, 0] * wdx + inertia[2, 1] * wdy + inertia[2, 2] * wdz - h * qz
    mx = lx + mass * px + h * (tau6[3] + mass * tx - (gyro_x - spin_x)) + ix
    my = ly + mass * py + h * (tau6[4] + mass * ty - (gyro_y - spin_y)) + iy
    mz = lz + mass * pz + h * (tau6[5] + mass * tz - (gyro_z - spin_z)) + iz
    Mv6[0] = fx
    Mv6[1] = fy
    Mv6[2] = fz
    Mv6[3] = mx
    Mv6[4] = my
    Mv6[5] = mz


@kernel
def apply_inertia(
    mass: float, com: FloatArray, inertia: FloatArray, R: FloatArray, v6: FloatArray, out6: FloatArray
) -> None:
    """Fill ``out6`` with M v: (m v_c, m c x R^T v_o + I_o omega)."""
    cx, cy, cz = com[0], com[1], com[2]
    vx, vy, vz = v6[0], v6[1], v6[2]
    wx, wy, wz = v6[3], v6[4], v6[5]
    ux, uy, uz = cross(wx, wy, wz, cx, cy, cz)
    # Body-axes velocity of the com: m c x it is m c x R^T v_o + m c x (omega x c), the whole offset part at once.
    bx = R[0, 0] * vx + R[1, 0] * vy + R[2, 0] * vz + ux
    by = R[0, 1] * vx + R[1, 1] * vy + R[2, 1] * vz + uy
    bz = R[0, 2] * vx + R[1, 2] * vy + R[2, 2] * vz + uz
    px, py, pz = cross(cx, cy, cz, bx, by, bz)
    out6[0] = mass * (vx + R[0, 0] * ux + R[0, 1] * uy + R[0, 2] * uz)
    out6[1] = mass * (vy + R[1, 0] * ux + R[1, 1] * uy + R[1, 2] * uz)
    out6[2] = mass * (vz + R[2, 0] * ux + R[2, 1] * uy + R[2, 2] * uz)
    out6[3] = inertia[0, 0] * wx + inertia[0, 1] * wy + inertia[0, 2] * wz + mass * px
    out6[4] = inertia[1, 0] * wx + inertia[1, 1] * wy + inertia[1, 2] * wz + mass * py
    out6[5] = inertia[2, 0] * wx + inertia[2, 1] * wy + inertia[2, 2] * wz + mass * pz


@kernel
def solve_inertia_row(
    mass: float, com: FloatArray, inertia_inv: FloatArray, R: FloatArray, b6: FloatArray, out6: FloatArray
) -> None:
    """Fill ``out6`` with M^-1 b: alpha = I_c^-1 (t - c x R^T f), a_o = f/m - R (alpha x c) for b = (f, t).

    ``inertia_inv`` (3, 3) is I_c^-1, body axes.
    """
    cx, cy, cz = com[0], com[1], com[2]
    fx, fy, fz = b6[0], b6[1], b6[2]
    bx = R[0, 0] * fx + R[1, 0] * fy + R[2, 0] * fz
    by = R[0, 1] * fx + R[1, 1] * fy + R[2, 1] * fz
    bz = R[0, 2] * fx + R[1, 2] * fy + R[2, 2] * fz
    sx, sy, sz = cross(cx, cy, cz, bx, by, bz)
    tx, ty, tz = b6[3] - sx, b6[4] - sy, b6[5] - sz
    ax = inertia_inv[0, 0] * tx + inertia_inv[0, 1] * ty + inertia_inv[0, 2] * tz
    ay = inertia_inv[1, 0] * tx + inertia_inv[1, 1] * ty + inertia_inv[1, 2] * tz
    az = inertia_inv[2, 0] * tx + inertia_inv[2, 1] * ty + inertia_inv[2, 2] * tz
    dx, dy, dz = cross(ax, ay, az, cx, cy, cz)
    out6[0] = fx / mass - (R[0, 0] * dx + R[0, 1] * dy + R[0, 2] * dz)
    out6[1] = fy / mass - (R[1, 0] * dx + R[1, 1] * dy + R[1, 2] * dz)
    out6[2] = fz / mass - (R[2, 0] * dx + R[2, 1] * dy + R[2, 2] * dz)
    out6[3] = ax
    out6[4] = ay
    out6[5] = az


@kernel
def integrate_body(q7: FloatArray, v6: FloatArray, h: float, out7: FloatArray) -> None:
    """Fill ``out7`` with the configuration after h at the constant velocity v6: x + h v_o and q * exp(h omega)."""
    w, x, y, z = rotated_by(q7[3], q7[4], q7[5], q7[6], h * v6[3], h * v6[4], h * v6[5])
    out7[0] = q7[0] + h * v6[0]
    out7[1] = q7[1] + h * v6[1]
    out7[2] = q7[2] + h * v6[2]
    out7[3] = w
    out7[4] = x
    out7[5] = y
    out7[6] = z


@kernel
def body_energy(
    mass: float,
    com: FloatArray,
    inertia: FloatArray,
    gravity: FloatArray,
    q7: FloatArray,
    v6: FloatArray,
    out2: FloatArray,
) -> None:
    """Fill ``out2`` with (kinetic, potential) energy [J]; the potential is zero with the com at the world origin."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_entries(q7[3], q7[4], q7[5], q7[6])
    cx, cy, cz = com[0], com[1], com[2]
    wx, wy, wz = v6[3], v6[4], v6[5]
    ux, uy, uz = cross(wx, wy, wz, cx, cy, cz)
    vx = v6[0] + r00 * ux + r01 * uy + r02 * uz
    vy = v6[1] + r10 * ux + r11 * uy + r12 * uz
    vz = v6[2] + r20 * ux + r21 * uy + r22 * uz
    lx = inertia[0, 0] * wx + inertia[0, 1] * wy + inertia[0, 2] * wz
    ly = inertia[1, 0] * wx + inertia[1, 1] * wy + inertia[1, 2] * wz
    lz = inertia[2, 0] * wx + inertia[2, 1] * wy + inertia[2, 2] * wz
    px = q7[0] + r00 * cx + r01 * cy + r02 * cz
    py = q7[1] + r10 * cx + r11 * cy + r12 * cz
    pz = q7[2] + r20 * cx + r21 * cy + r22 * cz
    out2[0] = 0.5 * (mass * (vx * vx + vy * vy + vz * vz) + wx * lx + wy * ly + wz * lz)
    out2[1] = -mass * (gravity[0] * px + gravity[1] * py + gravity[2] * pz)
