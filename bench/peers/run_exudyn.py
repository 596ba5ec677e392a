"""A chain of rods in Exudyn: planar rigid bodies, revolute joints, generalized alpha. Settings as JSON on the command line."""
import contextlib
import json
import math
import os
import sys
import time

with contextlib.redirect_stdout(sys.stderr):
    import exudyn as exu
    from exudyn.itemInterface import (
        MarkerBodyPosition,
        NodeRigidBody2D,
        ObjectGround,
        ObjectJointRevolute2D,
        ObjectRigidBody2D,
        LoadMassProportional,
        MarkerBodyMass,
    )
from mechanisms import angles, energy, lengths

job = json.loads(sys.argv[1])
points, closed, h, duration = job["points"], job["closed"], job["step"], job["duration"]
# Exudyn's plane is x, y: y stands for z; a rod at angle a about our y axis has -a there.
angle, length = [-a for a in angles(points)], lengths(points)
system = exu.SystemContainer()
mbs = system.AddSystem()
ground = mbs.AddObject(ObjectGround(referencePosition=[0, 0, 0]))
marker = mbs.AddMarker(MarkerBodyPosition(bodyNumber=ground, localPosition=[points[0][0], points[0][1], 0]))
nodes, ends = [], []
for (p, q), a, l in zip(zip(points, points[1:]), angle, length):
    node = mbs.AddNode(NodeRigidBody2D(referenceCoordinates=[(p[0] + q[0]) / 2, (p[1] + q[1]) / 2, a]))
    body = mbs.AddObject(ObjectRigidBody2D(physicsMass=l, physicsInertia=l**3 / 12, nodeNumber=node))
    mbs.AddLoad(LoadMassProportional(markerNumber=mbs.AddMarker(MarkerBodyMass(bodyNumber=body)), loadVector=[0, -9.81, 0]))
    left = mbs.AddMarker(MarkerBodyPosition(bodyNumber=body, localPosition=[-l / 2, 0, 0]))
    mbs.AddObject(ObjectJointRevolute2D(markerNumbers=[marker, left]))
    marker = mbs.AddMarker(MarkerBodyPosition(bodyNumber=body, localPosition=[l / 2, 0, 0]))
    nodes.append(node)
if closed:
    last = mbs.AddMarker(MarkerBodyPosition(bodyNumber=ground, localPosition=[points[-1][0], points[-1][1], 0]))
    mbs.AddObject(ObjectJointRevolute2D(markerNumbers=[marker, last]))
mbs.Assemble()


def settings(end):
    s = exu.SimulationSettings()
    s.timeIntegration.endTime = end
    s.timeIntegration.numberOfSteps = max(1, round(end / h))
    s.timeIntegration.verboseMode = 0
    s.timeIntegration.generalizedAlpha.spectralRadius = job.get("spectral_radius", 0.9)
    s.timeIntegration.newton.useModifiedNewton = True
    s.solutionSettings.writeSolutionToFile = False
    s.solutionSettings.sensorsWritePeriod = end
    s.linearSolverType = exu.LinearSolverType.EigenSparse if len(nodes) > 20 else exu.LinearSolverType.EXUdense
    s.parallel.numberOfThreads = 1
    s.displayStatistics = False
    s.displayComputationTime = False
    return s


def values():
    get = lambda node, what: mbs.GetNodeOutput(node, what)
    out = exu.OutputVariableType
    places = [get(n, out.Position) for n in nodes]
    speeds = [get(n, out.Velocity) for n in nodes]
    rates = [get(n, out.AngularVelocity)[2] for n in nodes]
    turns = [get(n, out.Coordinates)[2] + a for n, a in zip(nodes, angle)]
    e = energy(length, [(p[0], p[1]) for p in places], [(v[0], v[1]) for v in speeds], rates)
    gap, end = 0.0, points[0]
    for p, t, l in zip(places, turns, length):
        half = (l / 2 * math.cos(t), l / 2 * math.sin(t))
        gap = max(gap, math.hypot(p[0] - half[0] - end[0], p[1] - half[1] - end[1]))
        end = (p[0] + half[0], p[1] + half[1])
    if closed:
        gap = max(gap, math.hypot(end[0] - points[-1][0], end[1] - points[-1][1]))
    return e, gap, [[p[0], 0.0, p[1]] for p in places]


first = -sum(0.0 for _ in length) + 9.81 * sum(l * (p[1] + q[1]) / 2 for l, p, q in zip(length, points, points[1:]))
record = {"total": 0.0, "gap": 0.0, "n": 0, "at_one": []}


def look(mbs, t):
    e, gap, places = values()
    record["total"] += abs(e - first)
    record["gap"] = max(record["gap"], gap)
    record["n"] += 1
    if abs(t - 1.0) < 0.5 * h:
        record["at_one"] = places
    return True


null = os.open(os.devnull, os.O_WRONLY)
out = os.dup(1)
os.dup2(null, 1)  # Exudyn talks on standard output
try:
    begin = time.process_time()
    mbs.SolveDynamic(settings(duration))
    cpu = time.process_time() - begin
    mbs.SetPreStepUserFunction(look)
    mbs.Assemble()
    s = settings(min(duration, 2.0) + h)
    mbs.SolveDynamic(s)
finally:
    os.dup2(out, 1)
n = max(record["n"], 1)
result = {"cpu": cpu, "steps": round(duration / h), "gap": record["gap"], "energy": record["total"] / n, "at_one": record["at_one"]}
print(json.dumps(result))
