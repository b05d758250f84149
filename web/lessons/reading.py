"""A lesson's text, taken apart: prose and figures for the page, code for whoever runs it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

from web.catalogue.markup import render_markdown
from web.lessons.declared import Lesson

# A picture alone on its line, `![what it shows](name.svg)`, is a figure with a caption.
_FIGURE = re.compile(r"^!\[(?P<caption>.+)\]\((?P<name>[a-z_]+)\.svg\)$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """Prose as HTML; or, when `figure` names a template, a figure with its caption as HTML."""

    html: SafeString
    figure: str = ""


@dataclass(frozen=True)
class CodeBlock:
    """Python in a lesson; `line` is where it begins in the text, counted from 1."""

    line: int
    code: str


@lru_cache(maxsize=32)
def parts(lesson: Lesson) -> tuple[Part, ...]:
    """The page of a lesson from top to bottom."""
    found: list[Part] = []
    end = 0
    for match in _FIGURE.finditer(lesson.text):
        found.append(Part(render_markdown(lesson.text[end : match.start()])))
        template = f"lessons/figures/{match['name']}.svg"
        found.append(Part(render_markdown(match["caption"]), template))
        end = match.end()
    found.append(Part(render_markdown(lesson.text[end:])))
    return tuple(found)


@lru_cache(maxsize=32)
def code_blocks(lesson: Lesson) -> tuple[CodeBlock, ...]:
    """The Python of a lesson in order. One namespace runs all of it: later blocks use earlier names."""
    return tuple(
        CodeBlock(token.map[0] + 2, token.content)
        for token in MarkdownIt("commonmark").parse(lesson.text)
        if token.type == "fence" and token.info.strip() == "python" and token.map
    )


def program(lesson: Lesson) -> str:
    """The code of a lesson as one file that runs from top to bottom."""
    head = f'"""The code of the lesson "{lesson.title}". Each block has its own assertions."""\n'
    return "\n\n".join([head, *(block.code for block in code_blocks(lesson))])
