"""Which lessons there are, and the problems that each of them prepares for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from problems.registry import all_problems
from problems.spec import Problem

TEXTS = Path(__file__).parent / "texts"


class UnknownLesson(LookupError):
    """No lesson has this name."""


@dataclass(frozen=True)
class Exercise:
    """A problem in which to try what a lesson says; `task` is one sentence: what to look at there."""

    slug: str
    task: str


@dataclass(frozen=True)
class Lesson:
    """A page of text. `slug` is its address and the name of its file; `summary` one sentence."""

    slug: str
    title: str
    summary: str
    exercises: tuple[Exercise, ...]

    @cached_property
    def text(self) -> str:
        """The Markdown, without the title."""
        return (TEXTS / f"{self.slug}.md").read_text(encoding="utf-8")

    @property
    def practice(self) -> tuple[tuple[Problem, str], ...]:
        """(problem, task) of every exercise whose problem this site has, in the order of the lesson."""
        there = {problem.slug: problem for problem in all_problems()}
        return tuple((there[e.slug], e.task) for e in self.exercises if e.slug in there)


LESSONS = (
    Lesson(
        "vjp",
        "VJP, never the Jacobian",
        "Backward is one product of a vector with a matrix that nobody writes down: how to find it, how "
        "to test it, and what its structure says about the kernel.",
        (
            Exercise("relu_squared", "A diagonal Jacobian: three streams and nothing else."),
            Exercise("swiglu", "Two diagonals from one read of the upstream gradient."),
            Exercise("rope", "An orthogonal Jacobian: its transpose is its inverse."),
            Exercise("softmax", "A diagonal minus a matrix of rank one."),
            Exercise(
                "linear_scan", "A triangular Jacobian: its transpose runs from the other end."
            ),
        ),
    ),
    Lesson(
        "broadcast",
        "A broadcast becomes a sum",
        "What forward copies, backward adds up. One rule of indices gives the gradients of biases, "
        "scales, tables and matrix products.",
        (
            Exercise("linear", "Three operands, three different sets of indices to sum over."),
            Exercise("embedding", "A gather becomes a scatter that has to add."),
            Exercise("layer_norm", "Two parameters, broadcast over every row."),
            Exercise("moe_combine", "A weighted sum of gathered rows, seen from the other side."),
        ),
    ),
    Lesson(
        "reductions",
        "Reductions across programs",
        "Why the gradient of a weight is the hard part of a normalisation: atomics, partial buffers, "
        "and sums whose last bits change from run to run.",
        (
            Exercise("rms_norm", "One row sum for dx, one sum over all rows for dweight."),
            Exercise("layer_norm", "Two sums over all rows, from one read."),
            Exercise("embedding", "The same sum where the rows are chosen by data."),
            Exercise(
                "linear", "A contraction over the batch: split it, and add the parts in float32."
            ),
        ),
    ),
    Lesson(
        "recompute",
        "Save or recompute",
        "What to keep for backward when a byte costs as much as twenty operations, up to the attention "
        "that never stores its matrix.",
        (
            Exercise("swiglu", "Recompute the sigmoid; save nothing that forward had made."),
            Exercise(
                "softmax_cross_entropy", "One number for each row stands for all probabilities."
            ),
            Exercise("causal_conv1d", "Recompute the argument of the activation, halo included."),
            Exercise("flash_attention", "Tiles of the matrix, made twice and never stored."),
            Exercise("linear_cross_entropy", "Logits that are never stored, on either side."),
            Exercise("ssd", "States made again between chunks, pairs of steps inside them."),
        ),
    ),
)


def get_lesson(slug: str) -> Lesson:
    """The lesson called `slug`.

    Raises:
        UnknownLesson: with the names there are.
    """
    for lesson in LESSONS:
        if lesson.slug == slug:
            return lesson
    known = ", ".join(lesson.slug for lesson in LESSONS)
    raise UnknownLesson(f"there is no lesson {slug!r}; there are {known}")


def lessons_for(problem: Problem) -> tuple[Lesson, ...]:
    """The lessons that send their readers to `problem`."""
    return tuple(lesson for lesson in LESSONS if problem.slug in {e.slug for e in lesson.exercises})
