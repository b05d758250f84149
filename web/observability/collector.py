"""The site's metrics, computed from the database when they are asked for.

The database is what all processes and machines of a site share: whichever web server is asked tells the
same. The cost does not grow with the number of submissions: states of unfinished ones have an index of
their own, everything else is kept as sums (`tally`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator

from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from web.hardware import all_hardware
from web.observability.models import Tally
from web.observability.tally import BUCKETS, SUM
from web.submissions.models import Rejudge, Submission

Labels = tuple[str, ...]
COUNTERS: dict[str, tuple[str, Labels]] = {
    "verdicts": ("Verdicts given", ("hardware", "mode", "verdict", "rejudge")),
    "attempts_lost": ("Attempts that ended without a verdict", ("hardware",)),
    "judge_failures": (
        "Verdicts that say that the judge failed, by what failed: sandbox, judge, time limit, lost",
        ("hardware", "part"),
    ),
}
HISTOGRAMS: dict[str, tuple[str, Labels]] = {
    "wait_seconds": ("From the post of a submission until a runner took it", ("hardware",)),
    "judge_seconds": ("What a runner spent in each phase", ("hardware", "phase")),
}


class SiteCollector(Collector):
    """Collects the metrics that every web server of a site tells alike."""

    def collect(self) -> Iterator[Metric]:
        """Every metric, in four queries."""
        yield from _queues()
        yield _rejudges()
        tallies = _tallies()
        for name, (text, labels) in COUNTERS.items():
            counter = CounterMetricFamily(f"backpass_{name}", text, labels=labels)
            for told, value in tallies[name]:
                counter.add_metric([told.get(label, "") for label in labels], value)
            yield counter
        for name, (text, labels) in HISTOGRAMS.items():
            yield _histogram(name, text, labels, tallies[name])


def _queues() -> Iterator[Metric]:
    states = (Submission.State.QUEUED, Submission.State.RUNNING)
    depth = GaugeMetricFamily(
        "backpass_submissions_unfinished",
        "Submissions without a verdict, by state",
        labels=("hardware", "state"),
    )
    oldest = GaugeMetricFamily(
        "backpass_queue_oldest_seconds",
        "How long the submission that waits longest has waited; 0 if none does",
        labels=("hardware",),
    )
    rows = (
        Submission.objects.exclude(state=Submission.State.DONE)
        .order_by()
        .values_list("hardware", "state")
        .annotate(number=Count("pk"), since=Min("created_at"))
    )
    found = {(hardware, state): (number, since) for hardware, state, number, since in rows}
    now = timezone.now()
    for hardware in sorted({kind.name for kind in all_hardware()} | {name for name, _ in found}):
        for state in states:
            depth.add_metric([hardware, state], found.get((hardware, state), (0, now))[0])
        _, since = found.get((hardware, Submission.State.QUEUED), (0, now))
        oldest.add_metric([hardware], max(0.0, (now - since).total_seconds()))
    yield depth
    yield oldest


def _rejudges() -> Metric:
    gauge = GaugeMetricFamily(
        "backpass_rejudges_open", "Rejudges that wait or run", labels=("hardware", "state")
    )
    rows = Rejudge.objects.filter(state__in=Rejudge.OPEN).order_by()
    counted = rows.values_list("hardware", "state").annotate(number=Count("pk"))
    for hardware, state, number in counted:
        gauge.add_metric([hardware, state], number)
    return gauge


def _tallies() -> dict[str, list[tuple[dict[str, str], float]]]:
    by_name: dict[str, list[tuple[dict[str, str], float]]] = defaultdict(list)
    for name, labels, value in Tally.objects.order_by("pk").values_list("name", "labels", "value"):
        by_name[name].append((json.loads(labels), value))
    return by_name


def _histogram(
    name: str, text: str, labels: Labels, rows: list[tuple[dict[str, str], float]]
) -> Metric:
    by_series: dict[Labels, dict[str, float]] = defaultdict(dict)
    for told, value in rows:
        by_series[tuple(told.get(label, "") for label in labels)][told["le"]] = value
    metric = HistogramMetricFamily(f"backpass_{name}", text, labels=labels)
    for series, alone in by_series.items():
        total, buckets = 0.0, []
        for bound in (*map(str, BUCKETS), "+Inf"):
            total += alone.get(bound, 0.0)
            buckets.append((bound, total))
        metric.add_metric(list(series), buckets, sum_value=alone.get(SUM, 0.0))
    return metric
