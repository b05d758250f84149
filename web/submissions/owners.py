"""Whose a submission is, and who may see it: the one place that decides."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest

from web.submissions.models import Submission

if TYPE_CHECKING:
    from web.accounts.models import User

_SESSION_KEY = "visitor"


@dataclass(frozen=True)
class Owner:
    """A user, or a visitor known by an id in their session. Neither: somebody who never ran anything."""

    user: User | None = None
    visitor: str = ""
    session_key: str = ""  # the stored session that holds the visitor's id

    @classmethod
    def of(cls, request: HttpRequest) -> Owner:
        """Who is asking."""
        if request.user.is_authenticated:
            return cls(user=request.user)
        return cls(
            visitor=request.session.get(_SESSION_KEY, ""),
            session_key=request.session.session_key or "",
        )

    @classmethod
    def remembered(cls, request: HttpRequest) -> Owner:
        """Who is asking; a visitor who had no id gets one, stored before anything refers to it."""
        owner = cls.of(request)
        if owner.user or owner.visitor:
            return owner
        request.session[_SESSION_KEY] = uuid.uuid4().hex
        request.session.save()
        return cls.of(request)

    @property
    def filter(self) -> Q:
        """Selects this owner's submissions."""
        if self.user:
            return Q(user=self.user)
        return Q(visitor=self.visitor) if self.visitor else Q(pk__in=[])

    def submissions(self) -> QuerySet[Submission]:
        return Submission.objects.filter(self.filter)


def visible_submission(request: HttpRequest, pk: uuid.UUID) -> Submission:
    """The submission, if whoever asks owns it or is staff.

    Raises:
        Http404: there is none, or it is somebody else's. Which of the two, is not told.
    """
    submissions = Submission.objects.select_related("user")
    if not (request.user.is_authenticated and request.user.is_staff):
        submissions = submissions.filter(Owner.of(request).filter)
    try:
        return submissions.get(pk=pk)
    except Submission.DoesNotExist:
        raise Http404("There is no such submission, or it is not yours to see.") from None


def claim_runs(request: HttpRequest, user: User) -> int:
    """Make what this session ran as a visitor the user's; returns how many runs that were.

    Their idempotency keys are dropped: the user may have used the same ones.
    """
    visitor = request.session.pop(_SESSION_KEY, "")
    if not visitor:
        return 0
    return Submission.objects.filter(visitor=visitor).update(
        user=user, visitor="", idempotency_key=""
    )
