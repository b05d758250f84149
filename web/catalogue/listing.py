"""What the catalogue lists: which problems a search finds, and what may be chosen from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import groupby
from urllib.parse import urlencode

from problems.registry import all_problems, get_problem
from problems.spec import Problem
from web.catalogue.queries import Figures

LONGEST = 100  # characters of a query that are looked at


@dataclass(frozen=True)
class Card:
    """A problem in the catalogue; `models` are those with a benchmark shape."""

    problem: Problem
    models: tuple[str, ...]
    figures: Figures
    solved: bool


@dataclass(frozen=True)
class TierOfCards:
    """The problems of a tier that were found, and how many of these the reader has solved."""

    name: str
    cards: tuple[Card, ...]

    @property
    def solved(self) -> int:
        return sum(card.solved for card in self.cards)


@dataclass(frozen=True)
class Choices:
    """What can be chosen from, and the number of problems there are."""

    tiers: tuple[str, ...]
    tags: tuple[str, ...]
    models: tuple[str, ...]
    problems: int


@dataclass(frozen=True)
class Search:
    """What the reader asks for. Each field narrows the list; an empty one does not.

    Every word of `q` must be somewhere in what a problem says of itself. `state` is "solved" or "open".
    """

    q: str = ""
    tier: str = ""
    tag: str = ""
    model: str = ""
    state: str = ""

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Search:
        """From a query string's parameters."""
        return cls(**{name: parameters.get(name, "").strip()[:LONGEST] for name in asdict(cls())})

    @property
    def query(self) -> str:
        """As a query string with its question mark, without the empty fields; "" when all are."""
        asked = {name: value for name, value in asdict(self).items() if value}
        return f"?{urlencode(asked)}" if asked else ""

    def finds(self, card: Card) -> bool:
        problem = card.problem
        return (
            all(word in _words(problem.slug) for word in self.q.casefold().split())
            and self.tier in ("", problem.tier)
            and (not self.tag or self.tag in problem.tags)
            and (not self.model or self.model in card.models)
            and self.state in ("", "solved" if card.solved else "open")
        )


def models_of(problem: Problem) -> tuple[str, ...]:
    """The models that its benchmark shapes are from: "Llama-3-8B" of "Llama-3-8B, 1024 tokens"."""
    names = (
        benchmark.model.partition(",")[0].strip()
        for benchmarks in problem.benchmarks.values()
        for benchmark in benchmarks
    )
    return tuple(dict.fromkeys(names))


@lru_cache(maxsize=256)
def _words(slug: str) -> str:
    """All that a problem says of itself in a line or less, to be searched."""
    problem = get_problem(slug)
    said = (problem.title, problem.slug, problem.url_slug, problem.summary, problem.signature)
    more = (problem.tier, *problem.tags, *problem.models, *models_of(problem))
    return " ".join((*said, *more)).casefold()


def found(
    search: Search, figures: Mapping[str, Figures], solved: Collection[str]
) -> tuple[TierOfCards, ...]:
    """What the search finds, easiest tier first; tiers with nothing in them are left out."""
    cards = (
        Card(p, models_of(p), figures.get(p.slug, Figures()), p.slug in solved)
        for p in all_problems()
    )
    grouped = groupby(filter(search.finds, cards), lambda card: card.problem.tier)
    return tuple(TierOfCards(name, tuple(group)) for name, group in grouped)


@lru_cache(maxsize=1)
def choices() -> Choices:
    """All tiers, tags and models of the problems."""
    problems = all_problems()
    return Choices(
        tiers=tuple(dict.fromkeys(p.tier for p in problems)),
        tags=tuple(sorted({tag for p in problems for tag in p.tags}, key=str.casefold)),
        models=tuple(sorted({m for p in problems for m in models_of(p)}, key=str.casefold)),
        problems=len(problems),
    )
