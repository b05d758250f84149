"""The roofline plot: where points of known numbers lie, who is on it, who may follow which link."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client

from problems import get_problem
from problems.spec import Cost, Problem
from tests.web.samples import make_submission, report_for, timing, verdict_event
from tests.web.test_permissions import breaches_of_policy
from web.accounts.models import User
from web.boards.models import Standing
from web.catalogue import roofline as module
from web.catalogue.roofline import MACHINES, Attained, Roofline, Shape, seconds_at_least, state
from web.catalogue.roofline_plot import Point, plot
from web.submissions.events import record_event
from web.submissions.models import Submission
from wire.gpus import GPUS
from wire.inspection import MODEL
from wire.verdict import Peak

pytestmark = pytest.mark.django_db

ADDRESS = "/problems/rms-norm/roofline/"
PEAK = Peak(bandwidth=1e9, vector_flops=1e10, matrix_flops=1e12)
RMS_NORM = get_problem("rms_norm")
BENCHMARK = RMS_NORM.benchmarks["cpu"][0]


def roofline(problem: Problem, machine: str) -> Roofline:
    return module.roofline(problem, MACHINES[machine], state(problem, MACHINES[machine]))


def solved(user: User, median: float = 0.00123, peak: Peak | None = PEAK) -> Submission:
    submission = make_submission(user)
    cost = RMS_NORM.cost(BENCHMARK.dims)
    share = seconds_at_least(cost, PEAK) / median
    timed = replace(timing(BENCHMARK.name, median), efficiency=share)
    report = report_for(submission, timings=(timed,), score=share, peak=peak)
    record_event(verdict_event(submission, report))
    return submission


def on_plot(*attained: Attained, shapes: tuple[Shape, ...]) -> tuple[Point, ...]:
    return plot(Roofline(MACHINES["cpu"], PEAK, shapes, attained)).points


@pytest.mark.parametrize(
    ("cost", "seconds"),
    [(Cost(10**9, 1, 1), 1.0), (Cost(1, 2 * 10**10), 2.0), (Cost(1, 1, 3 * 10**12), 3.0)],
)
def test_the_roof_is_what_takes_longest(cost: Cost, seconds: float) -> None:
    assert seconds_at_least(cost, PEAK) == pytest.approx(seconds)


def test_axes_are_logarithmic_and_the_roofs_meet_where_bandwidth_feeds_the_units() -> None:
    shape = Shape(BENCHMARK, 10**9, 10.0, 1e10)
    at = {rate: Attained("a", shape, 1.0, rate, 0.5, True) for rate in (1e8, 1e9, 1e10)}
    drawn = plot(Roofline(MACHINES["cpu"], PEAK, (shape,), tuple(at.values())))
    low, middle, high = drawn.points
    assert low.y - middle.y == pytest.approx(middle.y - high.y, abs=0.2)
    assert low.x == middle.x == high.x
    (bound,) = drawn.bounds
    assert bound.y == high.y
    assert (bound.x1 + bound.x2) / 2 == pytest.approx(high.x)
    slope, vector, matrix = drawn.roofs
    # The vector units' level begins at 10 FLOPs a byte, the matrix units' at 1000, where the slope ends.
    assert vector.path.startswith(f"M{high.x} {high.y}H")
    end = slope.path.split("L")[1]
    assert matrix.path.startswith(f"M{end}H")
    decade = {tick.words: tick.at for tick in drawn.columns}
    assert decade["10"] == high.x
    assert float(end.split()[0]) - decade["100"] == pytest.approx(
        decade["100"] - decade["10"], abs=0.2
    )


def test_points_that_would_cover_each_other_lie_side_by_side() -> None:
    shape = Shape(BENCHMARK, 10**9, 10.0, 1e10)
    same = [Attained(str(n), shape, 1.0, 5e9, 0.5, True) for n in range(9)]
    points = on_plot(*same, shapes=(shape,))
    assert len({point.y for point in points}) == 1
    places = sorted(point.x for point in points)
    assert all(b - a >= 7.8 for a, b in pairwise(places))
    assert points[0].x == places[len(places) // 2]


def test_the_best_of_each_user_and_the_baseline_are_measured_points(alice: User, bob: User) -> None:
    solved(alice, median=0.05)
    best = solved(alice, median=0.04)
    other = solved(bob, median=0.08)
    found = roofline(RMS_NORM, "cpu")
    flops = RMS_NORM.cost(BENCHMARK.dims).vector_flops
    assert [(a.who, a.submission, round(a.rate), a.measured) for a in found.attained] == [
        ("plain PyTorch, the baseline", None, round(flops / 0.08), True),
        ("alice", best.pk, round(flops / 0.04), True),
        ("bob", other.pk, round(flops / 0.08), True),
    ]
    first = found.shapes[0]
    assert first.intensity == pytest.approx(flops / RMS_NORM.cost(BENCHMARK.dims).bytes)
    assert found.attained[1].share * (first.bound or 0) == pytest.approx(found.attained[1].rate)


def test_without_a_known_peak_there_are_points_and_no_roofs(alice: User, client: Client) -> None:
    solved(alice, peak=None)
    found = roofline(RMS_NORM, "cpu")
    assert found.peak is None
    assert found.attained
    page = client.get(f"{ADDRESS}?on=cpu").content.decode()
    assert "from the next timed submission on" in page
    assert 'class="roof"' not in page


def test_modelled_times_are_hollow_and_said_to_be_modelled(alice: User, client: Client) -> None:
    submission = make_submission(alice, language="triton")
    benchmark = RMS_NORM.benchmarks["gpu"][0]
    cost = RMS_NORM.cost(benchmark.dims)
    modelled = {"name": benchmark.name, "modelled": 1e-4, "roofline": 6e-5, "efficiency": 0.6}
    Standing.objects.create(
        problem="rms_norm",
        hardware="interpreter",
        user=alice,
        submission=submission,
        problem_version=RMS_NORM.version,
        language="triton",
        score=0.6,
        model_version=MODEL,
        timings=[modelled],
        achieved_at=submission.created_at,
    )
    found = roofline(RMS_NORM, "sm_90")
    assert found.peak is not None
    assert found.peak.bandwidth == GPUS["sm_90"].bandwidth
    (own,) = (a for a in found.attained if a.who == "alice")
    assert own.rate == pytest.approx(cost.vector_flops / 1e-4)
    assert not own.measured
    Standing.objects.filter(user=alice).update(model_version=MODEL - 1)  # announces no change
    page = client.get(ADDRESS).content.decode()
    assert "Modelled, not measured:" in page
    assert '<circle class="modelled"' in page
    assert 'class="measured"' not in page
    assert "60.0 % of the roof (modelled)" in page


def test_a_reference_stands_where_its_modelled_time_puts_it() -> None:
    found = roofline(RMS_NORM, "sm_90")
    points = [a for a in found.attained if a.who == "reference, Triton"]
    assert {p.shape.benchmark.name for p in points} <= {s.benchmark.name for s in found.shapes}
    for point in points:
        assert point.share * (point.shape.bound or 0) == pytest.approx(point.rate)
        assert 0.2 < point.share <= 1
    assert points


def test_only_the_owner_and_staff_get_links(
    alice: User, as_alice: Client, bob: User, client: Client, admin_client: Client
) -> None:
    mine, other = solved(alice), solved(bob)
    for reader, links in ((client, []), (as_alice, [mine]), (admin_client, [mine, other])):
        page = reader.get(f"{ADDRESS}?on=cpu")
        assert breaches_of_policy(page) == []
        text = page.content.decode()
        for submission in (mine, other):
            assert (f'href="/submissions/{submission.pk}/"' in text) == (submission in links)
        assert "bob" in text


def test_htmx_gets_the_plot_alone(client: Client) -> None:
    page = client.get(ADDRESS, headers={"HX-Request": "true"})
    assert page.content.decode().strip().startswith('<div class="roofline" id="roofline-plot">')
    assert "HX-Request" in page["Vary"]


def test_what_is_drawn_already_costs_one_query_until_the_board_changes(
    alice: User, bob: User, client: Client, django_assert_num_queries: Any
) -> None:
    solved(alice)
    client.get(f"{ADDRESS}?on=cpu")
    with django_assert_num_queries(1):
        client.get(f"{ADDRESS}?on=cpu")
    solved(bob)
    assert "bob" in client.get(f"{ADDRESS}?on=cpu").content.decode()


def test_there_are_not_more_points_than_can_be_told_apart_but_always_ones_own(
    alice: User, as_alice: Client, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_POINTS", len(RMS_NORM.benchmarks["cpu"]))
    solved(bob, median=0.04)
    mine = solved(alice, median=0.08)
    found = roofline(RMS_NORM, "cpu")
    assert found.left_out == 1
    assert "alice" not in {a.who for a in found.attained}
    page = as_alice.get(f"{ADDRESS}?on=cpu").content.decode()
    assert f'href="/submissions/{mine.pk}/"' in page
    assert "without the 1 slowest" in page


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("slug", ["embedding", "flash_attention"])
def test_whatever_the_intensity_everything_is_within_the_frame(slug: str, machine: str) -> None:
    drawn = plot(roofline(get_problem(slug), machine))
    assert len(drawn.columns) >= 2
    assert len(drawn.rows) >= 2
    heights = [point.y for point in drawn.points] + [bound.y for bound in drawn.bounds]
    assert all(drawn.top <= height <= drawn.bottom for height in heights)
    assert all(math.isfinite(roof.x) and math.isfinite(roof.y) for roof in drawn.roofs)
