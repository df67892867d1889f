"""What a new process does before it is counted as warm: all that a document does, once.

The first load in a process takes three times as long as the next (code is read in, the interpreter
has specialised nothing yet), 20 ms of a document of 1,000 blocks. Here nobody waits for it.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Final

from anyio.from_thread import start_blocking_portal
from pycrdt import Doc, XmlElement, XmlFragment, XmlText
from ray import cloudpickle

from actors.document import collected
from actors.document.document import Document
from actors.document.served_document import DocumentLinks, open_document
from shared.calls import Verb, decode_answer, decode_call, encode_answer, encode_call
from shared.document.live_document import ROOT
from shared.markdown.parse import parse
from shared.protocol import (
    Activated,
    Activation,
    Caller,
    PatchRequest,
    ReadChangesRequest,
    ReadDocumentRequest,
    RouteKey,
)
from shared.wire.y_protocol import EMPTY_STATE_VECTOR

log = logging.getLogger(__name__)

_ACTOR: Final = Caller("server", "rehearsal", scopes=frozenset({"read", "write"}))
_ALL: Final = 100_000
_TYPED: Final = "Twenty keystrokes..."
_PARTS: Final = 12  # of the sample in a document: enough for the interpreter to specialise
_SAMPLE: Final = """\
# A heading

A paragraph with **marks**, `code` and a [link](https://example.org "title").

Another one, as most blocks of most documents are.

- one
- two

1. first
2. second

- [x] done

> A quote

```python
pass
```

| a | b |
|---|---|
| 1 | 2 |
"""


def rehearse() -> None:
    """Runs a small document in a folder that is gone afterwards. A failure is logged, no more."""
    try:
        with tempfile.TemporaryDirectory() as folder, start_blocking_portal() as portal:
            portal.call(_play, Path(folder) / "rehearsal.sqlite3")
    except Exception:
        # A border: the process serves without it, only slower at first.
        log.exception("the rehearsal failed")
    collected.give_back()


async def _play(path: Path) -> None:
    created = await Document.open(path, _key(1), seed=parse(_SAMPLE * _PARTS).blocks)
    await created.close()
    order = Activation(_key(2), str(path))
    sent = cloudpickle.dumps(order)  # type: ignore[no-untyped-call]
    document = await open_document(cloudpickle.loads(sent))
    links = DocumentLinks(_nobody, document, _key(2), "127.0.0.1")
    answer = Activated(*await links.start(), 0)
    cloudpickle.dumps(answer)  # type: ignore[no-untyped-call]
    page = await document.read_document(_ACTOR, ReadDocumentRequest(max_chars=_ALL))
    _type_into(document)
    request = ReadChangesRequest(cursor=page.cursor)
    _, caller, request = decode_call("read_changes", encode_call(_key(2), _ACTOR, request))
    changes = await document.read_changes(caller, request)
    decode_answer("read_changes", encode_answer(changes))
    assert isinstance(page.markdown, str)
    text = page.markdown.replace("as most blocks", "unlike most blocks")
    await document.patch(_ACTOR, PatchRequest(parse(text).blocks))
    await links.stop()
    await document.close()


def _type_into(document: Document) -> None:
    """An editor's keystrokes, each an update of its own."""
    editor: Doc[XmlFragment] = Doc()
    editor.apply_update(document.diff(EMPTY_STATE_VECTOR))
    updates: list[bytes] = []
    editor.observe(lambda event: updates.append(event.update))
    paragraph = editor.get(ROOT, type=XmlFragment).children[1]
    assert isinstance(paragraph, XmlElement)
    text = paragraph.children[0]
    assert isinstance(text, XmlText)
    for letter in _TYPED:
        text += letter
    for update in updates:
        document.apply(update, _ACTOR)


async def _nobody(verb: Verb, _call: bytes) -> bytes:
    raise AssertionError(f"{verb}: nobody calls a rehearsal")


def _key(epoch: int) -> RouteKey:
    return RouteKey("rehearsal", epoch, "rehearsal")
