"""The gallery's hexapod and pyramid in MuJoCo: `run_contact_mujoco.py hexapod|standing|pyramid STEP DURATION INTEGRATOR [held]`.

Same masses, lengths, shapes, servo gains, gait and friction as the model files; contact settings are MuJoCo's own or, with `held`, the round cone of
friction, contacts with a time constant of 2 h and friction ten times as stiff as the normal. Of nine settings tried (cone, impratio 1, 10, 100, noslip_iterations 3, 10,
solref) these let the walking machine slip least; none keeps its feet from slipping, and impratio 100 with ten noslip_iterations, 2 h and solimp near 1 makes it fall.
Prints one JSON object.
"""
import json
import math
import sys
import time

import mujoco
import numpy as np
from mujoco import rollout

SIDES = [(0.35, 1, 0.0), (0.0, 1, math.pi), (-0.35, 1, 0.0), (0.35, -1, math.pi), (0.0, -1, 0.0), (-0.35, -1, math.pi)]
SERVOS = [("hip", 500, 12), ("thigh", 800, 16), ("knee", 500, 8)]


def options(h, integrator, held):
    more = ' cone="elliptic" impratio="10"' if held else ""
    stiff = f'<default><geom solref="{2 * h!r} 1"/></default>' if held else ""
    return f'<option timestep="{h!r}" integrator="{integrator}" gravity="0 0 -9.81"{more}/>' + stiff


def hexapod(h, integrator, held):
    """The trunk and six legs; the servo's k (soll - q) + d (soll' - q') is a position actuator with soll + d/k soll' and damping d."""
    hollow = '<geom contype="0" conaffinity="0"'
    start = options(h, integrator, held)
    start = start.replace("<geom", hollow) if held else start + f"<default>{hollow}/></default>"
    parts = [
        f"<mujoco>{start}<worldbody>"
        '<geom type="plane" size="50 50 1" pos="0 0 -0.32" contype="1" conaffinity="1" friction="1 0.005 0.0001"/>'
        '<body name="trunk"><freejoint/><geom type="box" size="0.4 0.13 0.05" mass="6"/>'
    ]
    for i, (x, side, _) in enumerate(SIDES):
        parts.append(
            f'<body pos="{x} {0.13 * side} 0" euler="0 0 {90 * side}"><joint name="hip{i}" axis="0 0 1" damping="12"/>'
            '<geom type="cylinder" fromto="0 0 0 0.1 0 0" size="0.03" mass="0.3"/>'
            f'<body pos="0.1 0 0"><joint name="thigh{i}" axis="0 -1 0" damping="16"/>'
            '<geom type="cylinder" fromto="0 0 0 0.25 0 0.1" size="0.022" mass="0.4"/>'
            f'<body pos="0.25 0 0.1"><joint name="knee{i}" axis="0 -1 0" damping="8"/>'
            '<geom type="capsule" fromto="0 0 0 0.1 0 -0.4" size="0.02" mass="0.3" contype="1" conaffinity="1" friction="1 0.005 0.0001"/>'
            "</body></body></body>"
        )
    parts.append("</body></worldbody><actuator>")
    for i in range(6):
        parts.extend(f'<position joint="{name}{i}" kp="{k}"/>' for name, k, _ in SERVOS)
    parts.append("</actuator></mujoco>")
    return "".join(parts)


def angles(t, side, phase, stride, lift):
    """Hip, thigh and knee of a leg at times t, as the model file has them."""
    w, coxa, beside, below = 5.0, 0.1, 0.45, 0.3
    femur, tibia = math.hypot(0.25, 0.1), math.hypot(0.1, 0.4)
    begin = 1 - np.exp(-4 * t**2)
    f = stride * begin * np.sin(w * t + phase)
    z = lift * begin * np.maximum(0, np.cos(w * t + phase)) ** 2 - below
    reach = np.sqrt(beside**2 + f**2) - coxa
    d2 = reach**2 + z**2
    knee0 = math.acos((femur**2 + tibia**2 - (beside - coxa) ** 2 - below**2) / (2 * femur * tibia))
    hip = -side * np.arctan2(f, beside)
    thigh = np.arctan2(z, reach) + np.arccos((femur**2 - tibia**2 + d2) / (2 * femur * np.sqrt(d2))) - math.atan2(0.1, 0.25)
    knee = np.arccos((femur**2 + tibia**2 - d2) / (2 * femur * tibia)) - knee0
    return np.stack([hip, thigh, knee])


