"""Addresses of documents and sections."""

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from gateway.links import document_url, section_url


def test_a_section_that_is_not_there_is_its_document() -> None:
    assert section_url("http://a.example", "plan", None) == "http://a.example/d/plan"
    assert document_url("http://a.example", "plan") == "http://a.example/d/plan"


def test_an_id_is_percent_encoded() -> None:
    url = section_url("http://a.example", "plan", "deep id&1")
    assert url == "http://a.example/d/plan?id=deep%20id%261"


@given(st.text())
def test_any_id_comes_back(section_id: str) -> None:
    url = section_url("", "plan", section_id.encode(errors="replace").decode())
    assert unquote(url.partition("?id=")[2]) == section_id.encode(errors="replace").decode()
