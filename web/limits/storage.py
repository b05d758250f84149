"""A storage for the library `limits` in the site's database.

Not in Redis even where there is one: a site whose broker is away still takes submissions, and still
limits them. Counting takes part in the transaction around it, so that what is refused is not counted.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import DatabaseError, transaction
from django.db.models import F
from django.utils import timezone
from limits.storage import Storage

from web.limits.models import Counter

# Deleted in one go: a sweep is to be short.
_MOST_SPENT = 5000


class DatabaseStorage(Storage):
    """Fixed windows: a counter begins with the first hit and ends after its span."""

    STORAGE_SCHEME = None

    @property
    def base_exceptions(self) -> type[Exception]:
        return DatabaseError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count `amount` more and return the count; the row stays locked until the transaction ends."""
        now = timezone.now()
        with transaction.atomic():
            Counter.objects.filter(pk=key, ends_at__lte=now).delete()
            ends_at = now + timedelta(seconds=expiry)
            counter, made = Counter.objects.get_or_create(
                key=key, defaults={"value": amount, "ends_at": ends_at}
            )
            if made:
                return amount
            Counter.objects.filter(pk=counter.pk).update(value=F("value") + amount)
            return Counter.objects.values_list("value", flat=True).get(pk=counter.pk)

    def get(self, key: str) -> int:
        counter = self._running(key)
        return counter.value if counter else 0

    def get_expiry(self, key: str) -> float:
        """When the counter ends, as a time stamp in seconds; now if it does not run."""
        counter = self._running(key)
        return (counter.ends_at if counter else timezone.now()).timestamp()

    def check(self) -> bool:
        return Counter.objects.exists() or True

    def reset(self) -> int | None:
        return Counter.objects.all().delete()[0]

    def clear(self, key: str) -> None:
        Counter.objects.filter(pk=key).delete()

    def _running(self, key: str) -> Counter | None:
        return Counter.objects.filter(pk=key, ends_at__gt=timezone.now()).first()


def drop_spent() -> int:
    """Delete counters whose time is over; how many. One that is just being counted on is left alone."""
    with transaction.atomic():
        spent = Counter.objects.select_for_update(skip_locked=True).filter(
            ends_at__lte=timezone.now()
        )
        keys = list(spent.values_list("pk", flat=True)[:_MOST_SPENT])
        return Counter.objects.filter(pk__in=keys).delete()[0]
