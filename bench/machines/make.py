#!/usr/bin/env python3
"""Machines that nobody tuned for, each written once, as an MJCF file that MuJoCo and Gelenk both read.

    bench/machines/make.py FOLDER [NAME ...]    write FOLDER/NAME.xml, all of them or those named
    bench/machines/make.py --list               names, kinds and summaries

No random numbers: the same files on every machine. `measure` calls this; the files are small and are not kept in the
repository. A machine is a function below with its kind (smooth: nothing touches; touching; moving: a heap or pile in
motion), its summary and its text. A keyframe `start` gives initial velocities and the controls of servos.
"""
import math
import sys
from pathlib import Path

MACHINES = {}
HOLLOW = 'contype="0" conaffinity="0"'


def machine(name, kind, summary):
    def keep(make):
        MACHINES[name] = (kind, summary, make)
        return make

    return keep


def numbers(*values):
    return " ".join(f"{value:.12g}" for value in values)


def file(world, more="", step=0.002, gravity=(0, 0, -9.81), geom="", joint="", floor=False, ground='friction="1 0.005 0.0001"'):
    """A whole MJCF file around the bodies of the world."""
    plane = f'<geom name="floor" type="plane" size="50 50 1" {ground}/>\n' if floor else ""
    return (
        f'<mujoco>\n<option timestep="{step}" integrator="implicitfast" gravity="{numbers(*gravity)}"/>\n'
        f'<compiler angle="degree" autolimits="true"/>\n<default><geom {geom}/><joint {joint}/></default>\n'
        f"<worldbody>\n{plane}{world}</worldbody>\n{more}</mujoco>\n"
    )


def free_box(name, place, half, turn="", density=1000):
    return (
        f'<body name="{name}" pos="{numbers(*place)}" {turn}><freejoint/>'
        f'<geom type="box" size="{numbers(*half)}" density="{density}"/></body>\n'
    )


# Chains and loops in which nothing touches.


def nested(links, first):
    """Bodies that each carry the next: a list of texts without their end."""
    return first + "".join(links) + "</body>" * len(links) + "\n"


def ball_chain(special=None, more=""):
    links = []
    for i in range(100):
        place = "0 0 0" if i == 0 else "0.1 0 0"
        joint = '<joint type="hinge" axis="0 1 0"/>' if i == special else '<joint type="ball"/>'
        site = '<site name="anchor" pos="0.05 0 0"/>' if i == 50 else ""
        links.append(f'<body name="link{i}" pos="{place}">{joint}<geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.01" mass="0.1"/>{site}\n')
    return file(nested(links, '<site name="wall" pos="5 1 0"/>\n'), more, step=0.001, geom=HOLLOW)


@machine("chain-100", "smooth", "hanging chain of 100 links on ball joints, let go level")
def _():
    return ball_chain()


@machine("chain-100-spring", "smooth", "the same chain with one spring from its middle to a wall")
def _():
    spring = '<spatial stiffness="20" springlength="1"><site site="wall"/><site site="anchor"/></spatial>'
    return ball_chain(more=f"<tendon>{spring}</tendon>\n")


@machine("chain-100-hinge", "smooth", "the same chain with one hinge in its middle")
def _():
    return ball_chain(special=50)


@machine("hinge-chain-20", "smooth", "twenty links on hinges, axes in turns along y and z")
def _():
    links = []
    for i in range(20):
        axis = "0 1 0" if i % 2 == 0 else "0 0 1"
        links.append(
            f'<body name="link{i}" pos="{0.2 if i else 0} 0 0"><joint axis="{axis}"/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.2"/>\n'
        )
    return file(nested(links, ""), geom=HOLLOW)


@machine("slider-chain-12", "smooth", "twelve sliders with springs, each along another axis than the last")
def _():
    links = []
    for i in range(12):
        axis = ("1 0 0", "0 1 0", "0 0 1", "1 1 0")[i % 4]
        joint = f'<joint type="slide" axis="{axis}" stiffness="400" springref="0.05" damping="0"/>'
        links.append(f'<body name="block{i}" pos="0 0 0.1">{joint}<geom type="box" size="0.04 0.04 0.04" mass="0.3"/>\n')
    return file(nested(links, ""), geom=HOLLOW)


