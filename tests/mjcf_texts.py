"""MuJoCo files of every joint and geom that is taken."""

ARM = """<mujoco model="arm">
  <compiler angle="radian"/>
  <option gravity="0.3 0 -9.7" timestep="0.003"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" pos="0 0 -0.5" friction="0.7"/>
    <body name="base" pos="0.1 0.2 0.3" quat="0.9 0.1 0.3 -0.2">
      <geom type="box" size="0.1 0.08 0.05" density="800"/>
      <joint name="swing" type="hinge" axis="0 1 0.3" pos="0.02 -0.01 0.05"/>
      <body name="upper" pos="0.2 0 0.1" euler="0.2 -0.4 0.3">
        <joint name="ball" type="ball" pos="0 0 0.1"/>
        <geom type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.03"/>
        <body name="lower" pos="0.3 0.1 0">
          <joint name="twist" type="hinge" axis="1 0 0"/>
          <joint name="bend" type="hinge" axis="0 0 1" pos="0 0.02 0"/>
          <joint name="slide" type="slide" axis="0.5 0 1"/>
          <geom type="cylinder" size="0.03 0.1" pos="0.05 0 0" euler="0.1 0.2 0.3"/>
          <body name="hand" pos="0.1 0 0"><geom type="sphere" size="0.04" pos="0 0.03 0"/></body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

FLYER = """<mujoco model="flyer">
  <worldbody>
    <body name="post" pos="2 0 0"><geom type="box" size="0.1 0.1 0.5"/></body>
    <body name="craft" pos="0 0 1" quat="0.5 0.5 0.5 0.5">
      <freejoint name="float"/>
      <inertial pos="0.01 0.02 -0.03" mass="2.5" fullinertia="0.03 0.04 0.05 0.002 -0.003 0.001"/>
      <geom name="hull" type="mesh" mesh="wedge" contype="2" conaffinity="4"/>
      <body name="wheel" pos="0.3 0 0">
        <joint axis="1 0 0"/><geom type="cylinder" size="0.1 0.02" friction="0.9"/>
      </body>
      <body name="arm" pos="-0.3 0 0">
        <joint type="slide" axis="0 1 0"/><joint axis="0 1 0"/><geom type="capsule" size="0.02 0.1"/>
      </body>
    </body>
    <body name="pebble" pos="0 1 1"><freejoint/><geom type="sphere" size="0.05"/></body>
  </worldbody>
  <asset><mesh name="wedge" vertex="0 0 0  0.3 0 0  0 0.2 0  0.3 0.2 0  0 0 0.1  0 0.2 0.1"/></asset>
  <contact><exclude body1="wheel" body2="arm"/></contact>
</mujoco>
"""

CHAIN = """<mujoco model="chain">
  <compiler angle="degree"/>
  <default><joint damping="0.1" armature="0.01"/><geom density="500"/></default>
  <worldbody>
    <geom type="plane" size="0 0 1" zaxis="0.1 0 1"/>
    <body pos="0 0 1"><joint name="first" axis="0 1 0" range="-30 60" limited="true" ref="10"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02"/>
      <body pos="0 0 -0.3"><joint name="second" axis="1 0 0" frictionloss="0.2" stiffness="3"/>
        <geom type="box" size="0.05 0.02 0.1" pos="0 0 -0.1"/>
        <body pos="0 0 -0.2"><joint axis="0 0 1"/><geom type="sphere" size="0.06" pos="0.02 0 0"/></body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="string" stiffness="2"><joint joint="first" coef="1"/></fixed></tendon>
  <actuator><motor name="pull" joint="first"/></actuator>
</mujoco>
"""

TERRAIN = """<mujoco model="terrain">
  <asset><hfield name="hills" nrow="5" ncol="7" size="3 2 0.4 0.1"
    elevation="0 0 0 0 0 0 0  0 1 1 1 1 1 0  0 1 2 2 2 1 0  0 1 1 1 1 1 0  0 0 0 0 0 0 0"/></asset>
  <worldbody>
    <geom name="hills" type="hfield" hfield="hills" pos="0 0 -0.2"/>
    <body name="ball" pos="0.1 0.05 0.32"><freejoint/><geom type="sphere" size="0.1"/></body>
  </worldbody>
  <keyframe><key name="aside" qpos="0.5 0.2 0.8 1 0 0 0" qvel="0 0 -1 0 0 0"/></keyframe>
