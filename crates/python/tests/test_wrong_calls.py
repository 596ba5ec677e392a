"""Wrong calls raise exceptions that say what is wrong; none ends the interpreter."""

import pickle

import gelenk as gk
import numpy as np
import pytest
from conftest import ARM

NAN, INF = float("nan"), float("inf")
ARM_MODEL = gk.loads(ARM, name="arm")
PENDULUM = gk.gallery("double-pendulum")


def simulation():
    return gk.Simulation(ARM_MODEL)


def run():
    return gk.run(ARM_MODEL, duration=0.05)


OBJECTS = [None, 3, 2.5, "model", [1, 2], {"a": 1}, object(), b"bytes", True]
NUMBERS = [NAN, INF, -INF, -1.0]
NOT_NUMBERS = ["fast", [1.0, 2.0], {"a": 1}, object(), None]

CALLS = []


def call(name, error, function):
    CALLS.append(pytest.param(error, function, id=f"{len(CALLS)}-{name}"))


def each(name, error, values, function):
    for value in values:
        call(f"{name}-{value!r:.20}", error, lambda value=value: function(value))


# What is no model.
for thing in OBJECTS:
    call("run", TypeError, lambda thing=thing: gk.run(thing))
    call("simulation", TypeError, lambda thing=thing: gk.Simulation(thing))
    call("rollout", TypeError, lambda thing=thing: gk.rollout(thing, 1, steps=1))
    call("derive", TypeError, lambda thing=thing: gk.derive(thing))
    call("sensitivity", TypeError, lambda thing=thing: gk.sensitivity(thing, 1.0))

# Files and texts.
each("load", FileNotFoundError, ["no/such.toml", "nothing", "double-pendulum", ""], gk.load)
each("load-type", TypeError, [None, 3, [1], object()], gk.load)
call("load-folder", gk.ModelError, lambda: gk.load("."))
each("loads", gk.ModelError, ["= 1", "[[body]]\nname = 3", "[model", "nonsense = 1", '[[joint]]\nname = "j"'], gk.loads)
each("loads-type", TypeError, [None, 3, b"[model]", object()], gk.loads)
each("gallery", gk.UnknownNameError, ["", "pendulums", "double pendulum", "x" * 1000, "\0"], gk.gallery)
each("gallery-type", TypeError, [None, 3, object()], gk.gallery)
each("open", FileNotFoundError, ["no/such.mcap", ""], gk.open)
call("open-text", gk.InputError, lambda: gk.open(__file__))
each("optimize", gk.UnknownNameError, ["rod", "nothing"], gk.optimize)
call("optimize-file", FileNotFoundError, lambda: gk.optimize("no/such.toml"))
call("optimize-starts", gk.InputError, lambda: gk.optimize("rod-turn", starts=0))
call("optimize-negative", OverflowError, lambda: gk.optimize("rod-turn", starts=-1))
call("optimize-tolerance", gk.InputError, lambda: gk.optimize("rod-turn", tolerance=-1.0))
call("optimize-progress", TypeError, lambda: gk.optimize("rod-turn", progress=3))
call("optimize-parameter", gk.ModelError, lambda: gk.optimize("rod-turn", nothing=3))

# Parameters.
each("with-number", gk.InputError, [NAN, INF, -INF], lambda x: ARM_MODEL.with_(l=x))
each("with-type", TypeError, [None, [1], {"a": 1}, object(), True], lambda x: ARM_MODEL.with_(l=x))
each("with-expression", gk.ModelError, ["", "1 +", "nothing", "t", "1/0", "sqrt(-1)"], lambda x: ARM_MODEL.with_(l=x))
call("with-name", gk.UnknownNameError, lambda: ARM_MODEL.with_(ll=1))
call("with-zero", gk.ModelError, lambda: ARM_MODEL.with_(l=0))
call("with-positional", TypeError, lambda: ARM_MODEL.with_(1))
call("gallery-parameter", gk.ModelError, lambda: gk.gallery("double-pendulum", nothing=1))
call("model-attribute", AttributeError, lambda: setattr(ARM_MODEL, "name", "x"))
call("model-new", TypeError, lambda: gk.Model())

# Settings of runs.
for name in ("duration", "step", "tolerance", "accuracy", "sample", "rtol", "atol"):
    each(name, gk.InputError, NUMBERS, lambda x, name=name: gk.run(ARM_MODEL, **{name: x}))
    each(name, TypeError, NOT_NUMBERS[:-1], lambda x, name=name: gk.run(ARM_MODEL, **{name: x}))
