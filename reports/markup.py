"""Text for pages: Markdown, as ``onnx.defs`` has it, and reStructuredText.

``rst_blocks`` turns Markdown into reStructuredText; ``rst_escaped`` and ``markdown_escaped``
make any text stand for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urljoin

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

#: HTML is text: ``<T>`` is a type parameter.
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")

#: What the links in the texts of ``onnx.defs`` are relative to.
ONNX_DOCS = "https://github.com/onnx/onnx/blob/main/docs/"

_BREAK = re.compile(r"<br\s*/?>")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
#: What begins something else than a paragraph where it begins a line of reStructuredText.
_BLOCK_START = re.compile(
    r"[-+*\u2022\u2023\u2043](\s|$)|\(?(\d{1,9}|[A-Za-z]|[ivxlcdmIVXLCDM]+|#)[.)](\s|$)|\.\.(\s|$)|__(\s|$)|:|>>>|/\w|-|[|\"=]"
)
#: A code span of Markdown, or what looks like the beginning of a tag.
_CODE_OR_TAG = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))"
    r"|<(?!br\s*/?>|https?:)(?=[A-Za-z/!?])"
)
_RULE = re.compile(r"([!-/:-@\[-`{-~])\1*$")


def visible(text: str) -> str:
    """Return a text with escapes for the characters that cannot be seen, and for lone surrogates.

    Newlines and tabs stay.
    """
    return _UNSEEN.sub(lambda found: _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def parsed(text: str) -> list[Token]:
    """Return the tokens of a text in Markdown; HTML is text, but for line breaks.

    A text never begins with code: it is prose that someone indented.
    """
    return MARKDOWN.parse(_BREAK.sub(" ", text.lstrip()))


# Markdown.


def markdown_escaped(text: str) -> str:
    """Return one line that Markdown shows as the text is."""
    line = re.sub(r"([\\`*_\[\]<>#|~&!$])", r"\\\1", visible(" ".join(text.split())))
    return re.sub(r"^([-+=]|\d+[.)])", lambda found: found[0][:-1] + "\\" + found[0][-1], line)


def markdown_code(text: str) -> str:
    """Return a text as a code span of Markdown."""
    line = visible(" ".join(text.split()))
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else ""


def markdown_fence(text: str, language: str = "text") -> str:
    """Return a text as a fenced block of Markdown."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{visible(text)}\n{ticks}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def markdown_text(text: str) -> str:
    """Return a text in Markdown as it is, with the HTML in it escaped, but for line breaks."""
    lines = visible(text).strip().split("\n")
    tokens = MARKDOWN.parse("\n".join(lines))
    code = {n for t in tokens if t.type in ("fence", "code_block") and t.map for n in range(*t.map)}
    shown = [line if n in code else _prose(line) for n, line in enumerate(lines)]
    return "\n".join(shown)


def _prose(line: str) -> str:
    """Escape what looks like a tag outside code spans, and make links absolute."""
    line = re.sub(r"\]\((\w+\.md\b[^)\s]*)\)", lambda f: f"]({_absolute(f[1])})", line)
    return _CODE_OR_TAG.sub(lambda found: found[0] if found["code"] else f"\\{found[0]}", line)


# reStructuredText.


def rst_escaped(text: str) -> str:
    """Return a line of reStructuredText that shows a text as it is, to begin a paragraph."""
    return _rst_start(_rst_inline(visible(" ".join(text.split()))))


def rst_strong(text: str) -> str:
    """Return a text in bold."""
    line = visible(" ".join(text.split()))
    escaped = re.sub(r"([\\*])", r"\\\1", line)
    return f"**{escaped}**" if line else ""


def rst_code(text: str) -> str:
    """Return a text as an inline literal, or escaped where it cannot be one."""
    line = visible(" ".join(text.split()))
    bad = not line or "``" in line or line[0] == "`" or line[-1] in "`\\"
    return _rst_inline(line) if bad else f"``{line}``"


def rst_line(text: str) -> str:
    """Return a text in Markdown as one line of reStructuredText, to stand behind others."""
    pieces = [
        _rst_spans(SyntaxTreeNode([token]).children)
        for token in parsed(" ".join(text.split()))
        if token.type == "inline"
    ]
    return " ".join(" ".join(pieces).split())


def rst_blocks(text: str) -> list[str]:
    """Return the lines of a text in Markdown as reStructuredText."""
    return _blocks(SyntaxTreeNode(parsed(text)).children)


def rst_code_block(text: str, language: str = "") -> list[str]:
    """Return the lines of a literal block."""
    lines = visible(text).rstrip().expandtabs(4).splitlines()
    head = f".. code-block:: {language}".rstrip()
    return [head, "", *(f"    {line}".rstrip() for line in lines)] if lines else []