@machine("scissors-20", "smooth", "twenty scissors in a row: nineteen closed loops")
def _():
    half, angle = 0.1, math.radians(40)
    dx, dz = half * math.cos(angle), half * math.sin(angle)
    text, more = "", ""
    for i in range(20):
        # A goes up to the right and begins where the B before it ends; B crosses it in the middle.
        place = (0, 0, 0) if i == 0 else (dx, 0, -dz)
        bar_a, bar_b = numbers(0, 0, 0, 2 * dx, 0, 2 * dz), numbers(-dx, 0, dz, dx, 0, -dz)
        text += (
            f'<body name="a{i}" pos="{numbers(*place)}"><joint axis="0 1 0"/><geom type="capsule" fromto="{bar_a}" size="0.01" mass="0.2"/>'
            f'<body name="b{i}" pos="{numbers(dx, 0, dz)}"><joint axis="0 1 0"/><geom type="capsule" fromto="{bar_b}" size="0.01" mass="0.2"/>\n'
        )
        if i:
            more += f'<connect body1="a{i - 1}" body2="b{i}" anchor="{numbers(2 * dx, 0, 2 * dz)}"/>\n'
    return file(text + "</body></body>" * 20 + "\n", f"<equality>{more}</equality>\n", geom=HOLLOW)


@machine("mixed-20", "smooth", "twenty links: hinges, ball joints and sliders in turns")
def _():
    links = []
    kinds = ('type="hinge" axis="0 1 0"', 'type="ball"', 'type="slide" axis="1 0 0" stiffness="500"', 'type="hinge" axis="0 0 1" damping="0.01"')
    for i in range(20):
        links.append(
            f'<body name="link{i}" pos="{0.2 if i else 0} 0 0"><joint {kinds[i % 4]}/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.2"/>\n'
        )
    return file(nested(links, ""), geom=HOLLOW)


# Ragdolls and machines with legs.


def ragdoll(prefix="", place=(0, 0, 1.2), joint="<freejoint/>", limits="", turn=""):
    """Trunk, head, two arms and two legs of two parts each, on hinges and ball joints."""

    def limb(name, at, to, half, radius, mass, axis, inner=""):
        return (
            f'<body name="{prefix}{name}" pos="{at}"><joint axis="{axis}" {limits}/>'
            f'<geom type="capsule" fromto="0 0 0 {to}" size="{radius}" mass="{mass}"/>{inner}</body>\n'
        )

    parts = f'<body name="{prefix}head" pos="0 0 0.3"><joint axis="0 1 0" {limits}/><geom type="sphere" pos="0 0 0.12" size="0.1" mass="4"/></body>\n'
    for side, y in (("left", 1), ("right", -1)):
        lower = limb(f"{side}_forearm", f"0 {0.28 * y} 0", f"0 {0.22 * y} 0", 0, 0.035, 1.2, "0 0 1")
        parts += limb(f"{side}_arm", f"0 {0.24 * y} 0.2", f"0 {0.26 * y} 0", 0, 0.045, 2, "1 0 0", lower)
        foot = limb(f"{side}_foot", "0 0 -0.42", "0.12 0 -0.02", 0, 0.035, 0.8, "0 1 0")
        shin = limb(f"{side}_shin", "0 0 -0.42", "0 0 -0.38", 0, 0.045, 3, "0 1 0", foot)
        parts += limb(f"{side}_thigh", f"0 {0.1 * y} -0.25", "0 0 -0.38", 0, 0.06, 6, "0 1 0", shin)
    trunk = '<geom type="capsule" fromto="0 0 -0.12 0 0 0.15" size="0.13" mass="25"/>'
    return f'<body name="{prefix}trunk" pos="{numbers(*place)}" {turn}>{joint}{trunk}\n{parts}</body>\n'


@machine("ragdoll-hung", "smooth", "ragdoll of twelve bodies hung from a ball joint, let go lying on its side")
def _():
    return file(ragdoll(joint='<joint type="ball" pos="0 0 0.3"/>', turn='euler="60 20 0"'), geom=HOLLOW)


@machine("ragdoll-hung-limits", "smooth", "the same with end stops that are never reached")
def _():
    stops = 'range="-3000 3000"'
    return file(ragdoll(joint='<joint type="ball" pos="0 0 0.3"/>', turn='euler="60 20 0"', limits=stops), geom=HOLLOW)


