"""The pages of a submission's inside: what they show, to whom, and that all of it is text."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from tests.web.inspection.samples import (
    SASS,
    SOURCE,
    attempt_of,
    compiled,
    inspection,
    judged,
    looked_into,
    message,
)
from tests.web.samples import report_for
from tests.web.test_hostile_text import HTML, hostile
from tests.web.test_permissions import breaches_of_policy
from web.accounts.models import User
from web.inspection.storing import record_inspection
from web.submissions.models import Submission
from wire.inspection import Finding, Inspection, ModelledTime, TensorTraffic, Trace


def page_of(client: Client, submission: Submission, rest: str = "inside/") -> str:
    response = client.get(f"/submissions/{submission.pk}/{rest}")
    assert response.status_code == 200
    assert breaches_of_policy(response) == []
    return str(response.content.decode())


def test_source_and_code_are_linked_both_ways_without_scripts(
    as_alice: Client, alice: User
) -> None:
    page = page_of(as_alice, looked_into(alice))
    assert '<a class="no" href="#m2">5</a>' in page
    assert 'id="m2" data-line="5"' in page
    assert '<a class="no" href="#L5">5</a>' in page
    assert 'id="L5" data-line="5"' in page


@pytest.mark.parametrize(
    ("address", "title", "text"),
    [
        ("", "<h2>PTX</h2>", "ld.global r1;"),
        ("?stage=sass", "<h2>SASS</h2>", "LDG R1 ;"),
        ("?stage=no-such-stage&target=sm_80", "on sm_80", "ld.global r1;"),
        ("?target=no-such-target", "on sm_80", "ld.global r1;"),
    ],
)
def test_kernel_target_and_form_are_chosen_by_the_address(
    as_alice: Client, alice: User, address: str, title: str, text: str
) -> None:
    page = page_of(as_alice, looked_into(alice), f"inside/{address}")
    assert title in page
    assert text in page


def test_searching_works_without_scripts(as_alice: Client, alice: User) -> None:
    submission = looked_into(alice)
    page = page_of(as_alice, submission, "inside/?stage=ptx&q=LD.GLOBAL")
    assert page.count(" hit") == 2
    assert '<a href="#m2">2 lines</a>' in page
    assert "not found" in page_of(as_alice, submission, "inside/?q=%00no such text")


def test_a_kernel_that_does_not_compile_says_why(as_alice: Client, alice: User) -> None:
    broken = compiled(error="out of resource: <shared memory>", ptx=None, sass=None)
    page = page_of(as_alice, looked_into(alice, inspection(broken)))
    assert "It does not compile for sm_90." in page
    assert "out of resource: &lt;shared memory&gt;" in page


def test_a_text_that_was_cut_says_so(as_alice: Client, alice: User) -> None:
    cut = SASS.__class__(SASS.text, SASS.lines, left_out=123)
    page = page_of(as_alice, looked_into(alice, inspection(compiled(ptx=cut))))
    assert "its last 123 lines are left out" in page


def test_the_submissions_page_has_the_figures_and_the_advice(as_alice: Client, alice: User) -> None:
    page = page_of(as_alice, looked_into(alice), "")
    for shown in (
        "2 × 16 B",
        "1 × 2 B",
        "132 × 2",
        "48 B",
        "50 %",
        "stores only 2 bytes at a time",
    ):
        assert shown in page
    assert '#L6" data-to-line="6">Line 6</a>' in page


def test_what_could_not_be_looked_into_is_told(as_alice: Client, alice: User) -> None:
    nothing = Inspection("rms_norm", "", {}, (), remarks=("The compiler failed.",))
    submission = looked_into(alice, nothing)
    assert "The compiler failed." in page_of(as_alice, submission, "")
    assert as_alice.get(f"/submissions/{submission.pk}/inside/").status_code == 404


def test_a_page_that_waits_asks_until_the_figures_are_there(as_alice: Client, alice: User) -> None:
    submission = judged(alice)
    figures = f"/submissions/{submission.pk}/inside/figures/"
    assert f'hx-get="{figures}"' in page_of(as_alice, submission, "")
    assert as_alice.get(figures).status_code == 204
    record_inspection(message(attempt_of(submission)))
    page = page_of(as_alice, submission, "inside/figures/")
    assert "2 × 16 B" in page
    assert "hx-get" not in page


def test_an_earlier_submission_is_offered_and_compared(as_alice: Client, alice: User) -> None:
    before = looked_into(alice, inspection(compiled(registers=99)), source=SOURCE + "# before\n")
    after = looked_into(alice, inspection(compiled(ptx=SASS)), source=SOURCE + "# after\n")
    assert f'<option value="{before.pk}"' in page_of(as_alice, after)
    assert "<option" not in page_of(as_alice, before)
    page = page_of(as_alice, after, f"inside/compare/?with={before.pk}&stage=ptx")
    assert "99 →</span> <strong>64</strong>" in page
    assert "ld.global r1;" in page
    page = page_of(as_alice, after, f"inside/compare/?with={before.pk}&stage=source")
    assert "# before" in page
    assert "# after" in page


def test_a_kernel_that_the_other_lacks_is_no_error(as_alice: Client, alice: User) -> None:
    before = looked_into(alice, inspection(compiled("other")))
    after = looked_into(alice)
    page = page_of(as_alice, after, f"inside/compare/?with={before.pk}")
    assert "has no kernel called" in page


@pytest.mark.parametrize("whose", ["bob", "another problem"])
def test_only_the_same_persons_on_the_same_problem_are_compared(
    as_alice: Client, as_stella: Client, alice: User, bob: User, whose: str
) -> None:
    other = looked_into(bob if whose == "bob" else alice)
    if whose != "bob":
        Submission.objects.filter(pk=other.pk).update(problem="linear")
    submission = looked_into(alice)
    for client in (as_alice, as_stella):
        address = f"/submissions/{submission.pk}/inside/compare/?with={other.pk}"
        assert client.get(address).status_code == 404
        assert "<option" not in page_of(client, submission)


def test_findings_are_told_and_mark_their_lines(as_alice: Client, alice: User) -> None:
    submission = judged(alice)
    race = Finding("race", "two programs write it", 5, "rows", "dweight", (3,), (0, 1), "tall", 12)
    somewhere = Finding("uninitialized_read", "reads what nobody wrote", 0)
    report = report_for(submission, findings=(race, somewhere)).to_json()
    Submission.objects.filter(pk=submission.pk).update(report=report)
    page = page_of(as_alice, submission, "")
    assert 'data-error-line="5" data-error-message="Race: two programs write it"' in page
    assert page.count("data-error-line") == 1
    assert '<span class="line error-line" id="L5">' in page
    assert "Uninitialized read." in page
    for told in ("dweight", "program (0, 1)", "at (3,)", "case tall", "12 times"):
        assert told in page


def test_nothing_a_kernel_is_called_or_says_is_taken_for_html(
    as_alice: Client, alice: User
) -> None:
    raw: dict[str, Any] = hostile(Inspection)
    for kernel in raw["kernels"]:
        for stage in ("ttir", "ttgir", "llir", "ptx", "sass"):
            kernel[stage] = {"text": HTML, "lines": [1], "left_out": 1}
        kernel["error"] = ""
    for launch in raw["maps"]["launches"]:
        launch["maps"] = [m | {"op": "load", "runs": [0, 0, 1]} for m in launch["maps"]]
    raw |= {"problem": "rms_norm", "schema": 1}
    found = Inspection.from_json(raw)
    before = looked_into(alice, found, source=HTML)
    after = looked_into(alice, found, source=HTML + "\n")
    pages = ("", "inside/", "inside/figures/", "inside/map/", f"inside/compare/?with={before.pk}")
    for rest in pages:
        page = page_of(as_alice, after, rest)
        assert escape("<script>alert(1)") in page or "compare" in rest
        for taken in ("<script>alert", "<img src=x", "<b id=", "onclick='y'>"):
            assert taken not in page, rest


def test_the_page_costs_as_many_queries_however_many_came_before(
    as_alice: Client, alice: User, django_assert_num_queries: Any
) -> None:
    looked_into(alice)
    for _ in range(2):
        looked_into(alice)
        submission = looked_into(alice)
        # Session, user, the submission, what is inside it, the earlier ones.
        with django_assert_num_queries(5):
            page_of(as_alice, submission)


def test_what_was_traced_and_modelled_is_shown_and_called_by_its_name(
    as_alice: Client, alice: User
) -> None:
    tensor = TensorTraffic("x", loaded=3_000_000, stored=0, minimum=1_000_000, sectors=187_500)
    trace = Trace("rows", {"M": 2}, 7, 3_000_000, 1_000_000, 187_500, {"vector": 5000}, (tensor,))
    model = ModelledTime("H100 SXM", "shape", 2e-4, 5e-5, {"rows": 1.5e-4, "sum": 5e-5})
    wraps = Finding("int32_overflow", "the offset wraps", 5)
    found = inspection(traces=(trace,), models=(model,), findings=(wraps,))
    page = page_of(as_alice, looked_into(alice, found), "")
    for shown in ("3.00 MB", "1.00 MB", "3.00×", "50.0 %", "5.00 k vector"):
        assert shown in page
    assert "modelled, not measured" in page
    assert "H100 SXM" in page
    assert "25.0 %" in page
    assert 'data-error-line="5" data-error-message="Int32 overflow: the offset wraps"' in page


def test_a_modelled_time_that_nothing_could_reach_is_not_shown(
    as_alice: Client, alice: User
) -> None:
    beyond = ModelledTime("H100 SXM", "shape", 1e-6, 2e-4)  # as an older model told
    page = page_of(as_alice, looked_into(alice, inspection(models=(beyond,))), "")
    assert "Modelled time" not in page
    assert "not measured" not in page
