"""The verbs of chats and quoted comments: told when they are on disk, and once under their key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from actors.document.keeper import Clock, Keeper
from actors.storage.idempotency import Once, Slot, slot_of
from shared.discussion.threads import Said, message_text
from shared.document import discussing
from shared.document.live_document import LiveDocument
from shared.protocol import Caller
from shared.protocol_chat import (
    ChangedMessage,
    DeleteMessageRequest,
    EditMessageRequest,
    ListChatsRequest,
    ListChatsResult,
    PostChatMessageRequest,
    PostedMessage,
    ReadChatRequest,
    ReadChatResult,
    ReplyRequest,
    ResolvedThread,
    ResolveThreadRequest,
)
from shared.stored import StoredAnswer
from shared.stored_annotations import Annotations


class DiscussionVerbs(ABC):
    """Who may is decided where the document is called from (`shared.access`)."""

    _keeper: Keeper
    _clock: Clock
    _once: Once

    @abstractmethod
    async def _read_spent(self, verb: str, caller: Caller) -> None:
        """Waits until the document is there and takes a read off the caller's budget."""

    @abstractmethod
    def _on_disk(self) -> AbstractAsyncContextManager[None]:
        """What is computed or refused inside is told once all that it saw is on disk."""

    async def list_chats(self, caller: Caller, _request: ListChatsRequest) -> ListChatsResult:
        await self._read_spent("list_chats", caller)
        async with self._on_disk():
            return discussing.list_chats(self._keeper.live)

    async def read_chat(self, caller: Caller, request: ReadChatRequest) -> ReadChatResult:
        await self._read_spent("read_chat", caller)
        async with self._on_disk():
            return discussing.read_chat(self._keeper.live, request)

    async def post_chat_message(
        self, caller: Caller, request: PostChatMessageRequest
    ) -> PostedMessage:
        def act(live: LiveDocument, now: int) -> Said:
            return discussing.post(live, caller, request, now)

        chars = len(request.text) + len(request.quote or "")
        return await self._posted("post_chat_message", caller, request, chars, act)

    async def reply(self, caller: Caller, request: ReplyRequest) -> PostedMessage:
        def act(live: LiveDocument, now: int) -> Said:
            text = message_text(caller, request.text)
            return live.discussion.reply(caller, request.thread_id, text, now)

        return await self._posted("reply", caller, request, len(request.text), act)

    async def edit_message(self, caller: Caller, request: EditMessageRequest) -> ChangedMessage:
        async with self._on_disk():
            live, now = await self._ready()
            self._check_budget(live, caller, len(request.text), now)
            text = message_text(caller, request.text)
            said = live.discussion.edit(caller, request.message_id, text, now)
            self._keep_rows(live, caller, said.rows, len(request.text), now)
            return discussing.rewritten(said)

    async def delete_message(self, caller: Caller, request: DeleteMessageRequest) -> ChangedMessage:
        async with self._on_disk():
            live, now = await self._ready()
            self._check_budget(live, caller, 0, now)
            said = live.discussion.delete(caller, request.message_id)
            self._keep_rows(live, caller, said.rows, 0, now)
            return discussing.rewritten(said)

    async def resolve_thread(self, caller: Caller, request: ResolveThreadRequest) -> ResolvedThread:
        async with self._on_disk():
            live, now = await self._ready()
            self._check_budget(live, caller, 0, now)
            thread, rows = live.discussion.resolve(
                caller, request.thread_id, resolved=request.resolved
            )
            self._keep_rows(live, caller, rows, 0, now)
            return ResolvedThread(thread.thread_id, thread.resolved)

    # --- inside ----------------------------------------------------------------------------------

    async def _posted(
        self,
        verb: str,
        caller: Caller,
        request: PostChatMessageRequest | ReplyRequest,
        chars: int,
        act: Callable[[LiveDocument, int], Said],
    ) -> PostedMessage:
        async def do(slot: Slot | None) -> PostedMessage:
            async with self._on_disk():
                live, now = await self._ready()
                self._check_budget(live, caller, chars, now)
                said = act(live, now)
                result = discussing.posted(live, said)
                self._keep_rows(live, caller, said.rows, chars, now)
                if slot is not None:
                    self._keeper.committer.add_answer(slot.answer(result, now))
                return result

        slot = slot_of(verb, caller, request, request.idempotency_key)
        if slot is None:
            return await do(None)
        return await self._once.run(slot, self._answer_of, lambda: do(slot))

    async def _answer_of(self, slot: Slot) -> StoredAnswer | None:
        return await self._keeper.ask_store(
            lambda store: store.answer(slot.principal, slot.verb, slot.key)
        )

    async def _ready(self) -> tuple[LiveDocument, int]:
        """The document to change, and the time. What follows may not await anything."""
        await self._keeper.when_ready()
        return self._keeper.writable, self._clock()

    def _check_budget(self, live: LiveDocument, caller: Caller, chars: int, now: int) -> None:
        live.budgets.check_write(caller.principal, caller.allowance, chars, now)

    def _keep_rows(
        self, live: LiveDocument, caller: Caller, rows: Annotations, chars: int, now: int
    ) -> None:
        """Puts an act into the batch that gathers; nothing for one that changed nothing."""
        if not rows:
            return
        who = caller.principal
        live.budgets.spend_write(who, chars, now)
        self._keeper.annotate(rows)
        if live.names.get(who) != caller.name:
            live.names[who] = caller.name
            self._keeper.committer.add_name(who, caller.name)
        self._keeper.gather_person(caller)
        self._keeper.committer.add_budgets(live.budgets.save(who, now))