@machine("ragdoll-falls", "touching", "a ragdoll with end stops falls on the floor")
def _():
    return file(ragdoll(place=(0, 0, 1.3), limits='range="-50 50" damping="1"', turn='euler="0 15 0"'), floor=True)


@machine("ragdoll-heap", "moving", "four ragdolls fall on each other")
def _():
    text = ""
    for i in range(4):
        text += ragdoll(f"r{i}_", (0.1 * i, 0.07 * i, 0.6 + 0.8 * i), limits='range="-50 50" damping="1"', turn=f'euler="0 {80 + 7 * i} {8 * i}"')
    return file(text, floor=True)


def humanoid(feet):
    """Fourteen servos; the pose as drawn is held."""
    text, servos = "", ""

    def joint(name, axis, gain):
        nonlocal servos
        servos += f'<position joint="{name}" kp="{gain}" kv="{gain / 25:g}"/>\n'
        return f'<joint name="{name}" axis="{axis}"/>'

    for side, y in (("left", 1), ("right", -1)):
        text += (
            f'<body name="{side}_hip" pos="0 {0.1 * y} -0.1">{joint(side + "_hip_roll", "1 0 0", 1500)}<geom {HOLLOW} type="sphere" size="0.05" mass="1"/>'
            f'<body name="{side}_thigh">{joint(side + "_hip_pitch", "0 1 0", 1500)}<geom {HOLLOW} type="capsule" fromto="0 0 0 0 0 -0.4" size="0.06" mass="5"/>'
            f'<body name="{side}_shin" pos="0 0 -0.4">{joint(side + "_knee", "0 1 0", 1500)}<geom {HOLLOW} type="capsule" fromto="0 0 0 0 0 -0.38" size="0.045" mass="3"/>'
            f'<body name="{side}_ankle" pos="0 0 -0.4">{joint(side + "_ankle_pitch", "0 1 0", 800)}<geom {HOLLOW} type="sphere" size="0.03" mass="0.3"/>'
            f'<body name="{side}_foot">{joint(side + "_ankle_roll", "1 0 0", 800)}{feet}</body></body></body></body></body>\n'
        )
        text += (
            f'<body name="{side}_arm" pos="0 {0.22 * y} 0.35">{joint(side + "_shoulder", "0 1 0", 200)}'
            f'<geom {HOLLOW} type="capsule" fromto="0 0 0 0 0 -0.28" size="0.04" mass="2"/>'
            f'<body name="{side}_forearm" pos="0 0 -0.3">{joint(side + "_elbow", "0 1 0", 100)}'
            f'<geom {HOLLOW} type="capsule" fromto="0 0 0 0.1 0 -0.2" size="0.035" mass="1.5"/></body></body>\n'
        )
    trunk = f'<geom {HOLLOW} type="box" pos="0 0 0.15" size="0.1 0.16 0.25" mass="22"/><geom {HOLLOW} type="sphere" pos="0 0 0.55" size="0.1" mass="4"/>'
    world = f'<body name="trunk" pos="0 0 0.96"><freejoint/>{trunk}\n{text}</body>\n'
    return file(world, f"<actuator>{servos}</actuator>\n", floor=True)


@machine("humanoid-ball-feet", "touching", "humanoid under servos stands on three balls a foot")
def _():
    return humanoid("".join(f'<geom type="sphere" pos="{x} {y} -0.04" size="0.02" mass="0.3"/>' for x, y in ((-0.06, 0), (0.14, 0.04), (0.14, -0.04))))


@machine("humanoid-capsule-feet", "touching", "the same on two capsules a foot")
def _():
    return humanoid("".join(f'<geom type="capsule" fromto="-0.06 {y} -0.04 0.14 {y} -0.04" size="0.02" mass="0.45"/>' for y in (0.04, -0.04)))


@machine("humanoid-box-feet", "touching", "the same on a box a foot")
def _():
    return humanoid('<geom type="box" pos="0.04 0 -0.04" size="0.11 0.05 0.02" mass="0.9"/>')


