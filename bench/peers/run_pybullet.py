"""A chain of rods in PyBullet: hinges about y in joint coordinates, the loop closed by a point constraint. Settings as JSON on the command line."""
import json
import math
import os
import sys
import tempfile
import time

out = os.dup(1)
os.dup2(2, 1)  # PyBullet greets on standard output
import pybullet as p
from mechanisms import angles, energy, lengths

job = json.loads(sys.argv[1])
points, closed, h, duration = job["points"], job["closed"], job["step"], job["duration"]
angle, length = angles(points), lengths(points)
urdf = ['<robot name="chain"><link name="base"><inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>']
parent, before, place = "base", 0.0, (points[0][0], points[0][1])
for i, (a, l) in enumerate(zip(angle, length)):
    j = l**3 / 12
    urdf.append(
        f'<link name="b{i}"><inertial><origin xyz="{l / 2!r} 0 0"/><mass value="{l!r}"/>'
        f'<inertia ixx="{j!r}" iyy="{j!r}" izz="{j!r}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="j{i}" type="continuous"><parent link="{parent}"/><child link="b{i}"/>'
        f'<origin xyz="{place[0]!r} 0 {place[1]!r}" rpy="0 {a - before!r} 0"/><axis xyz="0 1 0"/></joint>'
    )
    parent, before, place = f"b{i}", a, (l, 0.0)
urdf.append("</robot>")
p.connect(p.DIRECT)
p.setGravity(0, 0, -9.81)
p.setPhysicsEngineParameter(fixedTimeStep=h, numSolverIterations=200, numSubSteps=0)
with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
    file.write("".join(urdf))
    file.flush()
    body = p.loadURDF(file.name, useFixedBase=True, flags=p.URDF_USE_INERTIA_FROM_FILE)
n = len(length)
for i in range(-1, n):
    p.changeDynamics(body, i, linearDamping=0, angularDamping=0, jointDamping=0, maxJointVelocity=1e6)
for i in range(n):
    p.setJointMotorControl2(body, i, p.VELOCITY_CONTROL, force=0)
if closed:
    # Places relative to the centres of mass.
    c = p.createConstraint(body, n - 1, -1, -1, p.JOINT_POINT2POINT, [0, 0, 0], [length[-1] / 2, 0, 0], [points[-1][0], 0, points[-1][1]])
    p.changeConstraint(c, maxForce=1e8)


def look():
    states = [p.getLinkState(body, i, computeLinkVelocity=1, computeForwardKinematics=1) for i in range(n)]
    e = energy(length, [(s[0][0], s[0][2]) for s in states], [(s[6][0], s[6][2]) for s in states], [s[7][1] for s in states])
    gap = 0.0
    if closed:
        tip = p.multiplyTransforms(states[-1][0], states[-1][1], [length[-1] / 2, 0, 0], [0, 0, 0, 1])[0]
        gap = math.hypot(tip[0] - points[-1][0], tip[2] - points[-1][1])
    return e, gap, [list(s[0]) for s in states]


steps, cpu, total, worst, at_one = round(duration / h), 0.0, 0.0, 0.0, []
first, _, _ = look()
every = max(1, round(0.005 / h))  # looking takes longer than a step
done = looks = 0
while done < steps:
    begin = time.process_time()
    for _ in range(every):
        p.stepSimulation()
    cpu += time.process_time() - begin
    done, looks = done + every, looks + 1
    e, gap, places = look()
    total, worst = total + abs(e - first), max(worst, gap)
    if done <= round(1 / h) < done + every:
        at_one = places
total /= looks
os.dup2(out, 1)
print(json.dumps({"cpu": cpu, "steps": done, "gap": worst, "energy": total, "at_one": at_one}))
