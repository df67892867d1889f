"""The examples of the CommonMark specification, as its npm package has them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

_SPECIFICATION: Final = (
    Path(__file__).parent / "acceptance/npm/node_modules/commonmark-spec/spec.txt"
)
_END: Final = "<!-- END TESTS -->"
_FENCE: Final = "`" * 32
_EXAMPLE: Final = re.compile(
    rf"^{_FENCE} example\n(.*?)^\.\n(.*?)^{_FENCE}$|^#{{1,6}} *([^\n]*)$", re.DOTALL | re.MULTILINE
)


def _examples() -> list[dict[str, Any]]:
    """Each: its number `example`, its `section`, its `markdown` and the `html` it stands for.

    The specification prints tabs as `→`.
    """
    if not _SPECIFICATION.exists():
        raise FileNotFoundError(f"{_SPECIFICATION}: `make test-unit` installs it")
    text = _SPECIFICATION.read_text(encoding="utf-8").partition(_END)[0]
    found: list[dict[str, Any]] = []
    section = ""
    for markdown, html, heading in _EXAMPLE.findall(text.replace("→", "\t")):
        if heading:
            section = heading
            continue
        number = len(found) + 1
        found.append({"example": number, "section": section, "markdown": markdown, "html": html})
    return found


EXAMPLES: Final = _examples()