each("step-zero", gk.InputError, [0.0, 1e-300], lambda x: gk.run(ARM_MODEL, step=x))
each("engine", gk.InputError, ["", "Impulse", "mujoco"], lambda x: gk.run(ARM_MODEL, engine=x))
each("engine-type", TypeError, [3, ["dae"], b"dae"], lambda x: gk.run(ARM_MODEL, engine=x))
each("order", gk.InputError, [0, 1, 3, 10], lambda x: gk.run(ARM_MODEL, order=x))
each("order-type", (TypeError, OverflowError), [-2, 2.5, "2", 10**30], lambda x: gk.run(ARM_MODEL, order=x))
each("integrator", gk.InputError, ["", "euler"], lambda x: gk.run(ARM_MODEL, engine="dae", integrator=x))
each("at", gk.InputError, [[2.0], [-1.0], [NAN], [INF]], lambda x: gk.run(ARM_MODEL, at=x))
each("at-type", TypeError, [3, ["a"], "123"], lambda x: gk.run(ARM_MODEL, at=x))
each("contact", gk.InputError, ["", "yes"], lambda x: gk.run(ARM_MODEL, contact=x))
each("progress", TypeError, [3, "x", []], lambda x: gk.run(ARM_MODEL, progress=x))
call("keyword", TypeError, lambda: gk.run(ARM_MODEL, durations=1))
call("positional", TypeError, lambda: gk.run(ARM_MODEL, 1.0))
call("dae-contact", gk.InputError, lambda: gk.run(gk.gallery("stack"), engine="dae", duration=0.1))

# Inputs of runs.
each("inputs-type", TypeError, [3, "torque", [1], object()], lambda x: gk.run(ARM_MODEL, inputs=x))
each("input-number", gk.InputError, NUMBERS[:3], lambda x: gk.run(ARM_MODEL, inputs={"torque": x}))
each("input-type", TypeError, [None, [1.0], object(), {"a": 1}], lambda x: gk.run(ARM_MODEL, inputs={"torque": x}))
each("input-name", gk.UnknownNameError, ["", "torques", "input.torque"], lambda x: gk.run(ARM_MODEL, inputs={x: 1}))
call("input-name-type", TypeError, lambda: gk.run(ARM_MODEL, inputs={3: 1}))
each(
    "input-formula",
    gk.InputError,
    ["", "2*", "2x", '1" # ', "1\n[model]", "'", "\\", "#"],
    lambda x: gk.run(ARM_MODEL, inputs={"torque": x}),
)
each("input-symbol", gk.ModelError, ["nothing", "joint.elbow.angle"], lambda x: gk.run(ARM_MODEL, inputs={"torque": x}))
each(
    "input-array",
    gk.InputError,
    [
        ([0.0], [1.0, 2.0]),
        ([], []),
        ([0.0, 0.0], [1.0, 1.0]),
        ([1.0, 0.0], [1.0, 1.0]),
        ([0.0, NAN], [1.0, 1.0]),
        ([0.0], [INF]),
        (),
        ([0.0],),
        ([0.0], [1.0], [2.0]),
    ],
    lambda x: gk.run(ARM_MODEL, inputs={"torque": x}),
)
each(
    "input-array-type",
    TypeError,
    [("a", "b"), (0.0, 1.0), ([[0.0]], [[1.0]]), (None, None), (object(), [1.0])],
    lambda x: gk.run(ARM_MODEL, inputs={"torque": x}),
)
call("input-array-dae", gk.InputError, lambda: gk.run(ARM_MODEL, engine="dae", inputs={"torque": ([0.0], [1.0])}))

# Results.
each("quantity", gk.UnknownNameError, ["", "joint", "joint.pivot", "joint.pivot.angel", "x" * 999], lambda x: run()[x])
each("quantity", KeyError, ["body.arms.position", "contact.a.b.force.z", "contact..force.x"], lambda x: run()[x])
each("quantity-type", TypeError, [3, None, ["time"], slice(0, 1)], lambda x: run()[x])
each("body", gk.UnknownNameError, ["", "leg", "world"], lambda x: run().body(x))
each("save", gk.InputError, ["x.txt", "x.MCAP2", "x.py"], lambda x: run().save(x))
each("save-type", TypeError, [None, 3, object()], lambda x: run().save(x))
call("save-nowhere", OSError, lambda: run().save("no/such/folder/x.mcap"))
call("save-over", FileExistsError, lambda: save_over())
call("run-new", TypeError, lambda: gk.Run())
call("run-attribute", AttributeError, lambda: setattr(run(), "verdict", "good"))


