"""Which block of the new text is which block of the document.

Rounds, from certain to likely, each over what the rounds before left open: named by an anchor; the
text its author was shown; the text as it is now; a text shown earlier; likeness between neighbours
that stayed; place between neighbours that stayed. A block that was not seen takes part in the
round of its present text only.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final

import msgspec

from shared.block_diff import (
    between,
    by_place,
    common,
    heaviest_chain,
    likeness,
    similar,
    unique_on_both,
)
from shared.ids import parse_ref
from shared.patch_types import NewBlock, Present, Seen, SeenBlock, same

DISTINCT_CHARS: Final = 12  # a shorter text (a rule, an empty paragraph) says little about identity
GONE_SIMILAR: Final = 60.0  # likeness to a block that is gone, before a new one counts as its edit
DOUBLED: Final = 75.0  # likeness to an unseen block, before a new one is taken for its edit
_HEAVY: Final = 1_000_000.0  # what must not move outweighs everything that may


class Known(msgspec.Struct):
    """A block that is in the document or was when its author looked.

    Attributes:
        seen: None when it may not be deleted or replaced.
        now: None when it is gone.
        inside: Now in the part of the document the new text is about.
        foreign: Neither there now nor when its author looked; named all the same, so it goes there.
        named: Its author named it by an anchor, so there is no doubt which state is meant.
        trailing: An empty paragraph at the end, which no reader is shown.
    """

    block_id: str
    seen: SeenBlock | None
    now: Present | None
    inside: bool
    foreign: bool = False
    named: bool = False
    trailing: bool = False


class Match(msgspec.Struct):
    """Pairs of positions in `base` and `new`.

    Attributes:
        stable: The pairs that keep their order; the others have moved.
        doubtful: New blocks that read like the edit of a block nobody showed their author.
    """

    base: list[Known]
    new: Sequence[NewBlock]
    old_of: dict[int, int] = {}
    new_of: dict[int, int] = {}
    stable: list[tuple[int, int]] = []
    doubtful: dict[int, int] = {}

    def link(self, old: int, new: int) -> None:
        self.old_of[new] = old
        self.new_of[old] = new

    def unmatched(self) -> list[int]:
        """New blocks without a counterpart."""
        return [j for j in range(len(self.new)) if j not in self.old_of]


def match(
    base: list[Known], new: Sequence[NewBlock], seen: Seen, pinned: Container[str] = ()
) -> Match:
    """See the module. `pinned` are ids of blocks that had better not move."""
    found = Match(base, new)
    _by_anchor(found)
    _by_text(found, lambda known: known.seen.digest if known.seen else None, _always)
    _by_text(found, lambda known: known.now.digest if known.now else None, _movable(seen))
    _by_older_text(found, seen)
    _settle_order(found, seen, pinned)
    _by_likeness(found, seen)
    return found


def _always(_known: Known) -> bool:
    return True


def _movable(seen: Seen) -> Callable[[Known], bool]:
    """Whether a text elsewhere in the new document is this block, moved.

    Of a block that came after its author looked, it is not: an equal one was written.
    """

    def movable(known: Known) -> bool:
        if known.trailing:
            return False
        return known.seen is not None or not seen.whole or known.block_id in seen.known

    return movable


def _by_anchor(found: Match) -> None:
    """Lines `[anchor]`. Of two that name one block the unchanged one has it, else the first."""
    place = {known.block_id: u for u, known in enumerate(found.base)}
    claims: dict[int, list[tuple[bool, int, str]]] = {}
    for j, new in enumerate(found.new):
        ref = parse_ref(new.block.anchor) if new.block.anchor else None
        if ref and ref.hash and ref.block_id in place:
            unchanged = same(new.digest, ref.hash)
            claims.setdefault(place[ref.block_id], []).append((not unchanged, j, ref.hash))
    for u, claim in claims.items():
        _, j, hash_ = min(claim)
        name(found.base[u], hash_, (new.digest for new in found.new))
        found.link(u, j)


def name(known: Known, hash_: str, sent: Iterable[str]) -> None:
    """Note that its author named the block at `hash_`: seen, at that text.

    An anchor has six digits; the whole digest is taken from where the text is met again: what was
    shown, what is there, what was sent.
    """
    candidates = [known.seen.digest] if known.seen else []
    candidates += [known.now.digest] if known.now else []
    candidates += sent
    digest = next((digest for digest in candidates if same(digest, hash_)), hash_)
    level = known.seen.level if known.seen else 0
    known.seen = SeenBlock(known.block_id, digest, level)
    known.named = True


def _by_text(
    found: Match, digest: Callable[[Known], str | None], movable: Callable[[Known], bool]
) -> None:
    """Equal texts in order, then those that occur once on either side: they have moved."""
    olds: list[object] = []
    for u, known in enumerate(found.base):
        j = found.new_of.get(u)
        olds.append(("is", j) if j is not None else digest(known) or ("none", u))
    news: list[object] = [
        ("is", j) if j in found.old_of else new.digest for j, new in enumerate(found.new)
    ]
    pairs = [(u, j) for u, j in common(olds, news) if u not in found.new_of]
    for u, j in _believable(found, pairs):
        found.link(u, j)
    left = [
        (u, token)
        for u, known in enumerate(found.base)
        if u not in found.new_of and (token := digest(known)) and movable(known)
    ]
    distinct = [(u, token) for u, token in left if found.base[u].seen or _distinct(found.base[u])]
    for u, j in unique_on_both(distinct, [(j, found.new[j].digest) for j in found.unmatched()]):
        found.link(u, j)


def _distinct(known: Known) -> bool:
    return known.now is not None and len(known.now.text) >= DISTINCT_CHARS


def _believable(found: Match, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without the pairs of unseen blocks whose short text is all that speaks for them.

    A rule written after the part that was read is not the rule somewhere in the rest; beside a
    neighbour that matches as well it is.
    """
    taken = {pair for pair in pairs if found.base[pair[0]].seen or _distinct(found.base[pair[0]])}
    agreed = taken | set(found.new_of.items()) | {(-1, -1), (len(found.base), len(found.new))}
    for step, order in ((-1, pairs), (1, pairs[::-1])):
        for u, j in order:
            if (u + step, j + step) in agreed:
                agreed.add((u, j))
    return [pair for pair in pairs if pair in agreed]


