"""Markdown of the GFM extensions in this dialect, each case with what is meant by it.

Written for these tests, along the rules of the GFM specification: tables, task lists,
strikethrough.
"""

from __future__ import annotations

from typing import Final

TABLES: Final = {
    "a table": "| river | length |\n| --- | --- |\n| Elbe | long |\n",
    "no outer pipes": "river | length\n--- | ---\nElbe | long\n",
    "one column": "| river |\n| --- |\n| Elbe |\n",
    "alignment": "| l | c | r | n |\n| :-- | :-: | --: | - |\n| 1 | 2 | 3 | 4 |\n",
    "alignment without pipes": "l | c\n:- | :-:\n1 | 2\n",
    "a header alone": "| river | length |\n| --- | --- |\n",
    "a pipe in a cell": "| op |\n| --- |\n| a \\| b |\n",
    "a pipe in code": "| op |\n| --- |\n| `a \\| b` |\n",
    "a pipe in strong code": "| op |\n| --- |\n| **`a \\| b`** |\n",
    "a backslash before the pipe": "| op |\n| --- |\n| a \\\\| b |\n",
    "a short row": "| a | b | c |\n| --- | --- | --- |\n| 1 |\n",
    "empty cells": "| a | b |\n| --- | --- |\n|  |  |\n| | x |\n",
    "a long row": "| a | b |\n| --- | --- |\n| 1 | 2 | 3 |\n",
    "marks in cells": "| **a** | *b* | ~~c~~ |\n| --- | --- | --- |\n| [x](y) | <u>u</u> | `z` |\n",
    "a break in a cell": "| a |\n| --- |\n| x<br>y |\n",
    "an image in a cell": "| a |\n| --- |\n| ![x](y) |\n",
    "rows that look like blocks": "| a |\n| --- |\n| # b |\n| - c |\n| 1. d |\n| > e |\n",
    "ended by a blank line": "| a |\n| --- |\n| b |\n\nc\n",
    "ended by a quote": "| a |\n| --- |\n| b |\n> c\n",
    "ended by a heading": "| a |\n| --- |\n| b |\n# c\n",
    "ended by code": "| a |\n| --- |\n| b |\n```\nc\n```\n",
    "a line below is a row": "| a | b |\n| --- | --- |\n| 1 | 2 |\nthree\n",
    "header and rule differ": "| a | b |\n| --- |\n| c |\n",
    "no rule": "| a | b |\n| c | d |\n",
    "below a paragraph": "text\n| a |\n| --- |\n| b |\n",
    "below a paragraph and a blank line": "text\n\n| a |\n| --- |\n| b |\n",
    "two tables": "| a |\n| --- |\n| b |\n\n| c |\n| --- |\n| d |\n",
    "in a quote": "> | a | b |\n> | --- | --- |\n> | 1 | 2 |\n",
    "in an item": "- item\n\n  | a | b |\n  | --- | --- |\n  | 1 | 2 |\n",
    "starting an item": "- | a |\n  | --- |\n  | b |\n",
    "indented by three": "   | a |\n   | --- |\n   | b |\n",
    "indented by four": "    | a |\n    | --- |\n    | b |\n",
    "wide characters": "| 川 | 長さ |\n| --- | --- |\n| 利根川 | 322 |\n",
    "a rule like a rule": "a\n---\n",
    "one dash a column": "| a | b |\n| - | - |\n| 1 | 2 |\n",
    "a reference in a cell": "| a |\n| --- |\n| [x] |\n\n[x]: /u\n",
    "delimiters across cells": "| *a | b* |\n| --- | --- |\n| `c | d` |\n",
    "entities": "| &amp; | &#124; |\n| --- | --- |\n| &nbsp; | &lt; |\n",
}

TASKS: Final = {
    "two tasks": "- [ ] todo\n- [x] done\n",
    "a large X": "- [X] done\n",
    "nested": "- [x] a\n  - [ ] b\n  - [x] c\n- [ ] d\n",
    "other bullets": "* [ ] a\n* [x] b\n",
    "plus bullets": "+ [ ] a\n",
    "ordered": "1. [ ] a\n2. [x] b\n",
    "mixed with bullets": "- [ ] a\n- b\n- [x] c\n",
    "no blank behind the box": "- [x]a\n",
    "no blank in the box": "- []a\n- [] b\n",
    "two blanks in the box": "- [  ] a\n",
    "an empty task": "- [ ]\n- [x]\n",
    "a box in the middle": "- a [ ] b\n",
    "a box behind a blank": "-  [ ] a\n",
    "escaped": "- \\[ ] a\n- [\\x] b\n",
    "a box in code": "- `[ ]` a\n",
    "a box in strong": "- **[ ]** a\n",
    "loose": "- [ ] a\n\n- [x] b\n",
    "two paragraphs": "- [ ] a\n\n  b\n",
    "a task with code": "- [ ] a\n\n  ```\n  b\n  ```\n",
    "a paragraph with a box": "[ ] a\n",
    "in a quote": "> - [ ] a\n> - [x] b\n",
    "a box and a link": "- [ ] [a](b)\n- [x](b)\n",
    "a box and a definition": "- [x] a\n\n[x]: /u\n",
    "a tab behind the box": "- [ ]\ta\n",
    "two lines": "- [ ] a\n  b\n",
    "a heading behind the box": "- [ ] # a\n",
}

STRIKES: Final = {
    "two tildes": "~~gone~~ here\n",
    "one tilde": "~gone~ here\n",
    "three tildes": "~~~not gone~~~ here\n",
    "across lines": "~~a\nb~~ c\n",
    "not across paragraphs": "~~a\n\nb~~ c\n",
    "inside a word": "a~~b~~c\n",
    "with emphasis": "~~a *b* **c**~~ *~~d~~*\n",
    "beside punctuation": 'a~~"b"~~c and ~~(d)~~e\n',
    "unclosed": "~~a\n",
    "empty": "~~~~ and ~~ ~~\n",
    "code inside": "~~a `b~~` c~~\n",
    "a link inside": "~~[a](b)~~ [~~c~~](d)\n",
    "escaped": "\\~~a~~ and ~\\~b~~\n",
    "nested": "~~a ~~b~~ c~~\n",
    "blank at the edge": "~~ a ~~ and ~~b ~~\n",
    "as a tag": "<del>a</del> and <s>b</s>\n",
    "in a heading": "# a ~~b~~\n",
    "a fence of tildes": "~~~\na\n~~~\n",
}

AUTOLINKS: Final = {
    "in angle brackets": "<https://e.org/a?b=c> and <a@b.org>\n",
    "a bare URL is text": "see https://e.org/a_b_c, www.e.org and a@b.org\n",
    "a bare URL with underscores": "https://e.org/_a_/__b__/*c*\n",
}

CASES: Final = {
    f"{kind}: {name}": text
    for kind, cases in (
        ("table", TABLES),
        ("task", TASKS),
        ("strike", STRIKES),
        ("autolink", AUTOLINKS),
    )
    for name, text in cases.items()
}
