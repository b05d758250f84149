"""What was posted, beside what the database says became of it: nothing may be lost or invented."""

from __future__ import annotations

import itertools
import uuid
from dataclasses import dataclass
from typing import Any

from tests.faults.site import Site
from tests.faults.stub_runner import source_for
from tests.serve.site import wait_for
from wire.verdict import Verdict


@dataclass(frozen=True)
class Posted:
    id: str
    user: str
    source: str
    score: float
    verdict: Verdict


class Ledger:
    """Posts submissions and knows how each must end."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.posted: list[Posted] = []
        self._numbers = itertools.count()

    def post(self, user: str = "user0", verdict: Verdict = Verdict.ACCEPTED) -> str:
        """Post a submission whose verdict is given and whose score is unlike any other's."""
        number = next(self._numbers)
        # Neither rising nor falling, so that a board that takes the first or the last is found out.
        score = round(0.1 + (number * 37 % 101) / 200, 6)
        source = source_for(number, score, verdict)
        submission = self.site.post(user, source)
        self.posted.append(Posted(submission, user, source, score, verdict))
        return submission

    def state(self, submission: str) -> tuple[str, str]:
        """(state, phase)"""
        query = "SELECT state, phase FROM submissions_submission WHERE id = %s"
        return self.site.rows(query, self._key(submission))[0]

    def attempts(self, submission: str) -> list[str]:
        """The states of a submission's attempts, the first one first; their numbers have no gap."""
        query = (
            "SELECT number, state FROM submissions_attempt WHERE submission_id = %s ORDER BY number"
        )
        rows = self.site.rows(query, self._key(submission))
        assert [number for number, _ in rows] == list(range(1, len(rows) + 1))
        return [state for _, state in rows]

    def phases(self, submissions: list[str]) -> set[str]:
        """Where the running ones of the submissions are."""
        return {phase for state, phase in map(self.state, submissions) if state == "running"}

    def headline(self, submission: str) -> str:
        query = "SELECT headline FROM submissions_submission WHERE id = %s"
        return str(self.site.rows(query, self._key(submission))[0][0])

    def verdict(self, submission: str) -> str:
        query = "SELECT verdict FROM submissions_submission WHERE id = %s"
        return str(self.site.rows(query, self._key(submission))[0][0])

    def wait_for_phase(self, submission: str, phase: str) -> None:
        wait_for(lambda: self.state(submission) == ("running", phase), f"the phase {phase}")

    def all_done(self) -> bool:
        query = "SELECT count(*) FROM submissions_submission WHERE state = 'done'"
        return bool(self.site.rows(query)[0][0] == len(self.posted))

    def wait_for_verdicts(self) -> None:
        try:
            wait_for(self.all_done, "every verdict")
        except AssertionError as error:
            left = (
                "SELECT number, state, dispatches, dispatched_at, lease_until"
                " FROM submissions_attempt WHERE state IN ('sent', 'running')"
            )
            raise AssertionError(f"{error}; still there: {self.site.rows(left)}") from None

    def check(self) -> None:
        """Wait for every verdict; then each must be the right one, once, with its source and board."""
        self.wait_for_verdicts()
        self.check_submissions()
        self.check_standings()

    def check_submissions(self) -> None:
        query = "SELECT id, source, verdict, state FROM submissions_submission"
        found = {self._text(pk): rest for pk, *rest in self.site.rows(query)}
        assert found == {p.id: [p.source, p.verdict, "done"] for p in self.posted}
        for posted in self.posted:
            *earlier, last = self.attempts(posted.id)
            assert last == "done"
            assert set(earlier) <= {"lost"}

    def check_standings(self) -> None:
        query = (
            "SELECT username, submission_id, boards_standing.score FROM boards_standing"
            " JOIN accounts_user ON accounts_user.id = user_id"
        )
        found = sorted((user, self._text(pk), score) for user, pk, score in self.site.rows(query))
        best: dict[str, Posted] = {}
        for posted in self.posted:
            if posted.verdict is not Verdict.ACCEPTED:
                continue
            if posted.user not in best or best[posted.user].score < posted.score:
                best[posted.user] = posted
        assert found == sorted((p.user, p.id, p.score) for p in best.values())

    def everything(self) -> list[Any]:
        """All that the database says of the submissions, to see that nothing changes any more."""
        tables = ("submissions_submission", "submissions_attempt", "boards_standing")
        return [self.site.rows(f"SELECT * FROM {table} ORDER BY id") for table in tables]

    def _key(self, submission: str) -> str:
        return submission if self.site.uses_postgres else submission.replace("-", "")

    @staticmethod
    def _text(pk: Any) -> str:
        return str(uuid.UUID(str(pk)))