def _by_older_text(found: Match, seen: Seen) -> None:
    """Texts shown earlier: still that block, whatever its author means by sending it."""
    digests: dict[str, set[int]] = {}
    for u, known in enumerate(found.base):
        if u in found.new_of or known.seen is None:
            continue
        for digest in {*known.seen.others, *seen.older.get(known.block_id, ())}:
            digests.setdefault(digest, set()).add(u)
    for j in found.unmatched():
        owners = digests.get(found.new[j].digest, set()) - found.new_of.keys()
        if len(owners) == 1:
            found.link(owners.pop(), j)


def _settle_order(found: Match, seen: Seen, pinned: Container[str]) -> None:
    movable = _movable(seen)

    def weight(known: Known) -> float:
        return _HEAVY if known.block_id in pinned or not movable(known) else 1.0

    pairs = [(u, j) for u, j in found.new_of.items() if not found.base[u].foreign]
    found.stable = heaviest_chain((u, j, weight(found.base[u])) for u, j in pairs)


def _by_likeness(found: Match, seen: Seen) -> None:
    gaps = between(found.stable, len(found.base), len(found.new))
    for olds, news in gaps:
        added = [j for j in news if j not in found.old_of]
        removed = [u for u in olds if u not in found.new_of]
        if not added or not removed:
            continue
        for u, j in _rewritten(found, [u for u in removed if found.base[u].seen], added, seen):
            found.link(u, j)
            found.stable.append((u, j))
        if not seen.based:
            _doubt(found, removed, [j for j in added if j not in found.old_of])
    found.stable.sort()


def _rewritten(
    found: Match, removed: Sequence[int], added: Sequence[int], seen: Seen
) -> list[tuple[int, int]]:
    """Which removed block became which added one: by likeness, between those by place."""
    texts = [old_text(found.base[u], seen) for u in removed]
    pairs: list[tuple[int, int]] = []
    for i, k in similar(texts, [found.new[j].text for j in added]):
        gone = found.base[removed[i]].now is None
        if not gone or likeness(texts[i] or "", found.new[added[k]].text) >= GONE_SIMILAR:
            pairs.append((i, k))
    # A block that is gone has no place.
    there = [
        i for i, u in enumerate(removed) if found.base[u].now or any(i == pair[0] for pair in pairs)
    ]
    placed = by_place([(there.index(i), k) for i, k in pairs], len(there), len(added))
    return [(removed[there[i]], added[k]) for i, k in placed]


def old_text(known: Known, seen: Seen) -> str | None:
    """The text its author knows, as well as it is remembered; what it says now before nothing."""
    if known.seen is not None:
        if known.now and same(known.now.digest, known.seen.digest):
            return known.now.text
        text = seen.text_of(known.block_id, known.seen.digest)
        if text is not None:
            return text
    return known.now.text if known.now else None


def _doubt(found: Match, removed: Sequence[int], added: Sequence[int]) -> None:
    """An edit of a block that, as far as is known, its author never saw: not to be doubled."""
    unseen = [u for u in removed if found.base[u].seen is None and _distinct(found.base[u])]
    texts = [now.text if (now := found.base[u].now) else None for u in unseen]
    for i, k in similar(texts, [found.new[j].text for j in added], DOUBLED):
        found.doubtful[added[k]] = unseen[i]
