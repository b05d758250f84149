"""The kinds of hardware this site judges on, and which of them takes which language.

A kind names its languages as text: problems.spec.Language has the same names (a test compares them),
but importing it costs the workers a second of start-up for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from wire.messages import Hardware


@dataclass(frozen=True)
class HardwareKind:
    """Hardware as people meet it: what it takes, what being accepted on it means, how it ranks."""

    name: str
    label: str
    languages: tuple[str, ...]
    measures_time: bool  # ranked by it if so
    models_time: (
        bool  # ranked by modelled times once they are there; who solved it first leads the rest
    )
    claim: str  # what the board may say of an accepted submission

    @property
    def shapes(self) -> str:
        """Which of a problem's benchmark shapes its times are on."""
        return "gpu" if self.models_time else self.name


_KINDS = {
    kind.name: kind
    for kind in (
        HardwareKind(Hardware.CPU, "CPU", ("pytorch",), True, False, "timed on this site's CPU"),
        HardwareKind(
            Hardware.INTERPRETER,
            "Triton interpreter",
            ("triton",),
            measures_time=False,
            models_time=True,
            claim="logic checked",
        ),
    )
}


class UnknownHardware(LookupError):
    """This site has no hardware of that name, or none for that language."""


def all_hardware() -> tuple[HardwareKind, ...]:
    """The kinds named by the setting BACKPASS_HARDWARE, in its order."""
    return tuple(get_kind(name) for name in settings.BACKPASS_HARDWARE)


def get_kind(name: str) -> HardwareKind:
    """The kind called `name`, whether or not this site has it.

    Raises:
        UnknownHardware: no such kind exists.
    """
    try:
        return _KINDS[name]
    except KeyError:
        raise UnknownHardware(
            f"there is no hardware {name!r}; there are {', '.join(_KINDS)}"
        ) from None


def hardware_for(language: str) -> HardwareKind:
    """The first hardware of this site that takes `language`.

    Raises:
        UnknownHardware: none does.
    """
    for kind in all_hardware():
        if language in kind.languages:
            return kind
    raise UnknownHardware(f"no hardware of this site takes {language!r}")