</mujoco>
"""

# Two capsules end to end, the lower one on two hinges; a sole without joints on it; a toe on the sole.
LEG = """<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" pos="0 0 -2"/>
    <body name="thigh"><freejoint/><geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.05"/>
      <body name="shin" pos="0 0 -0.4">
        <joint name="j1" axis="0 1 0"/><joint name="j2" axis="1 0 0" pos="0 0 0.01"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.05"/>
        <body name="sole" pos="0 0 -0.45"><geom type="box" size="0.1 0.05 0.03"/>
          <body name="toe" pos="0.1 0 0"><joint axis="0 1 0"/><joint axis="0 0 1"/>
            <geom type="sphere" size="0.05"/></body>
        </body>
      </body>
      <body name="pack" pos="-0.05 0 -0.2"><geom type="box" size="0.03 0.05 0.1"/></body>
    </body>
  </worldbody>
</mujoco>
"""

# An arm on a stand welded to the world, which it may touch, and a crate.
STAND = """<mujoco>
  <worldbody>
    <geom name="wall" type="box" size="0.1 1 1" pos="-2 0 0"/>
    <body name="stand"><geom name="table" type="plane" size="1 1 1" pos="0 0 -0.5"/>
      <geom type="box" size="0.1 0.1 0.2"/>
      <body name="socket" pos="0 0 0.2" euler="0 20 0"><geom type="sphere" size="0.06"/>
        <body name="arm" pos="0.05 0 0.05"><joint name="pan" axis="0 0 1"/><joint name="lift" axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
          <body name="hand" pos="0.3 0 0"><joint name="wrist" axis="1 0 0"/><geom type="sphere" size="0.05"/></body>
        </body>
      </body>
    </body>
    <body name="crate" pos="1 0 0"><freejoint/><geom name="crate" type="box" size="0.1 0.1 0.1"/></body>
  </worldbody>
  <contact><exclude body1="world" body2="arm"/><exclude body1="stand" body2="hand"/></contact>
</mujoco>
"""

# Bits: a ghost that meets the floor alone, two that meet by an explicit pair, a shell that meets nothing.
BITS = """<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" contype="1" conaffinity="3"/>
    <body name="ghost" pos="0 0 1"><freejoint/><geom type="sphere" size="0.1" contype="2" conaffinity="0"/></body>
    <body name="a" pos="1 0 1"><freejoint/><geom name="a" type="sphere" size="0.1" contype="4" conaffinity="0"/></body>
    <body name="b" pos="2 0 1"><freejoint/><geom name="b" type="sphere" size="0.1" contype="4" conaffinity="0"/></body>
    <body name="c" pos="3 0 1"><freejoint/><geom type="sphere" size="0.1"/></body>
    <body name="d" pos="4 0 1"><freejoint/><geom type="sphere" size="0.1"/></body>
    <body name="shell" pos="5 0 1"><freejoint/><geom type="sphere" size="0.1" contype="0" conaffinity="0"/></body>
  </worldbody>
  <contact><pair geom1="a" geom2="b"/><pair geom1="a" geom2="floor"/></contact>
</mujoco>
"""

ACTUATORS = """<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" pos="0 0 -3"/>
    <body name="trunk" pos="0 0 1"><freejoint name="root"/><geom type="box" size="0.2 0.1 0.1"/>
      <body name="one" pos="0.3 0 0">
        <joint name="j1" axis="0 1 0" ref="0.2"/>
        <joint name="j2" axis="1 0 0" actuatorfrcrange="-4 5"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
        <body name="two" pos="0.35 0 0"><joint name="j3" axis="0 1 0"/><joint name="j4" type="slide" axis="1 0 0"/>
          <geom type="sphere" size="0.06"/>
          <body name="three" pos="0.3 0 0"><joint name="knob" type="ball"/>
            <geom type="box" size="0.1 0.05 0.02"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="both"><joint joint="j1" coef="0.5"/><joint joint="j3" coef="-2"/></fixed>
  </tendon>
  <actuator>
    <motor name="pull" joint="j1" gear="30" ctrllimited="true" ctrlrange="-1 1"/>
    <motor name="strong" joint="j2" gear="7"/>
    <position name="servo" joint="j1" kp="20" kv="3" gear="2"/>
    <position name="weak" joint="j3" kp="50" forcerange="-2 2"/>
    <velocity name="speed" joint="j4" kv="6" gear="-1.5"/>
    <general name="law" joint="j3" gaintype="affine" gainprm="2 0.5 -0.3" biastype="affine" biasprm="0.7 -4 -0.2"
      forcelimited="true" forcerange="-3 9"/>
    <position name="cord" tendon="both" kp="8"/>
    <motor name="thrust" joint="root" gear="1 2 3 0.1 0.2 0.3"/>
    <motor name="twirl" joint="knob" gear="0.5 -1 2"/>
    {more}
  </actuator>
  <keyframe><key name="bent" qpos="0 0 2 0 0 0 2 0.5 0.1 -0.2 0.05 1 0 0 0" ctrl="{ctrl}"
    qvel="1 0 0 0 0 1 0 0 0 0 0 0 0"/></keyframe>