def _rst_inline(text: str) -> str:
    """Escape inline markup."""
    escaped = re.sub(r"([\\*`|])", r"\\\1", text)
    escaped = re.sub(r"_(?![A-Za-z0-9])|(?<![A-Za-z0-9])_(?=`)", r"\\_", escaped)
    return escaped.replace("::", ":\\:")


def _rst_start(line: str) -> str:
    """Keep the first line of a paragraph from beginning anything else."""
    return f"\\ {line}" if _BLOCK_START.match(line) or _RULE.match(line) else line


def _blocks(nodes: Iterable[SyntaxTreeNode]) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        block = _block(node)
        lines += ["", *block] if lines and block else block
    return lines


def _block(node: SyntaxTreeNode) -> list[str]:
    """Return the lines of one block of Markdown."""
    if node.type in ("fence", "code_block"):
        return rst_code_block(node.content, node.info if node.type == "fence" else "")
    if node.type in ("bullet_list", "ordered_list"):
        return _list(node)
    if node.type == "table":
        return _table(node)
    if node.type == "blockquote":
        return [f"   {line}".rstrip() for line in _blocks(node.children)]
    if node.type == "heading":
        return [rst_strong(child.content) for child in node.children]
    if node.type == "paragraph":
        first, *rest = _rst_spans(node.children[0].children).splitlines() or [""]
        shown = [line.strip() for line in (_rst_start(first.strip()), *rest)]
        return [f"\\ {line}" if _RULE.match(line) else line for line in shown if line]
    return []


def _list(node: SyntaxTreeNode) -> list[str]:
    lines: list[str] = []
    number = int(node.attrs.get("start", 1))
    for i, item in enumerate(node.children):
        marker = "- " if node.type == "bullet_list" else f"{number + i}{item.markup} "
        first, *rest = _blocks(item.children) or [""]
        loose = any(child.type == "paragraph" and not child.hidden for child in item.children)
        if lines and (loose or (lines[-1].startswith(" " * len(marker)) and _is_nested(node))):
            lines.append("")
        lines.append(f"{marker}{first}".rstrip())
        lines += [f"{' ' * len(marker)}{line}".rstrip() for line in rest]
    return lines


def _is_nested(node: SyntaxTreeNode) -> bool:
    """Whether an item of a list holds more than one paragraph."""
    return any(len(item.children) > 1 for item in node.children)


def _table(node: SyntaxTreeNode) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in node.walk():
        if row.type != "tr":
            continue
        for i, cell in enumerate(row.children):
            text = " ".join(_rst_spans(c.children) for c in cell.children)
            mark = "   * -" if i == 0 else "     -"
            lines.append(f"{mark} {_rst_start(' '.join(text.split()))}".rstrip())
    return lines


def _rst_spans(nodes: Iterable[SyntaxTreeNode]) -> str:
    r"""Return inline Markdown; ``\ `` parts markup from the letters beside it."""
    shown = ""
    after_markup = False
    for node in nodes:
        piece, is_markup = _span(node)
        if not piece:
            continue
        if (is_markup and re.search(r"[^\s'\"(\[{<\-/:]\Z", shown)) or (
            after_markup and re.match(r"[^\s'\")\]}>\-/:.,;!?\\]", piece)
        ):
            piece = f"\\ {piece}"
        shown += piece
        after_markup = is_markup
    return shown


def _span(node: SyntaxTreeNode) -> tuple[str, bool]:
    """Return one piece of inline Markdown, and whether it became markup."""
    if node.type == "code_inline":
        code = rst_code(node.content)
        return code, code.startswith("``")
    if node.type in ("softbreak", "hardbreak"):
        return "\n", False
    if node.type in ("strong", "em", "link"):
        inner = _plain(node)
        if not inner.strip():
            return "", False
        if node.type == "link":
            return f"`{_rst_label(inner)} <{_absolute(str(node.attrs['href']))}>`__", True
        mark = "**" if node.type == "strong" else "*"
        return f"{mark}{_rst_inline(inner.strip())}{mark}", True
    return _rst_inline(_plain(node)), False


def _plain(node: SyntaxTreeNode) -> str:
    """Return inline Markdown without its markup."""
    if node.children:
        return "".join(_plain(child) for child in node.children)
    return " " if node.type in ("softbreak", "hardbreak") else node.content


def _absolute(href: str) -> str:
    """Return where a link leads from the documents of onnx."""
    return urljoin(ONNX_DOCS, href)


def _rst_label(text: str) -> str:
    return re.sub(r"([\\`<>])", r"\\\1", text.strip())
