"""Tables to Markdown: GFM where it can say them, else HTML."""

from __future__ import annotations

from shared.markdown.build import NO_HEADER
from shared.markdown.html_writer import html_lines
from shared.markdown.layout import items
from shared.markdown.render_inline import render_cell
from shared.tree import Node

_RULES = {"left": ":--", "center": ":-:", "right": "--:", "": "---"}


def table_lines(node: Node) -> list[str]:
    """The lines of a canonical table."""
    rows = [items(row) for row in items(node)]
    columns = _alignments(rows)
    if not columns or not _is_gfm(rows):
        return html_lines(node)
    header = rows[0][0].type == "tableHeader"
    lines = [_row([_cell(cell) for cell in row]) for row in rows]
    rule = _row([_RULES[align] for align in columns])
    if header:
        return [lines[0], rule, *lines[1:]]
    return [NO_HEADER, _row([""] * len(columns)), rule, *lines]


def _alignments(rows: list[tuple[Node, ...]]) -> list[str]:
    """The alignment of each column; none when rows differ in length or cells in alignment."""
    if not rows or len({len(row) for row in rows}) != 1:
        return []
    columns = [
        {cell.attrs.get("align", "") for cell in column} for column in zip(*rows, strict=True)
    ]
    return [column.pop() for column in columns] if all(len(c) == 1 for c in columns) else []


def _is_gfm(rows: list[tuple[Node, ...]]) -> bool:
    """Whether header cells fill the first row or nothing, and cells hold only paragraphs."""
    kinds = {cell.type for cell in rows[0]}
    cells = [cell for row in rows for cell in row]
    return (
        len(kinds) == 1
        and all(cell.type == "tableCell" for row in rows[1:] for cell in row)
        and not any("colspan" in cell.attrs or "rowspan" in cell.attrs for cell in cells)
        and all(block.type == "paragraph" for cell in cells for block in items(cell))
    )


def _cell(cell: Node) -> str:
    return render_cell([block.content for block in items(cell)]).replace("|", "\\|")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |" if any(cells) else "|" + "  |" * len(cells)
