"""Reading and typing by blocks, for programs that need no rich-text editor."""

from __future__ import annotations

from pycrdt import XmlElement, XmlFragment, XmlText


def texts(root: XmlFragment) -> list[str]:
    """The plain text of each block."""
    return [plain_text(block) for block in root.children]


def plain_text(node: object) -> str:
    """All text inside, without marks."""
    if isinstance(node, XmlText):
        return "".join(part for part, _ in node.diff() if isinstance(part, str))
    return "".join(map(plain_text, node.children)) if isinstance(node, XmlElement) else ""


def append_paragraph(root: XmlFragment, words: str) -> int:
    """Adds a paragraph at the end; its place."""
    root.children.append(XmlElement("paragraph", {}, [XmlText(words)]))
    return len(root.children) - 1


def first_paragraph(root: XmlFragment) -> int | None:
    """The place of the first paragraph that is one text and not empty, if there is one."""
    for place, block in enumerate(root.children):
        if isinstance(block, XmlElement) and block.tag == "paragraph":
            inside = list(block.children)
            if len(inside) == 1 and isinstance(inside[0], XmlText) and len(inside[0]):
                return place
    return None


def type_at_end(root: XmlFragment, place: int, words: str) -> None:
    """Types at the end of a block whose first child is a text, as every paragraph's is.

    Raises:
        TypeError: It has no text.
    """
    block = root.children[place]
    text = next(iter(block.children), None) if isinstance(block, XmlElement) else None
    if not isinstance(text, XmlText):
        raise TypeError(f"block {place} has no text to type into")
    text.insert(len(text), words)
