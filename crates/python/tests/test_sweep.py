"""Sweeps: members are single runs, tables do not depend on how they came about."""

import json

import gelenk as gk
import numpy as np
import pyarrow.parquet as pq
import pytest

#: A four-bar drawn open: each length of the crank wants another posture.
FOUR_BAR = """
[parameters]
crank = 0.4
coupler = 1.1
rate = 3

[[body]]
name = "crank"
mass = 1
inertia = [0.02, 0.02, 0.001]
center_of_mass = [0, 0, "crank/2"]
angular_velocity = [0, "rate", 0]

[[body]]
name = "coupler"
mass = 2
inertia = [0.01, 0.2, 0.2]
center_of_mass = ["coupler/2", 0, 0]
position = [0, 0, "crank"]

[[body]]
name = "rocker"
mass = 1.5
inertia = [0.1, 0.1, 0.01]
center_of_mass = [0, 0, 0.45]
position = [1.1, 0, 0]

[[joint]]
name = "A"
type = "hinge"
between = ["world", "crank"]
anchors = [[0, 0, 0], [0, 0, 0]]
axes = [[0, 1, 0], [0, 1, 0]]

[[joint]]
name = "B"
type = "hinge"
between = ["crank", "coupler"]
anchors = [[0, 0, "crank"], [0, 0, 0]]
axes = [[0, 1, 0], [0, 1, 0]]

[[joint]]
name = "C"
type = "hinge"
between = ["coupler", "rocker"]
anchors = [["coupler", 0, 0], [0, 0, 0.9]]
axes = [[0, 1, 0], [0, 1, 0]]

[[joint]]
name = "D"
type = "hinge"
between = ["world", "rocker"]
anchors = [[1.1, 0, 0], [0, 0, 0]]
axes = [[0, 1, 0], [0, 1, 0]]

[run]
duration = 0.1
step = 0.005
tolerance = 1e-10
"""

SWEEP = """
[sweep]
name = "cranks"
model = "bars.toml"
sample = "sobol"
count = MEMBERS
[[vary]]
parameter = "crank"
from = 0.2
to = 0.5
[[vary]]
parameter = "rate"
from = 1
to = 5
[[keep]]
name = "swing"
value = "joint.D.angle"
over = "max"
"""


