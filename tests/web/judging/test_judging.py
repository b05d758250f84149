"""The page on judging says what the judge does, in the judge's own numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client

from runner import judge, samples, timing, tolerance
from runner.hardware import HARDWARE
from web.judging.views import TEXT
from wire.verdict import CALM

# Tests shorten it, so that it is read where it is written.
PATIENCE = re.search(
    r"^PATIENCE_SECONDS = ([\d.]+)$",
    Path(timing.__file__ or "").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def page(client: Client) -> str:
    response = client.get("/judging/")
    assert response.status_code == 200
    return response.content.decode()


def test_every_number_in_the_text_is_the_judges():
    assert PATIENCE is not None
    stands = [float(n) for n in re.findall(r"\*\*([\d.]+)(?: %)?\*\*", TEXT.read_text())]
    assert stands == [
        tolerance.K,
        tolerance.FLOAT32_ULPS,
        tolerance.MAGNITUDE_BINS,
        judge.DETERMINISM_CALLS,
        timing.WARM_UP,
        timing.FEWEST_ROUNDS,
        timing.MOST_ROUNDS,
        100 * samples.RELATIVE_ERROR,
        timing.SECONDS_PER_SHAPE,
        HARDWARE["cpu"].processes,
        timing.KEPT_BYTES >> 20,
        CALM,
        float(PATIENCE[1]),
        samples.CHECKED_ROUNDS,
    ]
    assert tolerance.HALF_ULPS == 1.0


@pytest.mark.django_db
def test_each_part_has_a_heading_to_link_to(client: Client):
    html = page(client)
    for anchor in ("what-is-right", "how-time-is-taken", "what-it-cannot-promise"):
        assert f'id="{anchor}"' in html
    assert "**" not in html


@pytest.mark.django_db
def test_every_page_leads_there(client: Client):
    assert 'href="/judging/"' in client.get("/").content.decode()
