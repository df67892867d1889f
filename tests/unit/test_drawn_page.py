"""Only what stands between a page's marks is drawn anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.drawn_page import END, redraw, redraw_files

BEGIN = "<!-- drawn from a table -->"


def test_redrawing_leaves_the_rest_of_the_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{BEGIN}\n\nOUTDATED\n\n{END}\n\nBelow.\n")
    monkeypatch.setattr("sys.argv", ["drawing", str(page)])
    redraw_files(BEGIN, "New.")
    assert page.read_text() == f"# Title\n\n{BEGIN}\n\nNew.\n\n{END}\n\nBelow.\n"


@pytest.mark.parametrize("page", ["# Another page\n", f"{END}\n", f"{BEGIN}\n", f"{END} {BEGIN}"])
def test_page_without_marks_is_not_written_over(page: str) -> None:
    with pytest.raises(ValueError, match="no place"):
        redraw(page, BEGIN, "New.")
