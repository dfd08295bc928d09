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
