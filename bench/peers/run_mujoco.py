"""A chain of rods in MuJoCo: balls, or hinges about y, in joint coordinates; the loop closed by `connect`. Settings as JSON on the command line."""
import json
import math
import sys
import time

import mujoco
import numpy as np
from mechanisms import angles, energy, lengths

job = json.loads(sys.argv[1])
points, closed, h, duration = job["points"], job["closed"], job["step"], job["duration"]
angle, length = angles(points), lengths(points)
xml = [
    f'<mujoco><option timestep="{h!r}" integrator="{job["integrator"]}" gravity="0 0 -9.81" iterations="50" tolerance="1e-12"/>'
    '<option><flag contact="disable" energy="disable"/></option><worldbody>'
]
joint = 'type="hinge" axis="0 1 0"' if job.get("planar") else 'type="ball"'
before, place = 0.0, (points[0][0], 0.0, points[0][1])
for i, (a, l) in enumerate(zip(angle, length)):
    turn = a - before
    j = l**3 / 12
    xml.append(
        f'<body name="b{i}" pos="{place[0]!r} {place[1]!r} {place[2]!r}" quat="{math.cos(turn / 2)!r} 0 {math.sin(turn / 2)!r} 0">'
        f'<joint name="j{i}" {joint}/>'
        f'<inertial pos="{l / 2!r} 0 0" mass="{l!r}" diaginertia="{j!r} {j!r} {j!r}"/>'
    )
    before, place = a, (l, 0.0, 0.0)
xml.append("</body>" * len(length) + "</worldbody>")
if closed:
    end = f"{length[-1]!r} 0 0"
    solref = f"{2 * h!r} 1" if job.get("solref") is None else job["solref"]
    xml.append(
        f'<equality><connect body1="b{len(length) - 1}" anchor="{end}" solref="{solref}" '
        'solimp="0.9999 0.9999 0.001 0.5 2"/></equality>'
    )
xml.append("</mujoco>")
model = mujoco.MjModel.from_xml_string("".join(xml))
data = mujoco.MjData(model)
steps = round(duration / h)


def state():
    mujoco.mj_forward(model, data)
    centres = data.xipos[1:, [0, 2]]
    velocity = np.zeros(6)
    speeds, rates = [], []
    for i in range(1, model.nbody):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, i, velocity, 0)
        rates.append(velocity[4])
        speeds.append((velocity[3], velocity[5]))
    rotation = data.xmat[-1].reshape(3, 3)
    tip = data.xipos[-1] + rotation @ [length[-1] / 2, 0, 0]
    gap = math.hypot(tip[0] - points[-1][0], tip[2] - points[-1][1]) if closed else 0.0
    return energy(length, centres, speeds, rates), gap


first, _ = state()
# Errors and places in a run of their own, so that looking costs no time in the other.
total, gap, at_one = 0.0, 0.0, []
looks = min(steps, 1000)
every = steps // looks
for i in range(looks):
    mujoco.mj_step(model, data, every)
    e, g = state()
    total, gap = total + abs(e - first) / looks, max(gap, g)
    if (i + 1) * every == round(1 / h):
        at_one = data.xipos[1:].tolist()
if not at_one and duration >= 1:
    mujoco.mj_resetData(model, data)
    mujoco.mj_step(model, data, round(1 / h))
    mujoco.mj_forward(model, data)
    at_one = data.xipos[1:].tolist()
mujoco.mj_resetData(model, data)
begin = time.process_time()
mujoco.mj_step(model, data, steps)
cpu = time.process_time() - begin
print(json.dumps({"cpu": cpu, "steps": steps, "gap": gap, "energy": total, "at_one": at_one}))
