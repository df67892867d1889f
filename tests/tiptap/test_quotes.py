"""The jump of an editor and the check of the server answer alike."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any, Final

from shared.discussion.quotes import find
from tests.unit.test_quotes import VECTORS, _paragraph, _texts

ROOT: Final = Path(__file__).resolve().parents[2]
PROGRAM: Final = f"""
import {{ findQuote, textblocks }} from {json.dumps((ROOT / "docs/reference/quote.mjs").as_uri())}
import {{ readFileSync }} from 'node:fs'
const cases = JSON.parse(readFileSync(0, 'utf8'))
const points = (text, at) => [...text.slice(0, at)].length
console.log(JSON.stringify(cases.map(([quote, doc]) => {{
  const texts = textblocks(doc), found = findQuote(quote, texts)
  return found && [found[0], points(texts[found[0]], found[1]), points(texts[found[0]], found[2])]
}})))
"""


def in_node(cases: list[tuple[str, Any]]) -> Any:
    """What the published unit answers, in code points."""
    done = subprocess.run(
        ["node", "--input-type=module", "-e", PROGRAM],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def as_editor(blocks: list[Any]) -> dict[str, Any]:
    """As `editor.getJSON()` says it."""
    return {"type": "doc", "content": [_node(content) for content in blocks]}


def _node(content: list[Any]) -> dict[str, Any]:
    parts = [piece for run in content for piece in (run if isinstance(run, list) else [run])]
    inside = [{"type": "hardBreak"} if p is None else {"type": "text", "text": p} for p in parts]
    return {"type": "paragraph", "content": inside}


def test_the_vectors() -> None:
    answers = in_node([(one["quote"], as_editor(one["blocks"])) for one in VECTORS])
    assert answers == [one["found"] for one in VECTORS]


def test_any_text() -> None:
    rng = random.Random(20)
    letters = "ab \u00a0📊\ufeff\x1c\u0085\u3000"
    cases = []
    for _ in range(500):
        made = [
            [rng.choice(["", *letters]) + rng.choice(letters) for _ in range(rng.randint(0, 3))]
            + rng.choice([[], [None], [None, "a"]])
            for _ in range(rng.randint(1, 3))
        ]
        quote = "".join(rng.choices(letters, k=rng.randint(0, 3)))
        cases.append((quote, made))
    answers = in_node([(quote, as_editor(made)) for quote, made in cases])
    for (quote, made), answer in zip(cases, answers, strict=True):
        texts = [line for content in made for line in _texts(_paragraph(content))]
        found = find(quote, texts)
        assert answer == (None if found is None else list(found)), (quote, made)