</mujoco>
"""

STATES = """<intvelocity name="creep" joint="j2" kp="5" actrange="-0.5 0.5"/>
    <general name="lag" joint="j3" dyntype="filter" dynprm="0.1" gainprm="4"/>
    <general name="exact" joint="j3" dyntype="filterexact" dynprm="0.05" gainprm="2"/>"""

SITES = """<mujoco>
  <worldbody>
    <site name="hook" pos="0 0 1" euler="10 0 0"/>
    <body name="a" pos="0.1 0 1" euler="0 30 0"><freejoint/><geom type="box" size="0.1 0.1 0.1"/>
      <site name="left" pos="-0.1 0 0"/><site name="right" pos="0.1 0.02 0" euler="0 0 40"/></body>
    <body name="b" pos="0.5 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/>
      <site name="end" pos="-0.1 0 0.03" euler="5 0 0"/></body>
    <body name="lead"><joint name="lead" axis="0 0 1" ref="20"/><geom type="sphere" size="0.1" pos="0 3 0"/></body>
    <body name="tail"><joint name="tail" axis="0 0 1"/><geom type="sphere" size="0.1" pos="0 4 0"/></body>
  </worldbody>
  <equality><connect name="pin" site1="hook" site2="left"/><weld name="glue" site1="right" site2="end"/>
    <joint name="gear" joint1="tail" joint2="lead" polycoef="0.1 2 0 0 0"/></equality>
</mujoco>
"""

SENSORS = (
    ARM.replace(
        "</body>\n  </worldbody>",
        """</body>
    <body name="craft" pos="0 0 2"><freejoint name="float"/><site name="nose" pos=".1 .2 .3" euler=".3 .2 .1"/>
      <inertial pos="0.01 0.02 -0.03" mass="2.5" fullinertia="0.03 0.04 0.05 0.002 -0.003 0.001"/></body>
    <site name="still" pos="1 2 3" euler=".3 .2 .1"/><camera name="eye"/>
  </worldbody>
  <sensor>
    <jointpos name="swing_at" joint="swing"/><jointvel name="slide_rate" joint="slide"/>
    <ballquat name="ball_at" joint="ball"/><ballangvel name="ball_rate" joint="ball"/>
    <accelerometer name="nose_a" site="nose"/><gyro name="nose_w" site="nose"/><velocimeter name="nose_v" site="nose"/>
    <framepos name="still_at" objtype="site" objname="still"/>
    <accelerometer name="low_a" site="low"/><gyro name="low_gyro" site="low" cutoff="100"/>
    <velocimeter name="low_v" site="low"/>
    <framepos name="low_at" objtype="site" objname="low"/><framequat name="low_turn" objtype="site" objname="low"/>
    <framepos name="body_at" objtype="body" objname="lower"/><gyro name="up_gyro" site="up"/>
    <framepos name="xbody_at" objtype="xbody" objname="lower"/><framepos name="geom_at" objtype="geom" objname="shaft"/>
    <framelinvel name="geom_v" objtype="geom" objname="shaft"/><frameangvel name="up_w" objtype="body" objname="upper"/>
    <force name="low_force" site="low"/><torque name="low_torque" site="low"/>
    <force name="up_force" site="up"/><torque name="up_torque" site="up"/>
    <framexaxis name="low_axis" objtype="site" objname="low"/><jointactuatorfrc name="swing_force" joint="swing"/>
    <framepos name="low_from_up" objtype="site" objname="low" reftype="site" refname="up"/>
    <clock name="clock"/><rangefinder name="ray" site="low"/>
    <framepos name="on_camera" objtype="camera" objname="eye"/>
  </sensor>""",
    )
    .replace('<joint name="twist"', '<site name="low" pos="0.1 0.05 0.02" euler="0.5 -0.3 0.2"/><joint name="twist"')
    .replace('<joint name="ball"', '<site name="up" pos="0.05 0 0.1" euler="0.1 0.3 0"/><joint name="ball"')
    .replace('type="cylinder" size', 'name="shaft" type="cylinder" size')
    .replace("<option", '<option solver="Newton"')
)


def written(folder, text, name="model.xml"):
    """A file of a text."""
    file = folder / name
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(text)
    return file
