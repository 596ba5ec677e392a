"""Ray and Dask with two workers: the same bytes as here, also when a worker is lost. Run by `./test --long`."""

import os
import signal
import subprocess
import sys
import time

import gelenk as gk
import pytest
from test_sweep import bars  # noqa: F401

pytestmark = [
    pytest.mark.long,
    # They warn about their own future.
    pytest.mark.filterwarnings("default"),
]

#: Members of the sweep that every backend does.
MEMBERS = 2000


@pytest.fixture
def whole(bars, tmp_path):
    """The sweep file and the table that one thread makes."""
    path = bars(MEMBERS)
    gk.sweep(path, output="whole.parquet", threads=1)
    return path, (tmp_path / "whole.parquet").read_bytes()


def killing(pids):
    """A progress function that kills a process once, when some members are done."""
    parts = []

    def progress(part):
        parts.append(part)
        if part > 0.1 and pids:
            os.kill(pids.pop(), signal.SIGKILL)

    return progress


def test_two_threads_and_kill_9_and_resume(whole, tmp_path):
    path, expected = whole
    gk.sweep(path, output="two.parquet", threads=2)
    assert (tmp_path / "two.parquet").read_bytes() == expected
    call = f"import gelenk as gk; gk.sweep({str(path)!r}, output='killed.parquet', threads=2)"
    child = subprocess.Popen([sys.executable, "-c", call])
    journal = tmp_path / "killed.parquet.journal"
    end = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 50):
        assert time.monotonic() < end and child.poll() is None
        time.sleep(0.005)
    child.kill()
    child.wait()
    assert not (tmp_path / "killed.parquet").exists()
    gk.sweep(path, output="killed.parquet", threads=2)
    assert (tmp_path / "killed.parquet").read_bytes() == expected


def test_dask(whole, tmp_path):
    distributed = pytest.importorskip("distributed")
    path, expected = whole
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        gk.sweep(path, output="dask.parquet", backend=client)
        assert (tmp_path / "dask.parquet").read_bytes() == expected
        pids = list(client.run(os.getpid).values())[:1]
        gk.sweep(path, output="lost.parquet", backend=client, progress=killing(pids))
        assert pids == [], "a worker was killed"
        assert (tmp_path / "lost.parquet").read_bytes() == expected


def test_ray(whole, tmp_path):
    ray = pytest.importorskip("ray")
    path, expected = whole
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        gk.sweep(path, output="ray.parquet", backend="ray")
        assert (tmp_path / "ray.parquet").read_bytes() == expected

        @ray.remote(num_cpus=1)
        def pid():
            return os.getpid()

        # The workers that are there take the next tasks, too.
        pids = [ray.get(pid.remote())]
        gk.sweep(path, output="lost.parquet", backend="ray", progress=killing(pids))
        assert pids == [], "a worker was killed"
        assert (tmp_path / "lost.parquet").read_bytes() == expected
    finally:
        ray.shutdown()
