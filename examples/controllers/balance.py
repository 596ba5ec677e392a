"""Holds up the rod of balance.toml: a controller in step with the simulation. It needs nothing but Python.

    python balance.py [PATH OF gelenk]
"""

import json
import subprocess
import sys
from pathlib import Path

RATE = 500
SECONDS = 3

gelenk = sys.argv[1] if len(sys.argv) > 1 else "gelenk"
model = Path(__file__).with_name("balance.toml")
simulation = subprocess.Popen(
    [gelenk, "serve", str(model), "--rate", str(RATE), "--quiet"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
)

hello = json.loads(simulation.stdout.readline())
state = hello["start"]
for _ in range(RATE * SECONDS):
    pivot = state["joints"]["pivot"]
    torque = -20 * pivot["angle"] - 4 * pivot["rate"]
    simulation.stdin.write(json.dumps({"inputs": {"torque": torque}}) + "\n")
    simulation.stdin.flush()
    state = json.loads(simulation.stdout.readline())
    if "error" in state:
        sys.exit(state["error"]["message"])

simulation.stdin.close()
print(f"t = {state['time']} s, angle = {state['joints']['pivot']['angle']:.2e} rad")
sys.exit(simulation.wait())
