#!/usr/bin/env python3
"""What `gelenk export` writes, read by programs of others.

    python3 bench/export/check.py FOLDER

Reads every .glb and .gltf of the folder with Khronos's glTF validator (npm package gltf-validator) and trimesh, every .png
with Pillow, every .mcap with the mcap library. Makes its environments in target/.
"""
import json, os, subprocess, sys, venv
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "target"
VALIDATE = """
const validator = require('gltf-validator'), fs = require('fs');
(async () => {
  for (const file of process.argv.slice(2)) {
    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)));
    console.log(JSON.stringify({ file, issues: report.issues, info: report.info }));
  }
})();
"""


def main():
    folder = Path(sys.argv[1]).resolve()
    python = TARGET / "export-venv" / "bin" / "python"
    if "EXPORT_INNER" not in os.environ:
        if not python.exists():
            venv.create(TARGET / "export-venv", with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "-q", "trimesh", "numpy", "pillow", "mcap"], check=True)
        os.execve(python, [str(python), __file__, str(folder)], {**os.environ, "EXPORT_INNER": "1"})
    import trimesh
    from PIL import Image
    from mcap.reader import make_reader
    bad = 0
    scenes = sorted([*folder.glob("*.glb"), *folder.glob("*.gltf")])
    if scenes:
        place = TARGET / "gltf-validator"
        place.mkdir(parents=True, exist_ok=True)
        if not (place / "node_modules").exists():
            subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "gltf-validator"], cwd=place, check=True)
        (place / "validate.cjs").write_text(VALIDATE)
        done = subprocess.run(["node", "validate.cjs", *map(str, scenes)], cwd=place, check=True, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            report = json.loads(line)
            issues = report["issues"]
            bad += issues["numErrors"] + issues["numWarnings"]
            print(f"{Path(report['file']).name}: {issues['numErrors']} errors, {issues['numWarnings']} warnings; "
                  f"{report['info']['animationCount']} animation, {report['info']['totalTriangleCount']} triangles")
            for message in issues["messages"][:5]:
                print("  ", message["code"], message.get("pointer"), message["message"])
        for file in scenes:
            scene = trimesh.load(file)
            print(f"{file.name}: trimesh reads {len(scene.geometry)} meshes, extents {scene.extents.round(3).tolist()}")
    for file in sorted(folder.glob("*.png")):
        with Image.open(file) as picture:
            picture.load()
            print(f"{file.name}: Pillow reads {picture.size}, {len(picture.getcolors(1 << 24))} colours")
    for file in sorted(folder.glob("*.mcap")):
        with open(file, "rb") as stream:
            summary = make_reader(stream).get_summary()
            topics = {c.topic: (summary.schemas[c.schema_id].name, summary.statistics.channel_message_counts[i]) for i, c in summary.channels.items()}
            print(f"{file.name}: mcap reads {topics}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
