"""Backup and check of a running server, document by document, while everybody goes on."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import msgspec

from actors.upkeep.backup import (
    CATALOG_FILE,
    FORMAT,
    Manifest,
    document_file,
    new_folder,
    write_manifest,
)
from gateway.ports import RouterPort
from shared.checkup import BackUpRequest, CatalogCopy, CheckRequest, Checkup, Copied, Problem
from shared.errors import (
    DocactorError,
    DocumentCorrupt,
    DocumentNotFound,
    StorageUnavailable,
)
from shared.protocol import Caller

IN_THE_WAY: Final = (DocumentCorrupt, StorageUnavailable)  # one document's trouble, not ours


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of progress. The last one of a backup has `manifest`, each of a check a `checkup`."""

    done: int
    total: int
    checkup: Checkup | None = None
    manifest: Manifest | None = None


async def back_up(router: RouterPort, caller: Caller, folder: Path) -> AsyncIterator[Step]:
    """Copies every document and then the catalog to `folder`, which nodes and gateway share.

    A document created meanwhile is copied after the catalog: no row of the copy is without its
    file. What cannot be copied is named in the manifest.

    Raises InvalidArgument, StorageUnavailable.
    """
    try:
        await anyio.to_thread.run_sync(new_folder, folder)
    except OSError as error:
        raise StorageUnavailable(f"The folder cannot be used: {error}.") from error
    files: dict[str, Copied] = {}
    missing: dict[str, str] = {}
    made_at = time.time_ns() // 1_000_000
    ids: tuple[str, ...] = await router.directory("document_ids")
    for number, doc_id in enumerate(ids):
        yield Step(number, len(ids) + 1)
        await _copy(router, caller, folder, doc_id, files, missing)
    yield Step(len(ids), len(ids) + 1)
    copy: CatalogCopy = await router.directory("back_up_catalog", str(folder / CATALOG_FILE))
    files[CATALOG_FILE] = copy.copied
    for doc_id in copy.ready:
        if document_file(doc_id) not in files and doc_id not in missing:
            await _copy(router, caller, folder, doc_id, files, missing)
    manifest = Manifest(FORMAT, made_at, files, missing)
    try:
        await anyio.to_thread.run_sync(partial(write_manifest, folder, manifest))
    except OSError as error:
        raise StorageUnavailable(f"The backup cannot be finished: {error}.") from error
    yield Step(len(ids) + 1, len(ids) + 1, manifest=manifest)


async def check_all(router: RouterPort, caller: Caller) -> AsyncIterator[Step]:
    """Checks every document in its actor, then the catalog."""
    ids: tuple[str, ...] = await router.directory("document_ids")
    for number, doc_id in enumerate(ids, start=1):
        found = await _check(router, caller, doc_id)
        yield Step(number, len(ids) + 1, checkup=found)
    catalog: Checkup = await router.directory("check_catalog")
    yield Step(len(ids) + 1, len(ids) + 1, checkup=catalog)


async def _copy(
    router: RouterPort,
    caller: Caller,
    folder: Path,
    doc_id: str,
    files: dict[str, Copied],
    missing: dict[str, str],
) -> None:
    name = document_file(doc_id)
    try:
        request = BackUpRequest(str(folder / name))
        files[name] = await router.call(doc_id, "back_up", caller, request)
    except DocumentNotFound:
        return  # deleted since it was listed
    except IN_THE_WAY as error:
        missing[doc_id] = error.message


async def _check(router: RouterPort, caller: Caller, doc_id: str) -> Checkup:
    try:
        found: Checkup = await router.call(doc_id, "check", caller, CheckRequest(doc_id))
    except DocumentNotFound:
        return Checkup(doc_id)
    except DocactorError as error:
        return Checkup(doc_id, (Problem("unreadable", error.message),))
    return found