def hexapod(place, floor):
    text, servos = "", ""
    for i, (x, side) in enumerate([(0.35, 1), (0.0, 1), (-0.35, 1), (0.35, -1), (0.0, -1), (-0.35, -1)]):
        text += (
            f'<body name="coxa{i}" pos="{x} {0.13 * side} 0" euler="0 0 {90 * side}"><joint name="hip{i}" axis="0 0 1" damping="12"/>'
            f'<geom {HOLLOW} type="cylinder" fromto="0 0 0 0.1 0 0" size="0.03" mass="0.3"/>'
            f'<body name="femur{i}" pos="0.1 0 0"><joint name="thigh{i}" axis="0 -1 0" damping="16"/>'
            f'<geom {HOLLOW} type="cylinder" fromto="0 0 0 0.25 0 0.1" size="0.022" mass="0.4"/>'
            f'<body name="tibia{i}" pos="0.25 0 0.1"><joint name="knee{i}" axis="0 -1 0" damping="8"/>'
            f'<geom type="capsule" fromto="0 0 0 0.1 0 -0.4" size="0.02" mass="0.3"/></body></body></body>\n'
        )
        servos += "".join(f'<position joint="{name}{i}" kp="{gain}"/>' for name, gain in (("hip", 500), ("thigh", 800), ("knee", 500)))
    ground = f'<geom name="floor" type="plane" size="50 50 1" pos="0 0 {floor}"/>\n'
    trunk = f'<body name="trunk" pos="{place}"><freejoint/><geom {HOLLOW} type="box" size="0.4 0.13 0.05" mass="6"/>\n'
    return file(f"{ground}{trunk}{text}</body>\n", f"<actuator>{servos}</actuator>\n", step=0.005)


@machine("hexapod-ground", "touching", "six legs under eighteen servos stand")
def _():
    return hexapod("0 0 0.32", 0)


@machine("hexapod-air", "smooth", "the same in free fall, the floor 100 m below")
def _():
    return hexapod("0 0 0.32", -100)


@machine("quadruped-box-feet", "touching", "four legs on box feet; limits, armature, dry friction in every joint")
def _():
    text, servos = "", ""
    for i, (x, y) in enumerate([(0.25, 0.12), (0.25, -0.12), (-0.25, 0.12), (-0.25, -0.12)]):
        joint = 'range="-120 120" armature="0.01" frictionloss="0.2" damping="0.5"'
        text += (
            f'<body name="hip{i}" pos="{x} {y} 0"><joint name="hip{i}" axis="1 0 0" {joint}/><geom {HOLLOW} type="sphere" size="0.04" mass="0.6"/>'
            f'<body name="thigh{i}"><joint name="thigh{i}" axis="0 1 0" {joint}/><geom {HOLLOW} type="capsule" fromto="0 0 0 -0.1 0 -0.2" size="0.025" mass="1"/>'
            f'<body name="shin{i}" pos="-0.1 0 -0.2"><joint name="knee{i}" axis="0 1 0" {joint}/><geom {HOLLOW} type="capsule" fromto="0 0 0 0.1 0 -0.2" size="0.02" mass="0.3"/>'
            f'<geom type="box" pos="0.1 0 -0.2" size="0.03 0.03 0.015" mass="0.1"/></body></body></body>\n'
        )
        servos += "".join(f'<position joint="{name}{i}" kp="120" kv="3"/>' for name in ("hip", "thigh", "knee"))
    world = f'<body name="trunk" pos="0 0 0.42"><freejoint/><geom {HOLLOW} type="box" size="0.3 0.1 0.06" mass="8"/>\n{text}</body>\n'
    return file(world, f"<actuator>{servos}</actuator>\n", floor=True)


