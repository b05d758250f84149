"""Markdown with formulas, and code, as HTML. The only module that makes safe HTML.

What it is given are files of this repository. Still, raw HTML in Markdown is shown as text, and
nothing written by users comes here: their sources and output go through the templates' escaping.
"""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.utils.safestring import SafeString, mark_safe  # noqa: TID251 - this is the place
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

logger = logging.getLogger(__name__)

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
# The converter's \\bar: a macron that fonts draw as short as a dot, and not as an accent.
_MACRON = re.compile(r'<mover>((?:(?!</?mover).)*<mo stretchy="true">)&#x000AF;</mo></mover>')
_STYLE = re.compile(r'\sstyle="[^"]*"')


@lru_cache(maxsize=1024)
def render_markdown(text: str) -> SafeString:
    """`text` as HTML; `$...$` and `$$...$$` become MathML.

    Headings go down one level: a `##` of the text stands under the page's own section headings.
    """
    rendered: str = _renderer().render(text)
    return mark_safe(rendered)  # noqa: S308 - our own files, raw HTML off


@lru_cache(maxsize=256)
def render_parts(text: str) -> tuple[tuple[str, SafeString], ...]:
    """The parts of `text` under its `##` headings, in order: (heading, HTML)."""
    pieces = _HEADING.split(text)[1:]
    return tuple(
        (title.strip(), render_markdown(body.strip()))
        for title, body in zip(pieces[::2], pieces[1::2], strict=True)
    )


@lru_cache(maxsize=256)
def highlight_code(code: str, language: str = "python") -> SafeString:
    """`code` coloured by Pygments' classes, in `<div class="highlight"><pre>`."""
    return mark_safe(_coloured(code, language, HtmlFormatter()))  # noqa: S308 - Pygments escapes


def _coloured(code: str, language: str, formatter: HtmlFormatter[str]) -> str:
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    return highlight(code, lexer, formatter)


def formula(latex: str, *, block: bool) -> str:
    """MathML of a formula. One that cannot be converted is shown as written; a test finds those."""
    try:
        mathml: str = convert(latex.strip(), display="block" if block else "inline")
    except Exception:
        logger.exception("a formula could not be converted: %s", latex)
        return f'<code class="formula">{html.escape(latex)}</code>'
    mathml = _MACRON.sub(r'<mover accent="true">\1&#x203E;</mo></mover>', mathml)
    return _STYLE.sub("", mathml)  # the content security policy forbids style attributes


@lru_cache(maxsize=1)
def _renderer() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "highlight": _fence}).enable("table")
    markdown.use(
        dollarmath_plugin,
        double_inline=True,
        renderer=lambda latex, options: formula(latex, block=options["display_mode"]),
    )
    markdown.add_render_rule("heading_open", _lower_heading)
    markdown.add_render_rule("heading_close", _lower_heading)
    markdown.add_render_rule("th_open", _aligned_by_class)
    markdown.add_render_rule("td_open", _aligned_by_class)
    return markdown


def _fence(code: str, language: str, _attributes: str) -> str:
    if not language:
        return ""
    # What begins with <pre is taken as it is; anything else would be put into another one.
    coloured = _coloured(code, language, HtmlFormatter(nowrap=True)).rstrip("\n")
    return f'<pre class="highlight"><code>{coloured}</code></pre>'


def _lower_heading(
    renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    tokens[index].tag = f"h{min(int(tokens[index].tag[1]) + 1, 6)}"
    rendered: str = renderer.renderToken(tokens, index, options, env)
    return rendered


def _aligned_by_class(
    renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    """A cell of a column of figures. Style attributes are forbidden."""
    if tokens[index].attrs.pop("style", None):
        tokens[index].attrSet("class", "num")
    rendered: str = renderer.renderToken(tokens, index, options, env)
    return rendered
