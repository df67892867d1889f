"""Random trees that a stock editor can hold, and two documents that exchange updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from pycrdt import Doc, TransactionEvent, XmlElement, XmlFragment

from shared.tree import Node, Text
from shared.yjs import blocks

TORTURE = (
    "ab c\t\u00a0é\u0301😀👩\u200d👩\u200d👧🏽\U00010348\u05d0\u05d1\u202e\u3000中文\n\u2063<!--"
)
texts = st.text(st.sampled_from(TORTURE), min_size=1, max_size=12) | st.sampled_from(
    ["word", "two words", "the quick brown fox jumps", "lazy dog ", " and more"]
)
plain_marks = st.sampled_from(["bold", "italic", "strike", "underline"])
links = st.sampled_from(["https://a.example/", "mailto:x@y", ""]).map(
    lambda href: ("link", {"href": href, "title": None})
)
marks = st.lists(
    plain_marks.map(lambda name: (name, {}))
    | links
    | st.sampled_from([None, "#ff0"]).map(lambda color: ("highlight", {"color": color})),
    max_size=2,
).map(dict)


def runs(marked: bool = True) -> st.SearchStrategy[Text]:
    return st.builds(Text, texts, marks if marked else st.just({}))


inline = st.lists(runs() | runs(marked=False) | st.just(Node("hardBreak")), max_size=5).map(tuple)
paragraphs = st.builds(Node, st.just("paragraph"), st.just({}), inline)
headings = st.builds(
    Node, st.just("heading"), st.integers(1, 6).map(lambda level: {"level": level}), inline
)
code = st.builds(
    Node,
    st.just("codeBlock"),
    st.sampled_from([{}, {"language": "python"}, {"language": "=html"}]),
    st.lists(runs(marked=False), max_size=1).map(tuple),
)
images = st.builds(
    Node,
    st.just("image"),
    st.fixed_dictionaries({"src": st.sampled_from(["a.png", "b"])}, optional={"alt": texts}),
)
leaves = paragraphs | headings | code | images | st.just(Node("horizontalRule"))


def _node(
    kind: str, content: st.SearchStrategy[Any], attrs: st.SearchStrategy[Any] | None = None
) -> st.SearchStrategy[Node]:
    return st.builds(Node, st.just(kind), st.just({}) if attrs is None else attrs, content)


def _containers(inner: st.SearchStrategy[Node]) -> list[st.SearchStrategy[Node]]:
    some = st.lists(inner, min_size=1, max_size=3).map(tuple)
    body = st.tuples(paragraphs, st.lists(inner, max_size=2)).map(lambda it: (it[0], *it[1]))
    items = st.lists(_node("listItem", body), min_size=1, max_size=4).map(tuple)
    checked = st.booleans().map(lambda value: {"checked": value})
    tasks = st.lists(_node("taskItem", body, checked), min_size=1, max_size=4).map(tuple)
    span = st.just({"colspan": 1, "rowspan": 1})
    cells = _node("tableCell", some, span) | _node("tableHeader", some, span)
    rows = _node("tableRow", st.lists(cells, min_size=1, max_size=3).map(tuple))
    starts = st.integers(0, 3).map(lambda start: {"start": start})
    return [
        _node("bulletList", items),
        _node("orderedList", items, starts),
        _node("taskList", tasks),
        _node("blockquote", some),
        _node("table", st.lists(rows, min_size=1, max_size=3).map(tuple)),
    ]


def _container(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.one_of(_containers(inner))


trees = st.recursive(leaves, _container, max_leaves=6)
deep = st.recursive(_container(leaves), _container, max_leaves=3)


def _pairs(one: st.SearchStrategy[Node]) -> st.SearchStrategy[tuple[Node, Node]]:
    return st.tuples(one, one)


same_kind = st.one_of(
    *(_pairs(one) for one in (paragraphs, headings, code, images)),
    *(_pairs(one) for one in _containers(leaves | deep)),
)


class Page:
    """A document, its root, and the updates it has sent."""

    def __init__(self, client_id: int | None = None) -> None:
        self.doc: Doc[Any] = Doc(client_id=client_id)
        self.root = self.doc.get("default", type=XmlFragment)
        self.updates: list[bytes] = []
        self.doc.observe(self._sent)

    def _sent(self, event: TransactionEvent) -> None:
        self.updates.append(event.update)

    def put(self, *nodes: Node) -> list[XmlElement]:
        with self.doc.transaction():
            at = len(self.root.children)
            return [
                blocks.insert(self.root, at + i, node, f"block{i:03}")
                for i, node in enumerate(nodes)
            ]

    def read(self, at: int = 0) -> Node:
        with self.doc.transaction():
            return blocks.read(self.at(at))

    def at(self, at: int) -> XmlElement:
        child = self.root.children[at]
        assert isinstance(child, XmlElement)
        return child

    def any(self, at: int) -> Any:
        """The child at `at`, for tests that look inside."""
        return self.root.children[at]

    def do(self, act: Callable[[], Any]) -> bytes:
        """Run in one transaction; the update it sent, empty when it sent none."""
        before = len(self.updates)
        with self.doc.transaction():
            act()
        return self.updates[before] if len(self.updates) > before else b""

    def twin(self) -> Page:
        """Another client with the same content."""
        other = Page()
        other.doc.apply_update(self.doc.get_update())
        return other

    def meet(self, other: Page) -> None:
        """Both exchange what the other lacks."""
        mine, theirs = self.doc.get_update(), other.doc.get_update()
        self.doc.apply_update(theirs)
        other.doc.apply_update(mine)