@machine("biped-loops", "touching", "two legs, each a parallelogram closed by a loop, on box feet")
def _():
    text, servos, loops = "", "", ""
    for side, y in (("left", 0.1), ("right", -0.1)):
        text += (
            f'<body name="{side}_hip" pos="0 {y} 0"><joint name="{side}_roll" axis="1 0 0"/><geom {HOLLOW} type="sphere" size="0.04" mass="0.8"/>'
            f'<body name="{side}_front"><joint name="{side}_pitch" axis="0 1 0"/><geom {HOLLOW} type="capsule" fromto="0 0 0 0 0 -0.5" size="0.025" mass="2"/>'
            f'<body name="{side}_foot" pos="0 0 -0.5"><joint axis="0 1 0"/><geom {HOLLOW} type="capsule" fromto="0 0 0 -0.1 0 0" size="0.02" mass="0.4"/>'
            f'<geom type="box" pos="-0.02 0 -0.05" size="0.13 0.05 0.015" mass="0.8"/></body></body>'
            f'<body name="{side}_back" pos="-0.1 0 0"><joint axis="0 1 0"/><geom {HOLLOW} type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="1"/></body></body>\n'
        )
        loops += f'<connect body1="{side}_back" body2="{side}_foot" anchor="0 0 -0.5"/>'
        servos += "".join(f'<position joint="{side}_{name}" kp="1200" kv="50"/>' for name in ("roll", "pitch"))
    world = f'<body name="trunk" pos="0 0 0.566"><freejoint/><geom {HOLLOW} type="box" pos="-0.03 0 0.15" size="0.1 0.14 0.15" mass="12"/>\n{text}</body>\n'
    return file(world, f"<equality>{loops}</equality>\n<actuator>{servos}</actuator>\n", floor=True)


# Piles and heaps.


def pyramid(lift=0.0, tilt=0.0, n=10, l=0.2, gap=0.02, high=0.1):
    text = ""
    for r in range(n):
        for j in range(n - r):
            x, z = (l + gap) * (j + 0.5 * r - 0.5 * (n - 1)), (r + 0.5) * high
            text += free_box(f"brick{r}_{j}", (x, 0, z + lift), (l / 2, high / 2, high / 2), density=1800)
    g, a = 9.81, math.radians(tilt)
    rough = 'friction="0.6 0.005 0.0001"'
    return file(text, gravity=(g * math.sin(a), 0, -g * math.cos(a)), step=0.005, geom=rough, floor=True, ground=rough)


@machine("pyramid-rest", "touching", "55 bricks in ten rows, at rest")
def _():
    return pyramid()


@machine("pyramid-dropped", "moving", "the same, dropped by 1 cm")
def _():
    return pyramid(lift=0.01)


@machine("pyramid-tilted", "moving", "the same on ground tilted by 12 degrees")
def _():
    return pyramid(tilt=12)


def tray(half=0.5, high=0.3):
    text = f'<geom type="box" pos="0 0 -0.05" size="{half} {half} 0.05"/>\n'
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        size = (0.05, half + 0.1, high) if x else (half + 0.1, 0.05, high)
        text += f'<geom type="box" pos="{numbers(x * (half + 0.05), y * (half + 0.05), high)}" size="{numbers(*size)}"/>\n'
    return text


