"""A new process goes through a document's life once before it is counted as warm."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import pytest

from actors.document import rehearsal
from actors.document.document import Document


def test_rehearsal_succeeds_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with caplog.at_level(logging.WARNING):
        rehearsal.rehearse()
    assert caplog.records == []
    assert list(tmp_path.iterdir()) == []


def test_process_serves_even_when_it_cannot_rehearse(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def no_disk(*_args: object, **_kwargs: object) -> Document:
        raise OSError("no space left")

    monkeypatch.setattr(Document, "open", no_disk)
    rehearsal.rehearse()
    assert "the rehearsal failed" in caplog.text
