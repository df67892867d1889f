"""A router over documents in memory: lists of texts, good enough for what the gateway does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import anyio
import msgspec
from msgspec import UNSET

from gateway.admissions import ANYBODY, refusal
from gateway.ports import Admission
from shared.access import with_role
from shared.budget import Allowance
from shared.directory_protocol import (
    AuditRow,
    Created,
    DirectoryStatus,
    DocumentRow,
    DocumentRows,
    News,
    NewToken,
    NodeStatus,
    TokenRow,
)
from shared.errors import DocumentNotFound, InvalidArgument
from shared.expiry import expiry
from shared.feed.cursor import Cursor, CursorCodec
from shared.ids import ALPHABET, anchor, mint_block_id, mint_doc_id
from shared.metrics import DirectoryMetrics, GatewayReport
from shared.protocol import (
    AnchorOnly,
    BlockText,
    Caller,
    ChangedBlock,
    CommitTotals,
    DeleteRequest,
    FidelityNote,
    InsertRequest,
    LinkRole,
    MoveRequest,
    PatchRequest,
    ReadChangesRequest,
    ReadChangesResult,
    ReadDocumentRequest,
    ReadDocumentResult,
    Remaining,
    ReplaceRequest,
    ReplaceTextRequest,
    Role,
    WriteResult,
    WrittenBlock,
)
from shared.protocol_history import RestoreRequest, RestoreResult
from shared.slugs import slugify
from shared.tokens import hash_token
from shared.tree import Block
from tests.unit.gateway.fake_chats import FakeChats
from tests.unit.gateway.fake_link import FakeLink
from tests.unit.gateway.fake_past import NOW, FakePast
from tests.unit.gateway.fake_suggestions import FakeSuggestions

WRITER = Caller("agent:1", "Writer", "person:1", True, frozenset({"read", "write"}))
READER = Caller("agent:2", "Reader", "person:1", True, frozenset({"read"}))
OWNER = Caller("person:1", "Ana", None, False, frozenset({"read", "write", "admin"}))
TOKENS = {"writer-token": WRITER, "reader-token": READER, "owner-token": OWNER}


class FakeDocument(FakeChats, FakePast, FakeSuggestions):
    """Blocks as (id, text) in order, and a log of changes."""

    def __init__(self, row: DocumentRow, blocks: tuple[Block, ...], choose: Any) -> None:
        super().__init__()
        FakeSuggestions.__init__(self)
        self.row = row
        self.choose = choose
        self.link = FakeLink()
        self.codec = CursorCodec(row.doc_id.encode().ljust(16))
        self.log: list[tuple[str, str, str]] = []  # block id, kind, principal
        self.order: list[str] = []
        self.texts: dict[str, str] = {}
        for block in blocks:
            self._add(len(self.order), block.source)

    def cursor(self) -> int:
        return self.codec.encode(Cursor(len(self.log)))

    def anchors(self) -> list[str]:
        return [anchor(block_id, self.texts[block_id]) for block_id in self.order]

    def _add(self, at: int, text: str) -> str:
        block_id = mint_block_id(self.choose, self.texts)
        self.order.insert(at, block_id)
        self.texts[block_id] = text
        return block_id

    def record(self, block_id: str, kind: str, principal: str) -> None:
        self.log.append((block_id, kind, principal))

    def read_document(self, _caller: Caller, request: ReadDocumentRequest) -> ReadDocumentResult:
        pairs = [(anchor(i, self.texts[i]), self.texts[i]) for i in self.order]
        parts = [f"[{a}]\n{t}" for a, t in pairs] if request.format == "anchored" else self.order
        if request.format == "markdown":
            parts = [text for _, text in pairs]
        blocks = tuple(BlockText(a, t) for a, t in pairs)
        return ReadDocumentResult(
            title=self.row.title,
            cursor=self.cursor(),
            total_chars=sum(len(text) for _, text in pairs),
            truncated=False,
            markdown=UNSET if request.format == "blocks" else "\n\n".join(parts) + "\n",
            blocks=blocks if request.format == "blocks" else UNSET,
            fidelity=self._placeholders() or UNSET,
        )

    def _placeholders(self) -> tuple[FidelityNote, ...]:
        shown = (i for i in self.order if self.texts[i].startswith("<!-- opaque:"))
        return tuple(FidelityNote(i, "callout: shown as a placeholder") for i in shown)

    def read_changes(self, caller: Caller, request: ReadChangesRequest) -> ReadChangesResult:
        if request.cursor is None:
            return ReadChangesResult((), (), self.cursor(), True, False, "no_cursor", "Read once.")
        since = self.codec.decode(request.cursor, len(self.log)).seq
        authors: dict[str, list[str]] = {}
        for block_id, _, principal in self.log[since:]:
            authors.setdefault(block_id, []).append(principal)
        if request.exclude_self:
            authors = {b: who for b, who in authors.items() if set(who) != {caller.principal}}
        changed = tuple(
            ChangedBlock(
                anchor=anchor(block_id, self.texts[block_id]),
                text=self.texts[block_id],
                change="changed",
                after=self.order[at - 1] if at else None,
                by=tuple(dict.fromkeys(authors[block_id])),
            )
            for at, block_id in enumerate(self.order)
            if block_id in authors
        )
        removed = tuple(block_id for block_id in authors if block_id not in self.texts)
        return ReadChangesResult(changed, removed, self.cursor(), False, False)

    def restore(self, caller: Caller, _request: RestoreRequest) -> RestoreResult:
        told = msgspec.structs.asdict(self._written(caller, []))
        return RestoreResult(**told, version="v3", undo="v2")

    def insert(self, caller: Caller, request: InsertRequest) -> WriteResult:
        at = len(self.order) if request.after == "end" else 0
        if not isinstance(request.after, str):
            at = self.order.index(request.after.block_id) + 1
        made = []
        for offset, block in enumerate(request.blocks):
            made.append(self._add(at + offset, block.source))
            self.record(made[-1], "added", caller.principal)
        return self._written(caller, made, inserted=len(made))

    def patch(self, caller: Caller, request: PatchRequest) -> WriteResult:
        gone, self.order = self.order, []
        for block_id in gone:
            del self.texts[block_id]
            self.record(block_id, "removed", caller.principal)
        return self.insert(caller, InsertRequest(request.blocks))

    def replace(self, caller: Caller, request: ReplaceRequest) -> WriteResult:
        block_id = request.start.block_id
        self.texts[block_id] = request.blocks[0].source
        self.record(block_id, "changed", caller.principal)
        return self._written(caller, [block_id], replaced=1)

    def delete(self, caller: Caller, request: DeleteRequest) -> WriteResult:
        gone = [ref.block_id for ref in request.blocks]
        for block_id in gone:
            self.order.remove(block_id)
            del self.texts[block_id]
            self.record(block_id, "removed", caller.principal)
        return self._written(caller, [], deleted=len(gone), removed=tuple(gone))

    def move(self, caller: Caller, request: MoveRequest) -> WriteResult:
        block_id = request.block.block_id
        self.order.remove(block_id)
        at = len(self.order) if request.after == "end" else 0
        if not isinstance(request.after, str):
            at = self.order.index(request.after.block_id) + 1
        self.order.insert(at, block_id)
        self.record(block_id, "moved", caller.principal)
        return self._written(caller, [block_id], moved=1)

    def replace_text(self, caller: Caller, request: ReplaceTextRequest) -> WriteResult:
        written = []
        for edit in request.edits:
            block_id = next(i for i, text in self.texts.items() if edit.old_text in text)
            self.texts[block_id] = self.texts[block_id].replace(edit.old_text, edit.new_text)
            self.record(block_id, "changed", caller.principal)
            written.append(block_id)
        return self._written(caller, written, replaced=len(written))

    def _written(
        self,
        caller: Caller,
        ids: list[str],
        removed: tuple[str, ...] = (),
        **counts: int,
    ) -> WriteResult:
        self.link.notify(len(self.log), caller.principal)
        blocks = tuple(
            WrittenBlock(
                anchor(block_id, self.texts[block_id]),
                self.order[self.order.index(block_id) - 1] if block_id != self.order[0] else None,
            )
            for block_id in ids
        )
        return WriteResult(
            ok=True,
            replaced=counts.get("replaced", 0),
            inserted=counts.get("inserted", 0),
            deleted=counts.get("deleted", 0),
            moved=counts.get("moved", 0),
            charged=sum(len(self.texts[block_id]) for block_id in ids),
            blocks=blocks,
            removed=removed,
            kept=(),
            conflicts=(),
            cursor=self.cursor(),
            behind=False,
            remaining=Remaining(99, 9999),
        )


class FakeRouter:
    """Documents in memory behind the router's three methods.

    Fault switches: `failure` is raised by every call; `answers` gives a verb's or a Directory
    method's result without asking any document. `requests` keeps what was asked.
    """

    def __init__(self, choose: Callable[[str], str]) -> None:
        self.choose = choose
        self.documents: dict[str, FakeDocument] = {}
        self.deleted: dict[str, FakeDocument] = {}
        self.drained: set[str] = set()
        self.gateways: dict[str, GatewayReport] = {}
        self.failure: BaseException | None = None
        self.answers: dict[str, Any] = {}
        self.requests: list[tuple[str, Caller, Any]] = []
        self.tokens = {hash_token(token): caller for token, caller in TOKENS.items()}
        self.rows: list[TokenRow] = []
        self.revoked: set[str] = set()
        self.roles: dict[str, Role | None] = {}  # by principal; of others: owner
        self.link_role: LinkRole | None = None  # of every document
        self.changed: list[tuple[int, str]] = []  # documents whose roles changed, by notice
        self.audit: list[AuditRow] = []
        self.asked_tokens = 0
        self.left: dict[str, dict[str, int]] = {}  # by person: when they last left which document
        self.asleep: dict[str, int] = {}  # epochs of documents that sleep
        self.notice = 0
        self._risen = anyio.Event()

    def document(self, ref: str) -> FakeDocument:
        for found in self.documents.values():
            if ref in (found.row.doc_id, found.row.slug):
                return found
        raise DocumentNotFound.for_document(ref)

    async def call(self, ref: str, verb: str, caller: Caller, request: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        if self.failure is not None:
            raise self.failure
        self.requests.append((verb, caller, request))
        if verb in self.answers:
            return self.answers[verb]
        admitted = (await self.admit(ref, caller)).caller
        return getattr(self.document(ref), verb)(admitted, request)

    async def call_admitted(self, admission: Admission, verb: str, request: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        self.requests.append((verb, admission.caller, request))
        return getattr(self.document(admission.doc_id), verb)(admission.caller, request)

    async def admit(self, ref: str, caller: Caller) -> Admission:
        await anyio.lowlevel.checkpoint()
        (found,) = self._admitted([(ref, caller)])
        if found is None:
            raise refusal(ref, caller)
        return Admission(self.document(ref).row.doc_id, found)

    async def admit_again(self, asked: Sequence[tuple[str, Caller]]) -> list[Caller | None]:
        await anyio.lowlevel.checkpoint()
        return self._admitted(asked)

    def forget_roles(self, documents: Collection[str] | None, keep_s: float) -> None:
        """It remembers none."""

    def _admitted(self, asked: Sequence[tuple[str, Caller]]) -> list[Caller | None]:
        found: list[Caller | None] = []
        for ref, caller in asked:
            there = [d for d in self.documents.values() if ref in (d.row.doc_id, d.row.slug)]
            stranger = caller.principal == ANYBODY.principal
            role = self.roles.get(caller.principal, None if stranger else "owner")
            mine = caller.documents is None or any(d.row.doc_id in caller.documents for d in there)
            nobody = not mine or (role is None and self.link_role is None)
            found.append(None if not there or nobody else with_role(caller, role, self.link_role))
        return found

    def recast(self, principal: str, role: Role | None, doc_id: str) -> None:
        """Give a role on everything, and tell every gateway that it changed on one document."""
        self.roles[principal] = role
        self._notify(doc_id)

    async def sleeps(self, doc_id: str) -> int:
        await anyio.lowlevel.checkpoint()
        return self.asleep.get(doc_id, 0)

    async def link(self, ref: str) -> FakeLink:
        await anyio.lowlevel.checkpoint()
        return self.document(ref).link

    async def directory(self, method: str, *args: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        if method == "wait_for_notice":
            return await self._wait_for_notice(*args)
        if method == "authenticate":
            self.asked_tokens += 1
            return self.tokens.get(args[0])
        if self.failure is not None:
            raise self.failure
        if method in self.answers:
            return self.answers[method]
        return getattr(self, f"_{method}")(*args)

    def revoke(self, token: str) -> None:
        """Take a token away and tell every gateway."""
        self.revoked.add(self.tokens.pop(hash_token(token)).token)
        self._notify()

    def _notify(self, doc_id: str = "") -> None:
        self.notice += 1
        self.changed.append((self.notice, doc_id))
        self._risen.set()
        self._risen = anyio.Event()

    async def _wait_for_notice(self, seen: int, seconds: float) -> News:
        if self.failure is not None:
            raise self.failure
        if seen == self.notice:
            with anyio.move_on_after(seconds):
                await self._risen.wait()
        new = {doc_id for number, doc_id in self.changed if number > seen}
        if seen < 0:
            return News(self.notice, None, tokens=True)
        return News(self.notice, frozenset(new - {""}), tokens="" in new)

    def _create_document(
        self,
        caller: Caller,
        title: str | None,
        slug: str | None,
        blocks: tuple[Block, ...],
        _key: str | None,
        expires: str | None = None,
    ) -> Created:
        doc_id = mint_doc_id(self.choose)
        name = title or (blocks[0].source.lstrip("# ") if blocks else "Untitled")
        expires_at = None if expires is None else expiry(expires, NOW)
        row = DocumentRow(
            *(doc_id, slug or slugify(name), name, "ready", 0, NOW),
            *(caller.principal, expires_at),
        )
        made = FakeDocument(row, blocks, self.choose)
        self.documents[doc_id] = made
        anchors = tuple(AnchorOnly(each) for each in made.anchors())
        return Created(doc_id, row.slug, name, made.cursor(), anchors, expires_at)

    def _delete_document(self, caller: Caller, ref: str) -> DocumentRow:
        found = self.document(ref)
        self.audit.append(AuditRow(NOW, caller.principal, "document.delete", found.row.doc_id))
        del self.documents[found.row.doc_id]
        found.row = msgspec.structs.replace(found.row, state="deleted", deleted_at=NOW)
        self.deleted[found.row.doc_id] = found
        return found.row

    def _undelete_document(self, caller: Caller, ref: str) -> DocumentRow:
        self.audit.append(AuditRow(NOW, caller.principal, "document.undelete", ref))
        for doc_id, found in self.deleted.items():
            if ref in (doc_id, found.row.slug):
                found.row = msgspec.structs.replace(found.row, state="ready", deleted_at=None)
                self.documents[doc_id] = self.deleted.pop(doc_id)
                return found.row
        raise DocumentNotFound.for_document(ref)

    def _drain_node(self, node: str, force: bool) -> NodeStatus:
        if not force:
            raise InvalidArgument("node: no other node takes documents.")
        self.drained.add(node)
        return NodeStatus(node, 0, 0, 0, 9, draining=True)

    def _undrain_node(self, node: str) -> NodeStatus:
        self.drained.remove(node)
        return NodeStatus(node, 0, 0, 0, 9)

    def _list_documents(
        self, _caller: Caller, query: str, limit: int, before: str | None, deleted: bool = False
    ) -> DocumentRows:
        documents = self.deleted if deleted else self.documents
        rows = tuple(d.row for d in documents.values() if query in d.row.title)
        start = int(before or 0)
        more = str(start + limit) if len(rows) > start + limit else None
        return DocumentRows(rows[start : start + limit], more)

    def _describe(self, ref: str) -> DocumentRow:
        return self.document(ref).row

    def _last_left(self, person: str) -> dict[str, int]:
        return dict(self.left.get(person, {}))

    def _metrics(self) -> DirectoryMetrics:
        return DirectoryMetrics(
            documents={"ready": len(self.documents), "deleted": len(self.deleted)},
            active={"degraded": 1},
            opening=0,
            sessions=4,
            activations=7,
            takeovers=1,
            failures=2,
            lost=3,
            evictions=5,
            hibernations=8,
            wakes=9,
            recycled=6,
            commits=CommitTotals(3, 1, 999, 0.25, (2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0)),
            nodes=(NodeStatus("n1", 4, 1, 2, 100, draining=True),),
            gateways=tuple(self.gateways.values()),
        )

    def _report_gateway(self, report: GatewayReport) -> None:
        self.gateways[report.gateway_id] = report

    def _status(self) -> DirectoryStatus:
        return DirectoryStatus(True, False, len(self.documents), 0, ())

    def _create_token(
        self,
        owner: str,
        name: str,
        scopes: frozenset[Any],
        agent: bool,
        expires: int | str | None,
        allowance: Allowance,
        documents: frozenset[str] | None,
        by: str,
    ) -> NewToken:
        token = "".join(self.choose(ALPHABET) for _ in range(20))
        token_id = f"t{len(self.rows) + 1}"
        at = expiry(expires, NOW) if isinstance(expires, str) else expires
        caller = Caller(
            *(f"agent:{name}", name, owner, agent, scopes, allowance, documents, token_id, at)
        )
        self.tokens[hash_token(token)] = caller
        row = TokenRow(
            *(token_id, name, owner, caller.principal, agent, scopes, 0, at, None, None),
            allowance,
            documents,
        )
        self.rows.append(row)
        self.audit.append(AuditRow(NOW, by, "token.create", token_id))
        return NewToken(token, row)

    def _list_tokens(self) -> tuple[TokenRow, ...]:
        return tuple(self.rows)

    def _revoke_token(self, token_id: str, by: str) -> None:
        for at, row in enumerate(self.rows):
            if row.id == token_id and row.revoked is None:
                self.rows[at] = msgspec.structs.replace(row, revoked=NOW)
                self.audit.append(AuditRow(NOW, by, "token.revoke", token_id))
                gone = {key for key, caller in self.tokens.items() if caller.token == token_id}
                self.tokens = {k: caller for k, caller in self.tokens.items() if k not in gone}
                self._notify()
                return
        raise InvalidArgument(f"id: no valid token {token_id!r}.")

    def _invalid_tokens(self, ids: frozenset[str]) -> frozenset[str]:
        lately = {row.id for row in self.rows if row.revoked} | self.revoked
        return ids - {caller.token for caller in self.tokens.values()} | lately

    def _audit(self, limit: int) -> tuple[AuditRow, ...]:
        return tuple(self.audit[::-1][:limit])

    def _resolve(self, ref: str) -> str:
        return self.document(ref).row.doc_id