@machine("tray-30-capsules", "moving", "thirty capsules fall into a tray")
def _():
    text = tray()
    for i in range(30):
        place = (0.3 * (i % 3 - 1) + 0.02 * (i % 7 - 3), 0.3 * (i // 3 % 2) - 0.15 + 0.015 * (i % 5 - 2), 0.2 + 0.28 * (i // 6))
        text += (
            f'<body name="c{i}" pos="{numbers(*place)}" euler="{17 * i % 90} {29 * i % 90} {37 * i % 180}"><freejoint/>'
            f'<geom type="capsule" size="0.04 0.08" density="1000"/></body>\n'
        )
    return file(text, geom='friction="0.6 0.005 0.0001"')


@machine("tray-50-boxes", "moving", "fifty boxes fall into a tray")
def _():
    text = tray()
    for i in range(50):
        place = (0.25 * (i % 3 - 1) + 0.01 * (i % 7 - 3), 0.25 * (i // 3 % 3 - 1) + 0.015 * (i % 5 - 2), 0.15 + 0.24 * (i // 9))
        text += free_box(f"b{i}", place, (0.06, 0.05, 0.04), f'euler="{11 * i % 60} {23 * i % 60} {37 * i % 180}"')
    return file(text, geom='friction="0.6 0.005 0.0001"')


@machine("cards", "touching", "twenty thin cards in a stack, each set off by some millimetres")
def _():
    text = ""
    for i in range(20):
        text += free_box(f"card{i}", (0.004 * (i % 3 - 1), 0.003 * (i % 4 - 1.5), 0.002 + 0.004 * i), (0.06, 0.09, 0.002), f'euler="0 0 {3 * (i % 5 - 2)}"')
    return file(text, floor=True, geom='friction="0.4 0.005 0.0001"')


@machine("dominoes", "moving", "twenty dominoes, the first one tilted")
def _():
    text, high, thick = "", 0.1, 0.01
    for i in range(20):
        a = math.radians(14) if i == 0 else 0.0
        # Tilted about its lower edge.
        x = 0.05 * i + (high * math.sin(a) + thick * math.cos(a) - thick) / 2
        z = (high * math.cos(a) + thick * math.sin(a)) / 2
        text += free_box(f"d{i}", (x, 0, z), (thick / 2, 0.025, high / 2), f'euler="0 {numbers(math.degrees(a))} 0"')
    return file(text, floor=True, geom='friction="0.4 0.005 0.0001"')


@machine("marbles", "moving", "twelve marbles with rolling friction run down a bent chute")
def _():
    text, slopes = "", ((-1.0, 12, 0.32), (0.0, -8, 0.10))
    for k, (x, angle, z) in enumerate(slopes):
        text += f'<geom type="box" pos="{x} 0 {z}" euler="0 {angle} 0" size="0.55 0.12 0.01"/>\n'
        for y in (0.13, -0.13):
            text += f'<geom type="box" pos="{x} {y} {z}" euler="0 {angle} 0" size="0.55 0.01 0.06"/>\n'
    text += '<geom type="box" pos="0.58 0 0.2" size="0.01 0.12 0.2"/>\n'
    for i in range(12):
        text += f'<body name="m{i}" pos="{numbers(-1.45 + 0.07 * (i // 3), 0.06 * (i % 3 - 1), 0.47 + 0.01 * (i % 2))}"><freejoint/><geom type="sphere" size="0.02" density="2500"/></body>\n'
    return file(text, geom='condim="6" friction="0.5 0.001 0.0005"', floor=True)


@machine("net", "moving", "a net of 25 balls on ropes catches a heavy ball")
def _():
    text, ropes, n, d = "", "", 5, 0.2
    for i in range(n):
        for j in range(n):
            corner = i in (0, n - 1) and j in (0, n - 1)
            x, y = d * (i - 2), d * (j - 2)
            move = "" if corner else "<freejoint/>"
            text += f'<body name="n{i}_{j}" pos="{numbers(x, y, 1)}">{move}<geom type="sphere" size="0.03" mass="0.1"/><site name="s{i}_{j}"/></body>\n'
            for a, b in ((i + 1, j), (i, j + 1)):
                if a < n and b < n:
                    ropes += f'<spatial limited="true" range="0 {1.05 * d:g}"><site site="s{i}_{j}"/><site site="s{a}_{b}"/></spatial>\n'
    text += '<body name="ball" pos="0.03 0.02 1.3"><freejoint/><geom type="sphere" size="0.15" mass="2"/></body>\n'
    return file(text, f"<tendon>{ropes}</tendon>\n")


# Loops, grasps and vehicles that touch.


@machine("track-40", "moving", "a closed track of forty hinged plates falls on the floor")
def _():
    l, half = 0.1, 0.048
    headings = [0.0] * 13 + [22.5 * k for k in range(1, 8)] + [180.0] * 13 + [180 + 22.5 * k for k in range(1, 8)]
    text = ""
    for i, heading in enumerate(headings):
        turn = heading - (headings[i - 1] if i else 0.0)
        # Turning to the left about -y takes x to z.
        place = "-0.6 0 0.02" if i == 0 else f"{l} 0 0"
        joint = "<freejoint/>" if i == 0 else '<joint axis="0 1 0"/>'
        text += f'<body name="plate{i}" pos="{place}" euler="0 {numbers(-turn)} 0">{joint}<geom type="box" pos="{l / 2} 0 0" size="{half} 0.1 0.008" mass="0.3"/>\n'
    more = f'<equality><connect body1="plate39" body2="plate0" anchor="{l} 0 0"/></equality>\n<contact><exclude body1="plate39" body2="plate0"/></contact>\n'
    return file(text + "</body>" * 40 + "\n", more, floor=True)


@machine("four-bar-floor", "touching", "a free loop of four bars falls on the floor")
def _():
    bar = '<geom type="capsule" fromto="0 0 0 {} 0 0" size="0.02" mass="{}"/>'
    text = (
        '<body name="base" pos="-0.2 0 0.4" euler="10 -20 0"><freejoint/>' + bar.format(0.4, 1)
        + '<body name="crank" euler="0 -70 0"><joint axis="0 1 0"/>' + bar.format(0.2, 0.5)
        + '<body name="coupler" pos="0.2 0 0" euler="0 70 0"><joint axis="0 1 0"/>' + bar.format(0.4, 1)
        + '<body name="rocker" pos="0.4 0 0" euler="0 110 0"><joint axis="0 1 0"/>' + bar.format(0.2, 0.5)
        + "</body></body></body></body>\n"
    )
    pairs = (("rocker", "base"), ("crank", "rocker"), ("base", "coupler"))
    apart = "".join(f'<exclude body1="{a}" body2="{b}"/>' for a, b in pairs)
    return file(text, f'<equality><connect body1="rocker" body2="base" anchor="0.2 0 0"/></equality>\n<contact>{apart}</contact>\n', floor=True)


@machine("jaws", "touching", "a box held in flat jaws, friction 0.8, with six times the force it needs")
def _():
    text, servos, push = "", "", 6 * 0.5 * 9.81 / (2 * 0.8)
    for name, side in (("left", 1), ("right", -1)):
        # The servo's rest position lies 3 cm inside of the box.
        text += (
            f'<body name="{name}" pos="{-0.06 * side} 0 0.3"><joint name="{name}" type="slide" axis="{side} 0 0" ref="-0.03" damping="10"/>'
            f'<geom type="box" size="0.02 0.05 0.05" mass="0.3"/></body>\n'
        )
        servos += f'<position joint="{name}" kp="{numbers(push / 0.03)}"/>'
    text += '<body name="box" pos="0 0 0.3"><freejoint/><geom type="box" size="0.04 0.04 0.04" mass="0.5"/></body>\n'
    return file(text, f"<actuator>{servos}</actuator>\n", geom='friction="0.8 0.005 0.0001"', floor=True)


@machine("gripper-three-fingers", "touching", "three fingers of two hinges each hold a cylinder")
def _():
    text, servos = "", ""
    for i in range(3):
        text += (
            f'<body name="mount{i}" pos="0 0 0.5" euler="0 0 {120 * i}"><body name="upper{i}" pos="0.08 0 0"><joint name="root{i}" axis="0 1 0" damping="0.1"/>'
            f'<geom {HOLLOW} type="capsule" fromto="0 0 0 0.02 0 -0.07" size="0.01" mass="0.08"/>'
            f'<body name="lower{i}" pos="0.02 0 -0.07"><joint name="tip{i}" axis="0 1 0" damping="0.05"/>'
            f'<geom type="capsule" fromto="0 0 0 -0.0595 0 -0.08" size="0.01" mass="0.05"/></body></body></body>\n'
        )
        servos += f'<position joint="root{i}" kp="15"/><position joint="tip{i}" kp="8"/>'
    text += '<body name="cup" pos="0 0 0.35"><freejoint/><geom type="cylinder" size="0.03 0.05" mass="0.15"/></body>\n'
    key = f'<keyframe><key name="start" ctrl="{" ".join(["0.03 0.06"] * 3)}"/></keyframe>\n'
    return file(text, f"<actuator>{servos}</actuator>\n{key}", geom='friction="1 0.005 0.0001"', floor=True)


@machine("cart", "touching", "a cart with suspension rolls down a slope of six degrees")
def _():
    text = ""
    for i, (x, y) in enumerate([(0.4, 0.3), (0.4, -0.3), (-0.4, 0.3), (-0.4, -0.3)]):
        text += (
            f'<body name="strut{i}" pos="{x} {y} -0.1"><joint type="slide" axis="0 0 1" stiffness="4000" damping="200" range="-0.08 0.08"/>'
            f'<geom {HOLLOW} type="sphere" size="0.03" mass="1"/>'
            f'<body name="wheel{i}"><joint axis="0 1 0" damping="0.01"/><geom type="cylinder" fromto="0 -0.03 0 0 0.03 0" size="0.12" mass="1.5"/></body></body>\n'
        )
    a = math.radians(6)
    world = f'<body name="chassis" pos="0 0 0.22"><freejoint/><geom {HOLLOW} type="box" size="0.5 0.22 0.06" mass="25"/>\n{text}</body>\n'
    return file(world, floor=True, gravity=(9.81 * math.sin(a), 0, -9.81 * math.cos(a)))


@machine("crane", "touching", "a boom under a servo, a chain of twelve links, a hook that pushes a crate")
def _():
    links = ""
    for i in range(12):
        links += f'<body name="link{i}" pos="{"1.5 0 0" if i == 0 else "0 0 -0.08"}"><joint type="ball" damping="0.001"/><geom {HOLLOW} type="capsule" fromto="0 0 0 0 0 -0.08" size="0.01" mass="0.1"/>\n'
    hook = '<body name="hook" pos="0 0 -0.08"><joint type="ball" damping="0.001"/>' + "".join(
        f'<geom type="capsule" fromto="{part}" size="0.025" mass="1"/>' for part in ("0 0 0 0 0 -0.15", "0 0 -0.15 0.1 0 -0.2", "0.1 0 -0.2 0.18 0 -0.12")
    )
    boom = '<body name="boom" pos="0 0 1.5"><joint name="slew" axis="0 0 1" damping="400" armature="1"/><geom contype="0" conaffinity="0" type="box" pos="0.75 0 0" size="0.75 0.05 0.05" mass="20"/>\n'
    world = boom + links + hook + "</body>" * 14 + "\n" + free_box("crate", (1.45, 0.35, 0.3), (0.12, 0.12, 0.3), density=100)
    more = '<actuator><position joint="slew" kp="300"/></actuator>\n<keyframe><key name="start" ctrl="0.8"/></keyframe>\n'
    return file(world, more, floor=True)


@machine("top", "touching", "a spinning top on a round tip")
def _():
    top = (
        '<body name="top" pos="0 0 0.045" euler="8 0 0"><freejoint/><geom type="sphere" pos="0 0 -0.04" size="0.005" mass="0.01"/>'
        '<geom type="cylinder" size="0.04 0.006" mass="0.15"/><geom contype="0" conaffinity="0" type="capsule" fromto="0 0 -0.04 0 0 0.03" size="0.003" mass="0.01"/></body>\n'
    )
    return file(top, '<keyframe><key name="start" qvel="0 0 0 0 0 150"/></keyframe>\n', step=0.001, floor=True, geom='friction="0.3 0.005 0.0001"')


@machine("arm-pushes-box", "touching", "an arm of three hinges under servos pushes a box over the floor")
def _():
    arm = (
        '<body name="upper" pos="0 0 0.08"><joint name="j1" axis="0 0 1" damping="2"/><geom contype="0" conaffinity="0" type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="2"/>'
        '<body name="fore" pos="0.4 0 0"><joint name="j2" axis="0 0 1" damping="1"/><geom contype="0" conaffinity="0" type="capsule" fromto="0 0 0 0.3 0 0" size="0.025" mass="1"/>'
        '<body name="hand" pos="0.3 0 0"><joint name="j3" axis="0 0 1" damping="0.5"/><geom type="capsule" fromto="0 0 0 0.12 0 0" size="0.025" mass="0.4"/></body></body></body>\n'
    )
    box = free_box("box", (0.72, 0.2, 0.08), (0.1, 0.1, 0.08), density=400)
    servos = "".join(f'<position joint="{name}" kp="{gain}"/>' for name, gain in (("j1", 60), ("j2", 30), ("j3", 10)))
    more = f'<actuator>{servos}</actuator>\n<keyframe><key name="start" ctrl="0.7 0.2 0.1"/></keyframe>\n'
    return file(arm + box, more, floor=True, geom='friction="0.5 0.005 0.0001"')


def write(folder, names=()):
    """Writes the machines and gives their files."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, (_, _, make) in MACHINES.items():
        if not names or name in names:
            paths[name] = folder / f"{name}.xml"
            paths[name].write_text(make())
    return paths


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        for name, (kind, summary, _) in MACHINES.items():
            print(f"{name:24} {kind:9} {summary}")
    elif len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] in (["--help"], ["-h"]) else 2)
    else:
        write(sys.argv[1], sys.argv[2:])