@pytest.fixture
def bars(tmp_path, monkeypatch):
    """Writes the files and gives the path of the sweep."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bars.toml").write_text(FOUR_BAR)

    def write(members, **changes):
        text = SWEEP.replace("MEMBERS", str(members))
        for what, by in changes.items():
            text = text.replace(what, by)
        path = tmp_path / "sweep.toml"
        path.write_text(text)
        return path

    return write


def test_a_member_is_the_run_of_its_values(arm):
    lengths = gk.sweep(
        arm,
        vary={"l": [0.5, 0.8], "input.torque": (-1, 1, 3)},
        keep={
            "end": "joint.pivot.angle", "top": ("joint.pivot.angle", "max"),
            "mean": ("joint.pivot.angle", "mean"), "first": ("joint.pivot.angle + l", "start"),
        },
        run={"duration": 0.5},
    )
    assert list(lengths.columns) == [
        "member", "l", "input.torque", "end", "top", "mean", "first", "verdict", "error", "time",
        "steps",
    ]
    assert lengths["input.torque"].tolist() == [-1, 0, 1] * 2
    for i in range(6):
        one = arm.with_(l=lengths["l"][i])
        run = gk.run(one, duration=0.5, inputs={"torque": lengths["input.torque"][i]})
        angle = run["joint.pivot.angle"]
        assert lengths["end"][i] == angle[-1]
        assert lengths["top"][i] == angle.max()
        assert lengths["mean"][i] == pytest.approx(np.trapezoid(angle, run.time) / 0.5, rel=1e-12)
        assert lengths["first"][i] == angle[0] + lengths["l"][i]
    assert (lengths["verdict"] == "good").all() and lengths.failures == []
    assert lengths["time"] == pytest.approx(0.5) and len(lengths) == 6


def test_start_values(arm):
    thrown = gk.gallery("free-body")
    name = thrown.bodies[0]
    found = gk.sweep(
        thrown, vary={f"body.{name}.velocity.x": [0.0, 2.0]}, keep=[f"body.{name}.position.x"],
        run={"duration": 0.5},
    )
    x = found[f"body.{name}.position.x"]
    assert x[1] - x[0] == pytest.approx(1, abs=1e-12)


def test_threads_change_no_byte_and_the_table_reads_back(bars, tmp_path):
    path = bars(16)
    parts = []
    one = gk.sweep(path, output="one.parquet", threads=1)
    two = gk.sweep(path, output="two.parquet", threads=2, progress=parts.append)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert parts[-1] == 1 and parts == sorted(parts)
    table = pq.read_table("one.parquet").to_pandas()
    assert table["swing"].equals(one.to_pandas()["swing"])
    assert table["crank"].tolist() == two["crank"].tolist()
    assert table["error"].isna().all()
    assert set(one.plots()) == {"swing"} and "<svg" in one._repr_html_()
    with pytest.raises(FileExistsError):
        (tmp_path / "notes.txt").write_text("mine")
        one.save("notes.txt")


def test_sobol_points_are_those_of_scipy(arm):
    qmc = pytest.importorskip("scipy.stats.qmc")
    names = [f"p{i}" for i in range(21)]
    head, body = arm.text.split("[parameters]")
    text = head + "[parameters]\n" + "\n".join(f"{name} = 0" for name in names) + body
    model = gk.loads(text)
    found = gk.sweep(
        model, vary={name: (0, 1) for name in names}, sample="sobol", count=64, run={"duration": 0},
    )
    mine = np.column_stack([found[name] for name in names])
    assert (mine == qmc.Sobol(21, scramble=False).random(64)).all()


def test_latin_and_random_samples(arm):
    def draw(sample, seed, vary):
        return gk.sweep(arm, vary=vary, sample=sample, count=50, seed=seed, run={"duration": 0})

    one = draw("latin", 1, {"l": (1, 2)})["l"]
    assert sorted(np.floor((one - 1) * 50).astype(int)) == list(range(50))
    assert (one == draw("latin", 1, {"l": (1, 2)})["l"]).all()
    assert (one != draw("latin", 2, {"l": (1, 2)})["l"]).any()
    some = draw("random", 1, {"l": {"from": 0.01, "to": 100, "log": True}, "phi0": [0.1, 0.2]})
    assert (np.log10(some["l"]) < 0).sum() in range(10, 41) and set(some["phi0"]) == {0.1, 0.2}


def test_failures_are_rows(bars):
    found = gk.sweep(bars(4, **{"to = 0.5": "to = 6"}))
    open_ = [member for member, why in found.failures if "cannot be closed" in why]
    assert open_ and (found["verdict"][open_] == "failed").all()
    assert np.isnan(found["swing"][open_]).all() and (found["crank"][open_] > 2).all()
    good = found["verdict"] == "good"
    assert good.any() and np.isfinite(found["swing"][good]).all()
    assert "failed" in repr(found)


def test_it_goes_on_after_an_exception(bars, tmp_path):
    path = bars(60)
    whole = gk.sweep(path, output="whole.parquet")

    def stop(part):
        if part > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gk.sweep(path, output="again.parquet", threads=1, progress=stop)
    journal = tmp_path / "again.parquet.journal"
    done = len(journal.read_text().splitlines()) - 1
    assert 0 < done < 60
    with pytest.raises(gk.InputError, match="restart=True"):
        gk.sweep(bars(61), output="again.parquet")
    again = gk.sweep(bars(60), output="again.parquet")
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()
    assert not journal.exists() and len(again) == len(whole) == 60


def test_workers_get_text_and_give_lines(bars):
    plan = gk._gelenk.SweepPlan(bars(5).read_text(), folder=".")
    far = gk._gelenk.SweepPlan.from_json(plan.to_json())
    lines = far.rows([3, 4]) + far.rows([0, 1, 2])
    assert [json.loads(line)["member"] for line in lines] == [3, 4, 0, 1, 2]
    job = gk._gelenk.SweepJob(plan)
    job.accept(lines + lines[:2])
    job.finish()
    local = gk.sweep(bars(5))
    assert job.columns()["swing"].tolist() == local["swing"].tolist()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda m: gk.sweep(m), gk.InputError, "nothing is varied"),
        (lambda m: gk.sweep(3), TypeError, "Model"),
        (lambda m: gk.sweep("none.toml"), FileNotFoundError, "none.toml"),
        (lambda m: gk.sweep(m, vary=["l"]), TypeError, "dict"),
        (lambda m: gk.sweep(m, vary={"l": 3}), TypeError, "wants values"),
        (lambda m: gk.sweep(m, vary={"l": "1,2"}), TypeError, "wants values"),
        (lambda m: gk.sweep(m, vary={"l": []}), gk.ModelError, "empty"),
        (lambda m: gk.sweep(m, vary={"l": [np.nan]}), gk.ModelError, "finite"),
        (lambda m: gk.sweep(m, vary={"l": [None]}), TypeError, "NoneType"),
        (lambda m: gk.sweep(m, vary={"ll": [1]}), gk.ModelError, "no parameter `ll`"),
        (lambda m: gk.sweep(m, vary={"input.x": [1]}), gk.ModelError, "no input `x`"),
        (lambda m: gk.sweep(m, vary={"body.arm.x": [1]}), gk.ModelError, "start value"),
        (lambda m: gk.sweep(m, vary={"l": [1]}, keep=["no.thing"]), gk.ModelError, "no.thing"),
        (lambda m: gk.sweep(m, vary={"l": [1]}, keep={"a": "1 +"}), gk.ModelError, "1 +"),
        (lambda m: gk.sweep(m, vary={"l": [1]}, sample="best"), gk.ModelError, "best"),
        (lambda m: gk.sweep(m, vary={"l": (1, 2)}, sample="latin"), gk.ModelError, "count"),
        (lambda m: gk.sweep(m, vary={"l": [1]}, run={"step": -1}), gk.ModelError, "step"),
        (lambda m: gk.sweep(m, vary={"l": [1]}, run={"speed": 1}), gk.ModelError, "speed"),
        (lambda m: gk.sweep(m, vary={"l": [1]}, threads=0), gk.InputError, "threads"),
        (lambda m: gk.sweep(m, vary={"l": [1]}, backend="mpi"), gk.InputError, "mpi"),
        (lambda m: gk.sweep(m, vary={"l": [1]}, backend="ray", recordings="r"), gk.InputError, "local"),
        (lambda m: gk.sweep(m, vary={"l": [1]})["no"], KeyError, "no column"),
    ],
)
def test_wrong_calls(arm, call, kind, text):
    with pytest.raises(kind, match=text.replace("+", r"\+")):
        call(arm)
