"""The page about errors shows the tree, and every error has all of its translations."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Final

import pytest

from actors.drawn_page import redraw
from gateway.error_drawing import BEGIN, drawn, told
from gateway.mcp.errors import error_result
from gateway.rest.problems import STATUS_BY_CODE, problem
from shared import errors
from shared.errors import BY_CODE, DocactorError
from shared.wire import close_codes

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "errors.md"
ONES: Final = sorted(told().items())


def test_page_is_what_the_tree_gives() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert redraw(page, BEGIN, drawn()) == page, "run: make docs"


def test_the_drawing_in_the_docstring_has_every_error() -> None:
    for code, kind in BY_CODE.items():
        assert f" {kind.__name__} " in (errors.__doc__ or "")
        assert code in (errors.__doc__ or "")


@pytest.mark.parametrize("code, kind", ONES)
def test_every_error_is_explained_and_says_what_to_do(code: str, kind: type[DocactorError]) -> None:
    assert kind.__doc__ != DocactorError.__doc__
    assert inspect.getdoc(kind)
    assert kind.next_step, code


@pytest.mark.parametrize("code, kind", ONES)
def test_every_error_has_three_translations(code: str, kind: type[DocactorError]) -> None:
    error = kind("doc_id: an example.", retry_after_s=2)
    result = error_result(error)
    assert result.is_error
    assert result.structured_content is not None
    assert result.structured_content["error"]["code"] == code
    answer = problem(error)
    assert answer.status_code == STATUS_BY_CODE[code]
    assert answer.media_type == "application/problem+json"
    closed = close_codes.of_error(code)
    assert closed in close_codes.MEANINGS
    assert not (kind.retryable and close_codes.is_final(closed))


def test_statuses_and_close_codes_are_of_errors_that_exist() -> None:
    assert STATUS_BY_CODE.keys() == BY_CODE.keys()
    assert close_codes.BY_ERROR.keys() <= BY_CODE.keys()
    numbers = {value for value in vars(close_codes).values() if isinstance(value, int)}
    assert close_codes.MEANINGS.keys() == numbers
