"""What this process made lately, by key; what was used longest ago makes room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


class Shelf(Generic[Key, Kept]):
    """Keeps the last `room` things. Unlike `functools.lru_cache` it is told how to make each of them."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], Kept]) -> Kept:
        """What is kept under `key`, else what `make` makes, kept from now on."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()  # without the lock: two may make the same, but nobody waits
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._room:
                self._kept.popitem(last=False)
        return made
