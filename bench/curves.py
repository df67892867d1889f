"""Growth curves: what happens as a document, its history, its editors and their number grow.

    python -m bench.curves [--only blocks,history,editors,documents]

draws `results/growth-<curve>.png` and keeps the points in `results/growth.json`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from matplotlib.figure import Figure

from bench import crowds, lengths, machine, results
from bench.processes import end_on_sigterm
from bench.results import Row
from bench.scratch import scratch

Curve = list[tuple[float, float]]
Panels = Mapping[str, Mapping[str, Curve]]  # title -> what is drawn -> points
CURVES: Final[Mapping[str, tuple[str, Callable[[], Panels]]]] = {
    "blocks": ("blocks", lengths.blocks),
    "history": ("updates in the log", lengths.history),
    "editors": ("editors of one document", crowds.editors),
    "documents": ("documents, two editors each", crowds.documents),
}


def draw(name: str, axis_label: str, panels: Panels) -> None:
    """A panel beside the other, both axes logarithmic where the points reach far."""
    figure = Figure(figsize=(5.5 * len(panels), 4.2), layout="constrained")
    for axis, (title, curves) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        for label, curve in curves.items():
            axis.plot(*zip(*curve, strict=True), marker="o", markersize=3, label=label)
        places = [x for curve in curves.values() for x, _ in curve]
        if max(places) > 1_000 * min(places):
            axis.set_xscale("log")
        axis.set(title=title, xlabel=axis_label, ylim=0)
        axis.grid(visible=True, alpha=0.3)
        axis.legend(fontsize="small")
    figure.savefig(results.FOLDER / f"growth-{name}.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.curves", description=__doc__)
    parser.add_argument("--only", help=f"some of {','.join(CURVES)}; the others stay as they are")
    only = parser.parse_args().only
    end_on_sigterm()
    results.FOLDER.mkdir(exist_ok=True)
    kept = results.FOLDER / "growth.json"
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    failed: list[Row] = []
    for name in only.split(",") if only else CURVES:
        began = time.monotonic()
        axis_label, measured = CURVES[name]
        with results.part(failed, name, "curve"), scratch() as folder:
            panels = measured()
            draw(name, axis_label, panels)
            described = machine.describe(folder) | {"commit": machine.versions()["commit"]}
            found[name] = {"machine": described, "x": axis_label, "panels": panels}
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    kept.write_text(json.dumps(found, indent=1) + "\n")
    if failed:
        raise SystemExit("; ".join(f"{row.id}: {row.note}" for row in failed))


if __name__ == "__main__":
    main()
