"""Rows of results: how they are judged, stored and shown."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

FOLDER: Final = Path(__file__).parent / "results"
FAILED: Final = "failed"
logger = logging.getLogger(__name__)


class Row(msgspec.Struct, frozen=True):
    """One figure.

    Attributes:
        id: Of the work: P1, P3, …
        peer: The peer's figure; None where there is no peer.
        ratio: ours / peer.
        bar: The most that `ratio`, or without a peer `ours`, may be; None: shown, not judged.
        ok: Whether the bar holds; None without a bar.
        against: Who the peer is, where it is not the one that the work's bar is about.
        note: What a reader must know of this figure; of a work that failed, why.
    """

    id: str
    figure: str
    ours: float | None = None
    peer: float | None = None
    ratio: float | None = None
    bar: float | None = None
    ok: bool | None = None
    against: str | None = None
    note: str | None = None


class Results(msgspec.Struct, frozen=True):
    """Everything one run found out."""

    machine: dict[str, Any]
    versions: dict[str, str]
    rows: list[Row]


def compared(
    work: str,
    figure: str,
    ours: float,
    peer: float,
    bar: float | None = None,
    *,
    against: str | None = None,
    note: str | None = None,
) -> Row:
    """A figure beside the peer's; `bar` bounds their ratio."""
    ratio = ours / peer if peer else None
    ok = None if bar is None or ratio is None else ratio <= bar
    told = (_round(ours), _round(peer), ratio and _round(ratio))
    return Row(work, figure, *told, bar, ok, against, note)


def alone(
    work: str, figure: str, ours: float, bar: float | None = None, *, note: str | None = None
) -> Row:
    """A figure without a peer; `bar` bounds the figure itself."""
    ok = None if bar is None else ours <= bar
    return Row(work, figure, _round(ours), bar=bar, ok=ok, note=note)


@contextlib.contextmanager
def part(failed: list[Row], work: str, what: str, against: str | None = None) -> Iterator[None]:
    """A part of a run that may fail without taking the others' figures with it.

    Then a row in `failed` says so. `against`: It is a peer that no bar is about, which may not keep
    up with what it is asked for.
    """
    try:
        yield
    except Exception as error:
        logger.exception("%s: %s", work, what)
        reason = " ".join(f"{what}: {str(error) or type(error).__name__}".split())[:200]
        ok = False if against is None else None
        failed.append(Row(work, FAILED, ok=ok, against=against, note=reason))


def _round(number: float) -> float:
    return float(f"{number:.4g}")


def write(results: Results, name: str) -> list[Path]:
    """`<name>.json` and `<name>.md` in the folder of results."""
    FOLDER.mkdir(exist_ok=True)
    as_json = FOLDER / f"{name}.json"
    as_text = FOLDER / f"{name}.md"
    as_json.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=2) + b"\n")
    as_text.write_text(table(results), encoding="utf-8")
    return [as_json, as_text]


def table(results: Results) -> str:
    """The results as Markdown."""
    lines = [
        "# Benchmark results",
        "",
        "Lower is better everywhere. What each row measures: [how to read them](../README.md).",
        "",
        "| work | figure | docactor | peer | ratio | bar | holds | |",
        "|---|---|--:|--:|--:|--:|---|---|",
        *(_line(row) for row in results.rows),
        "",
        "| machine | |",
        "|---|---|",
        *(f"| {key} | {value} |" for key, value in results.machine.items()),
        "",
        "| version | |",
        "|---|---|",
        *(f"| {key} | {value} |" for key, value in results.versions.items()),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    bar = "" if row.bar is None else f"≤ {row.bar:g}" + (" ×" if row.peer is not None else "")
    holds = {None: "", True: "yes", False: "**no**"}[row.ok]
    figures = [_cell(row.ours), _cell(row.peer), _cell(row.ratio)]
    told = "; ".join(
        part for part in (row.against and f"beside {row.against}", row.note) if part is not None
    )
    cells = [row.id, row.figure, *figures, bar, holds, told.replace("|", "\\|")]
    return f"| {' | '.join(cells)} |"


def _cell(number: float | None) -> str:
    return "" if number is None else f"{number:g}"