def controls(h, steps, stride, lift):
    t, dt = h * np.arange(steps), 1e-6
    columns = []
    for _, side, phase in SIDES:
        now = angles(t, side, phase, stride, lift)
        rate = (angles(t + dt, side, phase, stride, lift) - angles(np.maximum(t - dt, 0), side, phase, stride, lift)) / (t + dt - np.maximum(t - dt, 0))
        columns.extend(now[k] + d / s * rate[k] for k, (_, s, d) in enumerate(SERVOS))
    return np.stack(columns, axis=1)


def pyramid(h, integrator, held, n=10, l=0.2, gap=0.02, high=0.1):
    rough = '<geom friction="0.6 0.005 0.0001"'
    start = options(h, integrator, held)
    start = start.replace("<geom", rough) if held else start + f"<default>{rough}/></default>"
    parts = [
        f'<mujoco>{start}<worldbody><geom type="plane" size="50 50 1"/>'
    ]
    for r in range(n):
        for j in range(n - r):
            x, z = (l + gap) * (j + 0.5 * r - 0.5 * (n - 1)), (r + 0.5) * high
            parts.append(f'<body pos="{x!r} 0 {z!r}"><freejoint/><geom type="box" size="{l / 2!r} {high / 2!r} {high / 2!r}" density="1800"/></body>')
    return "".join(parts) + "</worldbody></mujoco>"


scene, h, duration, integrator = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
held = sys.argv[5:] == ["held"]
steps = round(duration / h)
walks = scene == "hexapod"
xml = pyramid(h, integrator, held) if scene == "pyramid" else hexapod(h, integrator, held)
model = mujoco.MjModel.from_xml_string(xml)
data = mujoco.MjData(model)
start = np.concatenate([[0.0], data.qpos, data.qvel])
control = np.zeros((steps, 0)) if scene == "pyramid" else controls(h, steps, 0.1 if walks else 0.0, 0.06 if walks else 0.0)
given = {"control": control[None]} if model.nu else {"nstep": steps}
cpu = math.inf
for _ in range(3):
    begin = time.process_time()
    states, _ = rollout.rollout(model, data, start[None], **given)
    cpu = min(cpu, time.process_time() - begin)
# Errors in a run of their own, so that looking costs no time.
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
first, deepest, contacts = data.xpos.copy(), 0.0, 0
# How far feet slip along the floor where they touch it; those that roll do not.
slipped, jacobian = 0.0, np.zeros((3, model.nv))
for i in range(steps):
    if model.nu:
        data.ctrl[:] = control[i]
    mujoco.mj_step(model, data)
    contacts += data.ncon
    if data.ncon:
        deepest = max(deepest, -data.contact.dist.min())
    for contact in data.contact if walks or scene == "standing" else ():
        body = int(model.geom_bodyid[max(contact.geom1, contact.geom2)])
        mujoco.mj_jac(model, data, jacobian, None, contact.pos, body)
        slipped += h * float(np.linalg.norm((jacobian @ data.qvel)[:2]))
far = np.abs(data.xpos - first)
answer = {"cpu": cpu, "steps": steps, "moved": float(np.linalg.norm(far, axis=1).max()), "penetration": deepest, "contacts": contacts / steps}
if scene != "pyramid":
    place = data.body("trunk").xpos
    answer["trunk"], answer["up"] = place.tolist(), float(data.body("trunk").xmat[8])
    answer["lowest"] = float(states[0, :, 3].min())
    answer["slipped"] = slipped
print(json.dumps(answer))
