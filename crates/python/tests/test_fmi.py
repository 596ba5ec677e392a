"""Functional mock-up units: FMPy validates and simulates them, with the bits of Gelenk's own runs."""

import os
import subprocess
from pathlib import Path

import gelenk as gk
import numpy as np
import pytest

fmpy = pytest.importorskip("fmpy")
from fmpy.fmi2 import FMU2Slave  # noqa: E402
from fmpy.fmi3 import FMU3Slave  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402

#: Where `gelenk` and the library for units are.
PROGRAMS = Path(os.environ.get("GELENK_PROGRAMS", Path(__file__).parents[3] / "target" / "debug"))

#: Follows its input as a stiff spring with a damper would: the output is the torque that a rod's angle and rate ask for.
CONTROLLER = """
[inputs]
angle = 0
rate = 0

[[body]]
name = "mass"
mass = 1
inertia = [1, 1, 1]

[[joint]]
name = "torque"
type = "slider"
between = ["world", "mass"]
point = [0, 0, 0]
axis = [1, 0, 0]
motor = { force = "10000*(-20*input.angle - 4*input.rate - joint.torque.position) - 140*joint.torque.velocity" }

[run]
step = 0.001
"""


def export(tmp_path, model, name, fmi, *more):
    path = tmp_path / f"{name}-{fmi}.fmu"
    command = [PROGRAMS / "gelenk", "export", model, "--fmu", path, "--fmi", str(fmi), *more]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.mark.parametrize("fmi", [2, 3])
def test_it_is_valid_and_equals_the_run_to_the_bit(tmp_path, fmi):
    path = export(tmp_path, "three-link-arm", "arm", fmi)
    assert validate_fmu(str(path)) == []
    model = gk.gallery("three-link-arm", l3=0.4)
    step, names = model.settings["step"], ["joint.elbow.angle", "body.forearm.position.z", "energy.kinetic"]
    result = fmpy.simulate_fmu(
        str(path), stop_time=100 * step, output_interval=2 * step, output=names, start_values={"l3": 0.4},
    )
    run = gk.run(model, duration=100 * step, step=step, sample=2 * step)
    assert len(result) == len(run.time) == 51
    for name in names:
        assert (result[name] == run[name]).all(), name
    assert np.ptp(result["joint.elbow.angle"]) > 0


@pytest.mark.parametrize("fmi", [2, 3])
def test_inputs_and_states(tmp_path, fmi):
    path = export(tmp_path, "three-link-arm", "arm", fmi, "--set", "l3=0.5")
    model = gk.gallery("three-link-arm", l3=0.5)
    step = model.settings["step"]
    about = fmpy.read_model_description(str(path))
    reference = {variable.name: variable.valueReference for variable in about.modelVariables}
    folder = fmpy.extract(str(path))
    kind = FMU2Slave if fmi == 2 else FMU3Slave
    unit = kind(
        guid=about.guid if fmi == 2 else about.instantiationToken, unzipDirectory=folder,
        modelIdentifier=about.coSimulation.modelIdentifier, instanceName="arm",
    )
    unit.instantiate()
    if fmi == 2:
        unit.setupExperiment()
        read, write = unit.getReal, unit.setReal
        state_of = unit.getFMUstate if hasattr(unit, "getFMUstate") else unit.getFMUState
        back_to = unit.setFMUstate if hasattr(unit, "setFMUstate") else unit.setFMUState
    else:
        read, write = unit.getFloat64, unit.setFloat64
        state_of, back_to = unit.getFMUState, unit.setFMUState
    unit.enterInitializationMode()
    write([reference["input.tau1"]], [1.5])
    unit.exitInitializationMode()
    simulation = gk.Simulation(model)
    simulation.inputs["tau1"] = 1.5
    at = [reference["joint.elbow.angle"], reference["joint.elbow.rate"]]
    for i in range(20):
        unit.doStep(currentCommunicationPoint=i * step, communicationStepSize=step)
        simulation.step()
        here = [simulation["joint.elbow.angle"], simulation["joint.elbow.rate"]]
        assert list(read(at)) == here
    kept = state_of()
    unit.doStep(currentCommunicationPoint=20 * step, communicationStepSize=step)
    later = list(read(at))
    assert later != here
    back_to(kept)
    assert list(read(at)) == here
    unit.doStep(currentCommunicationPoint=20 * step, communicationStepSize=step)
    assert list(read(at)) == later
    unit.terminate()
    unit.freeInstance()


def test_a_machine_and_its_controller_are_coupled(tmp_path):
    balance = Path(__file__).parents[3] / "examples" / "controllers" / "balance.toml"
    (tmp_path / "controller.toml").write_text(CONTROLLER)
    paths = [
        export(tmp_path, balance, "machine", 3), export(tmp_path, tmp_path / "controller.toml", "controller", 3),
    ]
    units = []
    for path in paths:
        about = fmpy.read_model_description(str(path))
        unit = FMU3Slave(
            guid=about.instantiationToken, unzipDirectory=fmpy.extract(str(path)),
            modelIdentifier=about.coSimulation.modelIdentifier, instanceName=path.stem,
        )
        unit.instantiate()
        unit.enterInitializationMode()
        unit.exitInitializationMode()
        units.append((unit, {v.name: v.valueReference for v in about.modelVariables}))
    (machine, of), (controller, to) = units
    step = 0.002
    largest = 0
    for i in range(1500):
        angle, rate = machine.getFloat64([of["joint.pivot.angle"], of["joint.pivot.rate"]])
        largest = max(largest, abs(angle))
        controller.setFloat64([to["input.angle"], to["input.rate"]], [angle, rate])
        controller.doStep(currentCommunicationPoint=i * step, communicationStepSize=step)
        [torque] = controller.getFloat64([to["joint.torque.position"]])
        machine.setFloat64([of["input.torque"]], [torque])
        machine.doStep(currentCommunicationPoint=i * step, communicationStepSize=step)
    [angle] = machine.getFloat64([of["joint.pivot.angle"]])
    assert abs(angle) < 1e-4 < 2e-3 < largest
    for unit, _ in units:
        unit.terminate()
        unit.freeInstance()
