"""A site that has been used: users, submissions with reports, standings; by bulk writes.

Run in a process of its own, with DATABASE_URL set: `python -m benchmarks.load_seed USERS SUBMISSIONS`.
Prints, as JSON, the addresses and cookies that the load needs.
"""

from __future__ import annotations

import json
import random
import sys
import uuid
from datetime import timedelta

import django

django.setup()

from django.conf import settings  # noqa: E402 - Django comes first
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402 - after what it needs is set up
from django.utils import timezone  # noqa: E402 - after what it needs is set up

from problems.registry import all_problems, get_problem  # noqa: E402 - after what it needs is set up
from tests.web.samples import report_for, timing  # noqa: E402 - after what it needs is set up
from web.accounts.models import User  # noqa: E402 - after what it needs is set up
from web.boards.freshness import board_changed  # noqa: E402 - after what it needs is set up
from web.boards.models import Standing  # noqa: E402 - after what it needs is set up
from web.submissions.models import Submission  # noqa: E402 - after what it needs is set up

CHUNK = 2000
BOARD = "rms_norm"
SOURCE = "def backward(grad_output, x, weight, rstd):\n    return None\n" * 40


def seed(users: int, submissions: int) -> dict[str, str]:
    """Fill the database; what the load asks for."""
    people = User.objects.bulk_create(
        [User(username=f"user{n}", password="!") for n in range(users)], batch_size=CHUNK
    )
    _submissions(people, submissions)
    _standings(people)
    somebody = people[users // 2]
    session = SessionStore()
    session["_auth_user_id"] = str(somebody.pk)
    session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
    session["_auth_user_hash"] = somebody.get_session_auth_hash()
    session.create()
    own = Submission.objects.filter(user=somebody, problem=BOARD).earliest("created_at")
    return {
        "cookie": f"{settings.SESSION_COOKIE_NAME}={session.session_key}",
        "problem": f"/problems/{get_problem(BOARD).url_slug}/",
        "submission": own.get_absolute_url(),
    }


def _submissions(people: list[User], count: int) -> None:
    """Every user has some on every problem; the first of each problem is on the board."""
    draw = random.Random(7)
    slugs = [BOARD, *(p.slug for p in all_problems() if p.slug != BOARD)]
    now = timezone.now()
    for start in range(0, count, CHUNK):
        chunk = []
        for number in range(start, min(start + CHUNK, count)):
            slug = slugs[number // len(people) % len(slugs)]
            submission = Submission(
                id=uuid.UUID(int=draw.getrandbits(128), version=4),
                user=people[number % len(people)],
                problem=slug,
                problem_version=get_problem(slug).version,
                language="pytorch",
                hardware="cpu",
                mode="submit",
                source=SOURCE,
                state="done",
                verdict="accepted" if draw.random() < 0.6 else "wrong_gradient",
                headline="Every gradient is right.",
                finished_at=now,
                score=draw.random(),
            )
            submission.report = report_for(submission).to_json()
            chunk.append(submission)
        Submission.objects.bulk_create(chunk)


def _standings(people: list[User]) -> None:
    draw = random.Random(8)
    names = [b.name for b in get_problem(BOARD).benchmarks.get("cpu", ())]
    best = dict(
        Submission.objects.filter(problem=BOARD)
        .order_by("-created_at")
        .values_list("user_id", "pk")
    )
    now = timezone.now()
    Standing.objects.bulk_create(
        [
            Standing(
                problem=BOARD,
                hardware="cpu",
                user=user,
                submission_id=best[user.pk],
                problem_version=get_problem(BOARD).version,
                language="pytorch",
                score=draw.random(),
                speedup=2.0,
                timings=[
                    {"name": name, "median": timing().median, "speedup": 2.0, "efficiency": 0.5}
                    for name in names
                ],
                achieved_at=now - timedelta(minutes=draw.randrange(100_000)),
            )
            for user in people
            if user.pk in best
        ],
        batch_size=CHUNK,
    )
    board_changed(BOARD, "cpu")


if __name__ == "__main__":
    print(json.dumps(seed(int(sys.argv[1]), int(sys.argv[2]))))
