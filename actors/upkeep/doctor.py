"""The whole data folder of a stopped server: every document and the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from actors.storage.document_files import DocumentFiles
from actors.upkeep.catalog_repair import CatalogDoctor
from actors.upkeep.repair import check_file, repair_file
from shared.checkup import Checkup, Problem, Repaired

Found = tuple[Checkup, Repaired | None]


class Doctor:
    """Checks, and with `repair` mends, what is in a folder. Call it where no server runs."""

    def __init__(self, data: Path, *, repair: bool = False) -> None:
        self._files = DocumentFiles(data)
        self._catalog = CatalogDoctor(data)
        self._repair = repair

    @property
    def total(self) -> int:
        """How many results `run` gives."""
        return len(self._files.stored()) + 1

    def run(self, now: int) -> Iterator[Found]:
        """Documents first: the catalog is put together from them. Each with its repair, if any."""
        for doc_id in sorted(self._files.stored()):
            path = Path(self._files.path(doc_id))
            found = check_file(path)
            yield found, self._mended(path, found, now)
        found = self._catalog.check()
        repaired = self._catalog.repair(found, now) if self._repair and found.problems else None
        yield found, repaired

    def _mended(self, path: Path, found: Checkup, now: int) -> Repaired | None:
        if not self._repair or not found.problems:
            return None
        try:
            return repair_file(path, found, now)
        except OSError as error:
            problem = Problem("unreadable", f"It cannot be repaired here: {error}.")
            return Repaired(found.doc_id, left=(*found.problems, problem))
