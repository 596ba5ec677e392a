"""What tests share."""

import gelenk as gk
import pytest


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="tests that take minutes, too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--long"):
        return
    skip = pytest.mark.skip(reason="takes minutes; --long runs it")
    for item in items:
        if "long" in item.keywords:
            item.add_marker(skip)


ARM = """
[model]
name = "arm"

[parameters]
l = 0.8
phi0 = 0.3

[inputs]
torque = 0

[[body]]
name = "arm"
mass = 1
ends = [[0, 0, 0], ["l*sin(phi0)", 0, "-l*cos(phi0)"]]
shape = { cylinder = { radius = 0.02 } }

[[joint]]
name = "pivot"
type = "hinge"
between = ["world", "arm"]
point = [0, 0, 0]
axis = [0, -1, 0]
drawn_at = "phi0"
motor = { torque = "input.torque" }

[run]
duration = 1
step = 0.005
"""


@pytest.fixture
def arm():
    return gk.loads(ARM, name="arm")


@pytest.fixture
def pendulum():
    return gk.gallery("double-pendulum")
