"""How a runner announces itself: what it serves, on which machine, with which versions and isolation.

Sent at start, with each beat and at a stop over the queue of results. It comes from a process that is
trusted but may be faulty or of another version: it is data, checked and cut to size on arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from wire.messages import BadMessage

ANNOUNCE_TASK = "web.record_announcement"

LONGEST_TEXT = 200
MOST_HARDWARE = 16
MOST_VERSIONS = 16


@dataclass(frozen=True)
class Announcement:
    """What a runner says of itself. `name` is unique among runners; empty text: not known.

    `hardware` are the kinds whose queues it listens to, `isolation` the name of its sandbox, `leaving`
    that it stops now.
    """

    name: str
    hardware: tuple[str, ...]
    machine: str = ""
    cpu: str = ""
    gpu: str = ""
    driver: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    isolation: str = ""
    backpass: str = ""
    leaving: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"hardware": list(self.hardware), "versions": dict(self.versions)}

    @classmethod
    def from_json(cls, raw: Any) -> Announcement:
        """Text longer than LONGEST_TEXT is cut, fields that are not known are ignored.

        Raises:
            BadMessage: `raw` lacks a field, or one is of another type or has too many entries.
        """
        try:
            announcement = cls(
                name=_text(raw["name"]).strip(),
                hardware=tuple(_text(kind) for kind in _few(raw["hardware"], list, MOST_HARDWARE)),
                machine=_text(raw["machine"]),
                cpu=_text(raw["cpu"]),
                gpu=_text(raw["gpu"]),
                driver=_text(raw["driver"]),
                versions={
                    _text(name): _text(version)
                    for name, version in _few(raw["versions"], dict, MOST_VERSIONS).items()
                },
                isolation=_text(raw["isolation"]),
                backpass=_text(raw["backpass"]),
                leaving=raw["leaving"] is True,
            )
        except (TypeError, KeyError) as error:
            raise BadMessage(f"not an announcement: {error!r:.200}") from error
        if not announcement.name or not all(announcement.hardware) or not announcement.hardware:
            raise BadMessage("an announcement names its runner and at least one hardware")
        return announcement


def _text(value: Any) -> str:
    """`value` without what a database or a page cannot take, cut to LONGEST_TEXT."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.100} is no text")
    printable = "".join(c if c.isprintable() else " " for c in value[: 2 * LONGEST_TEXT])
    return printable[:LONGEST_TEXT]


def _few(value: Any, kind: type[Any], most: int) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r:.100} is no {kind.__name__}")
    if len(value) > most:
        raise TypeError(f"{len(value)} entries, where at most {most} are taken")
    return value
