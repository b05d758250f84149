"""What a search of the catalogue finds."""

from __future__ import annotations

import pytest

from problems.registry import all_problems, get_problem
from web.catalogue.listing import Search, choices, found, models_of
from web.catalogue.queries import Figures


def slugs(search: Search, solved: set[str] | None = None) -> set[str]:
    return {card.problem.slug for tier in found(search, {}, solved or set()) for card in tier.cards}


EVERY = {problem.slug for problem in all_problems()}


def test_an_empty_search_finds_every_problem():
    assert slugs(Search()) == EVERY


@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)
def test_a_problem_is_found_by_its_title_slug_and_gradients(problem):
    for words in (problem.title.upper(), problem.slug, problem.url_slug, problem.gradients[0].name):
        assert problem.slug in slugs(Search(q=words))


def test_every_word_has_to_fit():
    both = slugs(Search(q="row")) & slugs(Search(q="dweight"))
    assert slugs(Search(q="  row   dweight ")) == both < slugs(Search(q="row"))
    assert slugs(Search(q="row dweight xyzzy")) == set()


@pytest.mark.parametrize("tier", choices().tiers)
def test_a_tier_holds_its_problems(tier: str):
    assert slugs(Search(tier=tier)) == {p.slug for p in all_problems() if p.tier == tier} != set()


@pytest.mark.parametrize("tag", choices().tags)
def test_a_tag_that_is_offered_finds_those_that_have_it(tag: str):
    assert slugs(Search(tag=tag)) == {p.slug for p in all_problems() if tag in p.tags} != set()


@pytest.mark.parametrize("model", choices().models)
def test_a_model_that_is_offered_finds_those_with_a_shape_of_it(model: str):
    used = {
        p.slug
        for p in all_problems()
        if any(b.model.split(",")[0] == model for bs in p.benchmarks.values() for b in bs)
    }
    assert slugs(Search(model=model)) == used != set()


def test_models_are_named_once_and_without_the_shape():
    assert models_of(get_problem("rms_norm")) == ("Llama-3-8B", "DeepSeek-V3")


def test_fields_narrow_each_other():
    wide = slugs(Search(model="Llama-3-8B"))
    assert "rms_norm" in slugs(Search(model="Llama-3-8B", tier="Reductions")) < wide
    assert slugs(Search(model="Llama-3-8B", tag="no such tag")) == set()


def test_solved_and_open_are_complements():
    assert slugs(Search(state="solved"), {"softmax"}) == {"softmax"}
    assert slugs(Search(state="open"), {"softmax"}) == EVERY - {"softmax"}


def test_a_tier_counts_what_is_solved_and_carries_the_figures():
    (tier,) = found(Search(tier="Reductions"), {"softmax": Figures(0.5, 3)}, {"softmax"})
    assert tier.solved == 1
    assert {c.problem.slug: c.figures.solvers for c in tier.cards}["softmax"] == 3


def test_a_query_string_has_only_what_was_asked():
    assert Search().query == ""
    assert Search(q="a b", tag="split-K").query == "?q=a+b&tag=split-K"
    assert Search.of({"q": " norm ", "tier": "", "page": "3"}) == Search(q="norm")


def test_a_very_long_query_is_cut():
    assert len(Search.of({"q": "x" * 10_000}).q) == 100
