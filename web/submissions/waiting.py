"""The fair line (`line`) before each hardware, read from the database.

A job is on its way once the broker took it (`dispatched_at`) and until its attempt ends; any other
active attempt waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from django.db.models import Case, Count, Max, Min, Q, QuerySet, Value, When
from django.db.models.fields import CharField
from django.db.models.functions import Cast, Concat

from web.runners.queries import live_runners
from web.submissions.line import Line
from web.submissions.models import Attempt

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class _Person(TypedDict):
        person: str


# Jobs with the broker beyond one for each runner, so that none waits between two jobs for the site.
SPARE = 1

ON_THE_WAY = Q(state=Attempt.State.RUNNING) | Q(
    state=Attempt.State.SENT, dispatched_at__isnull=False
)
WAITING = Q(state=Attempt.State.SENT, dispatched_at__isnull=True)
# Whose turn a job takes, as text: a user's, a visitor's, or that of all rejudges together.
PERSON = Case(
    When(rejudge__isnull=False, then=Value("rejudge")),
    When(
        submission__user__isnull=False,
        then=Concat(Value("user "), Cast("submission__user_id", CharField())),
    ),
    default=Concat(Value("visitor "), "submission__visitor"),
    output_field=CharField(),
)


def window(hardware: str) -> int:
    """How many jobs for that hardware may be on their way at a time."""
    return max(1, live_runners(hardware)) + SPARE


def attempts_for(hardware: str) -> QuerySet[WithAnnotations[Attempt, _Person]]:
    """All attempts on that hardware, each with its `person`."""
    return Attempt.objects.filter(submission__hardware=hardware).annotate(person=PERSON)


def line_for(hardware: str) -> Line:
    """The line as it stands, in three queries at most."""
    attempts = attempts_for(hardware).order_by()
    sent = list(
        attempts.filter(ON_THE_WAY)
        .order_by("dispatched_at", "pk")
        .values_list("person", "dispatched_at")
    )
    waiting = {
        person: (jobs, came)
        for person, jobs, came in attempts.filter(WAITING)
        .values_list("person")
        .annotate(jobs=Count("pk"), came=Min("created_at"))
    }
    turns = {person: came for person, (_, came) in waiting.items()}
    if len(waiting) > 1:
        # Turns before anybody who waits came change nothing.
        begun = attempts.filter(started_at__gt=min(turns.values())).values_list("person")
        for person, last in [*begun.annotate(last=Max("started_at")), *sent]:
            if person in turns and last is not None:
                turns[person] = max(turns[person], last)
    return Line(
        on_the_way=[person for person, _ in sent],
        waiting={person: jobs for person, (jobs, _) in waiting.items()},
        turns={person: turn.timestamp() for person, turn in turns.items()},
    )
