"""The pages of the lessons, and the ways there."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from problems.registry import all_problems
from problems.spec import Problem
from web.lessons.declared import LESSONS, Lesson, lessons_for

each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)


def test_the_list_has_every_lesson_and_is_in_the_navigation(client: Client):
    page = client.get("/lessons/").content.decode()
    for lesson in LESSONS:
        assert f'href="/lessons/{lesson.slug}/"' in page
        assert lesson.summary in page
    assert '<a href="/lessons/" aria-current="page">' in page


@each_lesson
def test_a_lesson_ends_at_its_problems(lesson: Lesson, client: Client):
    page = client.get(f"/lessons/{lesson.slug}/").content.decode()
    _, now_you = page.split('id="now-you"')
    for problem, task in lesson.practice:
        assert f'<a class="button" href="/problems/{problem.url_slug}/">' in now_you
        assert task in now_you


@each_lesson
def test_a_lesson_leads_to_the_next(lesson: Lesson, client: Client):
    following = client.get(f"/lessons/{lesson.slug}/").context["next_lesson"]
    after = LESSONS[LESSONS.index(lesson) + 1 :]
    assert following == (after[0] if after else None)


@pytest.mark.django_db
@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)
def test_a_problem_names_the_lessons_that_lead_to_it(problem: Problem, client: Client):
    page = client.get(f"/problems/{problem.url_slug}/").content.decode()
    main = page.split("<main")[1]
    for lesson in LESSONS:
        linked = f'href="/lessons/{lesson.slug}/"' in main
        assert linked == (lesson in lessons_for(problem))


@each_lesson
def test_the_code_is_a_text_file(lesson: Lesson, client: Client):
    answer = client.get(f"/lessons/{lesson.slug}/code.py")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.content.decode().startswith('"""The code of the lesson')


@pytest.mark.django_db
def test_reading_asks_the_database_nothing(client: Client, django_assert_num_queries: Any):
    with django_assert_num_queries(0):
        client.get("/lessons/")
        client.get("/lessons/vjp/")
