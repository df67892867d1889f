"""Which column of a table is which when it is edited: cells belong to columns, not to their words.

Somebody who puts a column between two others changes every row; what each cell has beside its text,
a width, a colour, must stay with its column, also where the cell is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.yjs.edit_side import Side
from shared.yjs.pairing import Child, Layout, lay_out

Row = Sequence[Side]


def column_layout(rows: Layout, old: Sequence[Side], new: Sequence[Side]) -> Layout | None:
    """How the cells of every row that is edited are laid out.

    Args:
        rows: Of the table's rows.
        old: The rows as they were.
        new: The rows as they will be.

    Returns:
        None when cells span columns or rows, or rows differ in length: then each row has its own.
    """
    partners = [*rows.pairs, *((i, j) for j, i in rows.sources.items())]
    both = [(i, j) for i, j in partners if i is not None and j is not None]
    edited = [(i, j) for i, j in both if old[i].form != new[j].form]
    if not edited:
        return None
    were, will = [row.children() for row in old], [row.children() for row in new]
    if not (_is_plain(were) and _is_plain(will)):
        return None
    width = len(were[0])
    if width == len(will[0]) and any(
        _tells_columns(were[i]) for i, j in both if old[i].form == new[j].form
    ):
        return Layout([(column, column) for column in range(width)], {})
    columns = _columns([were[i] for i, _ in edited]), _columns([will[j] for _, j in edited])
    return lay_out(*columns)


def by_kind(layout: Layout, old: Row, new: Row) -> Layout:
    """The layout for one row: a cell that becomes a header is another element."""
    pairs = list(layout.pairs)
    sources = dict(layout.sources)
    for i, j in layout.pairs:
        if i is not None and j is not None and old[i].node.type != new[j].node.type:
            at = pairs.index((i, j))
            pairs[at : at + 1] = [(i, None), (None, j)]
            sources[j] = i
    return Layout(pairs, sources)


def _is_plain(rows: Sequence[Row]) -> bool:
    width = len(rows[0]) if rows else 0
    return all(
        len(row) == width
        and not any("colspan" in cell.form.attrs or "rowspan" in cell.form.attrs for cell in row)
        for row in rows
    )


def _tells_columns(row: Row) -> bool:
    """Whether a row that is as it was shows that no column has moved: its cells differ."""
    return any(cell.form != row[0].form for cell in row)


def _columns(rows: Sequence[Row]) -> list[Child]:
    """Each column as one child."""
    columns = []
    for cells in zip(*rows, strict=True):
        children = [cell.child() for cell in cells]
        key = tuple(child.key for child in children)
        text = "\n".join(child.text for child in children)
        columns.append(Child(key=key, kind="column", text=text, family="column"))
    return columns