def save_over():
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.csv"
        path.write_text("my notes")
        run().save(path)


# Simulations.
for name in ("step", "tolerance"):
    each(name, gk.InputError, [*NUMBERS, 0.0], lambda x, name=name: gk.Simulation(ARM_MODEL, **{name: x}))
    each(name, TypeError, NOT_NUMBERS[:-1], lambda x, name=name: gk.Simulation(ARM_MODEL, **{name: x}))
each("sim-order", gk.InputError, [0, 3], lambda x: gk.Simulation(ARM_MODEL, order=x))
each("steps", (TypeError, OverflowError), [-1, 1.5, "1", None, [1], 2**70], lambda x: simulation().step(x))
each("sim-input-name", gk.UnknownNameError, ["", "torques", "input.torque"], lambda x: simulation().inputs.__setitem__(x, 1))
each("sim-input-get", gk.UnknownNameError, ["", "torques"], lambda x: simulation().inputs[x])
each("sim-input-type", TypeError, [3, None], lambda x: simulation().inputs[x])
each("sim-input", gk.InputError, NUMBERS[:3], lambda x: simulation().inputs.__setitem__("torque", x))
each("sim-input-value", TypeError, NOT_NUMBERS, lambda x: simulation().inputs.__setitem__("torque", x))
each("sim-input-all", gk.InputError, [[], [1.0, 2.0], [NAN]], lambda x: simulation().inputs.set_all(x))
each("sim-input-all-type", TypeError, [3, None, ["a"]], lambda x: simulation().inputs.set_all(x))
each("sim-inputs", TypeError, [3, None, [1.0], "torque"], lambda x: setattr(simulation(), "inputs", x))
each("sim-quantity", gk.UnknownNameError, ["", "joint", "joint.elbow.angle"], lambda x: simulation()[x])
each("sim-quantity-type", TypeError, [3, None, ("time",)], lambda x: simulation()[x])
each("sim-read", TypeError, [3, None, "time", [3]], lambda x: simulation().read(x))
each("sim-read-name", gk.UnknownNameError, [["nothing"], ["time", ""]], lambda x: simulation().read(x))
each("restore-type", TypeError, [None, 3, "state", b"state", {}], lambda x: simulation().restore(x))
call("restore-other", gk.InputError, lambda: simulation().restore(gk.Simulation(PENDULUM).state()))
call("state-new", TypeError, lambda: gk.State())
call("sim-attribute", AttributeError, lambda: setattr(simulation(), "time", 3.0))
each("pickle", gk.InputError, [b"", b"gelenkc\x01", b"\0" * 100], lambda x: gk._gelenk.state_from_bytes(x))
each("pickle-model", gk.InputError, [b"", b"{}", b"\xff"], lambda x: gk._gelenk.model_from_bytes(x))


def cut(part):
    simulated = simulation()
    simulated.step(3)
    whole = simulated.state().__reduce__()[1][0]
    gk._gelenk.state_from_bytes(whole[: int(part * len(whole))])


each("pickle-cut", gk.InputError, [0.05, 0.2, 0.5, 0.9, 0.999], cut)

# Rollouts.
each("states", TypeError, [2.5, "two", [3], [None], object()], lambda x: gk.rollout(ARM_MODEL, x, steps=1))
call("states-negative", gk.InputError, lambda: gk.rollout(ARM_MODEL, -1, steps=1))
call("states-other", gk.RunError, lambda: gk.rollout(ARM_MODEL, gk.Simulation(PENDULUM).state(), steps=1))
each("steps-type", TypeError, [1.5, "10", True, [1]], lambda x: gk.rollout(ARM_MODEL, 1, steps=x))
call("steps-negative", gk.InputError, lambda: gk.rollout(ARM_MODEL, 1, steps=-1))
call("steps-missing", gk.InputError, lambda: gk.rollout(ARM_MODEL, 1))
call("steps-many", (gk.InputError, gk.RunError), lambda: gk.rollout(ARM_MODEL, 2**40, steps=2**40))
call("memory", (gk.InputError, gk.RunError), lambda: gk.rollout(ARM_MODEL, 1, steps=2**55))
each("threads", gk.InputError, [0, -1, 10**6], lambda x: gk.rollout(ARM_MODEL, 1, steps=1, threads=x))
each("threads-type", TypeError, [1.5, "2", True], lambda x: gk.rollout(ARM_MODEL, 1, steps=1, threads=x))
each(
    "rollout-inputs",
    gk.InputError,
    [
        {"torque": [1.0, 2.0]},
        {"torque": "x"},
        {"torque": NAN},
        {"torque": np.full((2, 3), INF)},
        {"torque": np.ones((5, 3))},
        {"torque": [[1.0], [2.0, 3.0]]},
        np.ones((3, 2)),
        np.ones((2, 4, 1)),
        "abc",
        [[NAN], [NAN], [NAN]],
    ],
    lambda x: gk.rollout(ARM_MODEL, 2, x, 3),
)
call("rollout-input-name", gk.UnknownNameError, lambda: gk.rollout(ARM_MODEL, 2, {"torques": 1}, 3))
call("rollout-quantity", gk.UnknownNameError, lambda: gk.rollout(ARM_MODEL, 2, steps=1, quantities=["nothing"]))
call("rollout-quantities", TypeError, lambda: gk.rollout(ARM_MODEL, 2, steps=1, quantities="time"))
each("rollout-step", gk.InputError, [*NUMBERS, 0.0], lambda x: gk.rollout(ARM_MODEL, 1, steps=1, step=x))

