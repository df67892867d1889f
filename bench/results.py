"""Rows of results: how they are judged, stored and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

FOLDER: Final = Path(__file__).parent / "results"


class Row(msgspec.Struct, frozen=True):
    """One figure.

    Attributes:
        id: Of the work: P1, P3, …
        peer: The peer's figure; None where there is no peer.
        ratio: ours / peer.
        bar: The most that `ratio`, or without a peer `ours`, may be; None: shown, not judged.
        ok: Whether the bar holds; None without a bar.
    """

    id: str
    figure: str
    ours: float
    peer: float | None = None
    ratio: float | None = None
    bar: float | None = None
    ok: bool | None = None


class Results(msgspec.Struct, frozen=True):
    """Everything one run found out."""

    machine: dict[str, Any]
    versions: dict[str, str]
    rows: list[Row]


def compared(work: str, figure: str, ours: float, peer: float, bar: float | None = None) -> Row:
    """A figure beside the peer's; `bar` bounds their ratio."""
    ratio = ours / peer if peer else None
    ok = None if bar is None or ratio is None else ratio <= bar
    return Row(work, figure, _round(ours), _round(peer), ratio and _round(ratio), bar, ok)


def alone(work: str, figure: str, ours: float, bar: float | None = None) -> Row:
    """A figure without a peer; `bar` bounds the figure itself."""
    return Row(work, figure, _round(ours), bar=bar, ok=None if bar is None else ours <= bar)


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
        "| work | figure | docactor | peer | ratio | bar | holds |",
        "|---|---|--:|--:|--:|--:|---|",
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
    cells = [row.id, row.figure, _cell(row.ours), _cell(row.peer), _cell(row.ratio), bar, holds]
    return f"| {' | '.join(cells)} |"


def _cell(number: float | None) -> str:
    return "" if number is None else f"{number:g}"
