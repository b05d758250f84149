"""The speed of light is the slowest of its three limits, and is never forgotten downwards."""

import json

import pytest

from problems.spec import Cost
from runner import roofline
from runner.roofline import Peak, cpu_peak

PEAK = Peak(bandwidth=1e9, vector_flops=1e10, matrix_flops=1e11)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "backpass" / "cpu-peak.json"


@pytest.mark.parametrize(
    ("cost", "seconds"),
    [
        (Cost(bytes=10**9), 1.0),
        (Cost(bytes=1, vector_flops=2 * 10**10), 2.0),
        (Cost(bytes=1, matrix_flops=3 * 10**11), 3.0),
        (Cost(bytes=10**9, vector_flops=10**10, matrix_flops=3 * 10**11), 3.0),
    ],
)
def test_the_slowest_limit_decides(cost, seconds):
    assert PEAK.time(cost) == pytest.approx(seconds)


def test_the_machine_is_measured_once(monkeypatch):
    found = iter([PEAK])
    monkeypatch.setattr(roofline, "_measure", lambda: next(found))
    assert cpu_peak() == PEAK
    assert cpu_peak() == PEAK


def test_measuring_again_keeps_the_better_of_both(monkeypatch):
    found = iter([PEAK, Peak(bandwidth=2e9, vector_flops=1e9, matrix_flops=1e9)])
    monkeypatch.setattr(roofline, "_measure", lambda: next(found))
    cpu_peak()
    better = Peak(bandwidth=2e9, vector_flops=1e10, matrix_flops=1e11)
    assert cpu_peak(again=True) == better
    assert cpu_peak() == better


@pytest.mark.parametrize("text", ["", "{}", '{"identity": 1, "peak": {}}', "[1]", "\x00"])
def test_a_damaged_memory_is_replaced(cache, monkeypatch, text):
    cache.parent.mkdir()
    cache.write_text(text)
    monkeypatch.setattr(roofline, "_measure", lambda: PEAK)
    assert cpu_peak() == PEAK
    assert json.loads(cache.read_text())["peak"]["bandwidth"] == PEAK.bandwidth


def test_this_machine_has_a_peak_of_a_computer():
    peak = roofline._measure()
    assert 1e9 < peak.bandwidth < 1e13
    assert 1e9 < peak.vector_flops <= peak.matrix_flops < 1e15