# Equations and derivatives.
each("linearize", TypeError, [3, "end", [1]], lambda x: gk.derive(PENDULUM, linearize=x))
each("linearize-place", gk.InputError, [{"q9": 0}, {"q1": "1 +"}, {"q1": NAN}], lambda x: gk.derive(PENDULUM, linearize=x))
each("function", gk.InputError, [[1.0], [1.0, 2.0, 3.0], 1.0], lambda x: gk.derive(PENDULUM).function()(x, [0.0, 0.0]))
call("function-name", gk.InputError, lambda: gk.derive(PENDULUM).function()([0, 0], [0, 0], nothing=1))
each("sensitivity-time", gk.InputError, [*NUMBERS, 0.0], lambda x: gk.sensitivity(ARM_MODEL, x))
each("sensitivity-type", TypeError, NOT_NUMBERS, lambda x: gk.sensitivity(ARM_MODEL, x))
call("sensitivity-name", gk.UnknownNameError, lambda: gk.sensitivity(ARM_MODEL, 1.0, parameters=["nothing"]))
call("sensitivity-names", TypeError, lambda: gk.sensitivity(ARM_MODEL, 1.0, parameters="l"))
each("sensitivity-rtol", gk.InputError, [0.0, 2.0, NAN], lambda x: gk.sensitivity(ARM_MODEL, 1.0, rtol=x))


@pytest.mark.parametrize(("error", "function"), CALLS)
def test_a_wrong_call_raises(error, function):
    with pytest.raises(error) as caught:
        function()
    assert str(caught.value).strip(), "it says what is wrong"
    assert not isinstance(caught.value, gk.InternalError)
    assert "panic" not in str(caught.value).lower()


def test_there_are_many_wrong_calls():
    assert len(CALLS) >= 300


def test_faults_of_a_file_have_their_places(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text('[model]\nname = "bad"\n\n[[body]]\nname = "a"\nmass = -1\nshepe = 3\n')
    with pytest.raises(gk.ModelError) as caught:
        gk.load(file)
    found = caught.value.diagnostics
    assert {(d.file, d.line) for d in found} >= {(str(file), 7)}
    unknown = next(d for d in found if d.line == 7)
    assert unknown.code == "unknown-key" and unknown.severity == "error" and "shape" in unknown.help
    assert "bad.toml:7" in str(caught.value), "the file is drawn"
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.diagnostics == found


def test_the_nearest_name_is_offered():
    with pytest.raises(gk.UnknownNameError, match="did you mean `torque`"):
        gk.Simulation(ARM_MODEL).inputs["torqe"] = 1
    with pytest.raises(gk.UnknownNameError, match="did you mean `double-pendulum`"):
        gk.gallery("double-pendulun")
    with pytest.raises(gk.GelenkError, match="did you mean `joint.pivot.angle`"):
        gk.Simulation(ARM_MODEL)["joint.pivot.angel"]


def test_a_simulation_in_use_is_not_used_twice():
    import threading

    sim = gk.Simulation(PENDULUM, step=0.001)
    thread = threading.Thread(target=sim.step, args=(30000,))
    thread.start()
    seen = set()
    while thread.is_alive():
        try:
            sim.step()
        except RuntimeError as error:
            seen.add(type(error))
    thread.join()
    assert seen <= {RuntimeError}
