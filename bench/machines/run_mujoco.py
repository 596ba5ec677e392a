"""One MJCF file in MuJoCo, integrator implicitfast: `run_mujoco.py FILE [DURATION [LIMIT]]`, prints one JSON object.

Without a duration: facts about the model (step, name of the first keyframe, root body). With one: processor time of
stepping alone over that time from the first keyframe (or from the pose as drawn), its controls held, the fastest of
up to three runs; then the errors, in a run of their own so that looking costs no time: deepest overlap, largest gap of
an equality constraint, change of energy where nothing takes or gives any, and where the root body ends.
"""
import json
import sys
import time

import mujoco
import numpy as np

model = mujoco.MjModel.from_xml_path(sys.argv[1])
model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
moving = [i for i in range(1, model.nbody) if model.body_weldid[i] == i]
free = [i for i in moving if model.body_jntnum[i] and model.jnt_type[model.body_jntadr[i]] == mujoco.mjtJoint.mjJNT_FREE]


def start():
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return data


def facts():
    # A robot's root is its free body with the most mass below it; without one, the moving body farthest down its longest arm.
    root = max(free, key=lambda i: model.body_subtreemass[i]) if free else moving[-1] if moving else 0
    return {
        "step": float(model.opt.timestep),
        "key": model.key(0).name if model.nkey else None,
        "velocities": int(model.nv),
        "root": model.body(root).name or f"body{root}",
        "root_id": int(root),
        "root_is_free": bool(free),
    }


if len(sys.argv) < 3:
    print(json.dumps(facts()))
    sys.exit()

steps = max(1, round(float(sys.argv[2]) / model.opt.timestep))
limit = float(sys.argv[3]) if len(sys.argv) > 3 else 60.0
model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)
cpu, spent, made = float("inf"), 0.0, steps
for _ in range(3):
    data = start()
    begin, made = time.process_time(), 0
    while made < steps and time.process_time() - begin < limit:
        part = min(steps - made, 1000)
        mujoco.mj_step(model, data, part)
        made += part
    took = time.process_time() - begin
    cpu, spent = min(cpu, took / made), spent + took
    if spent > 3:
        break
model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
data = start()
root = facts()["root_id"]
first, deepest, gap, contacts = sum(data.energy), 0.0, 0.0, 0
for _ in range(made):
    mujoco.mj_step(model, data)
    contacts += data.ncon
    if data.ncon:
        deepest = max(deepest, -float(data.contact.dist.min()))
    if data.ne:
        gap = max(gap, float(np.abs(data.efc_pos[: data.ne]).max()))
mujoco.mj_forward(model, data)
closed = not (contacts or model.nu or np.any(model.dof_damping) or np.any(model.dof_frictionloss))
answer = {
    "seconds_per_step": cpu,
    "steps": made,
    "overlap": deepest,
    "gap": gap,
    "contacts": contacts / made,
    "energy_change": sum(data.energy) - first if closed else None,
    "root": data.xpos[root].tolist(),
    "unstable": any(int(data.warning[i].number) for i in (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)),
}
print(json.dumps(answer))
