"""Folders of Markdown files in and out, against a gateway on a real socket."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.cli import NO_SERVER, REFUSED, main
from gateway.commands import folders as cli_folders
from gateway.commands.address_file import write_address
from gateway.owner_token import write_owner_token
from shared.errors import Overloaded
from tests.in_process import served
from tests.unit.gateway.fakes import FakeRouter

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def router(rng: random.Random) -> FakeRouter:
    return FakeRouter(rng.choice)


@pytest.fixture
def folder(router: FakeRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, and a server that every command finds."""
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("DOCACTOR_DATA", str(data))
    monkeypatch.delenv("DOCACTOR_TOKEN", raising=False)
    write_owner_token(data, "owner-token")
    notes = tmp_path / "notes"
    notes.mkdir()
    with served(router) as url:
        write_address(data, url)
        yield notes


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_md", ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_every_markdown_file_becomes_a_document_named_by_its_path(
    folder: Path, router: FakeRouter, capsys: Captured
) -> None:
    write(folder, a_md="# A", deep__down__b_md="Über b", c_txt="no", _git__d_md="no")
    (folder / "_git").rename(folder / ".git")
    (folder / ".hidden.md").write_text("no")
    (folder / "link.md").symlink_to(folder / "a.md")
    (folder / "Plan für ÄÖ.MD").write_text("plan")
    assert main(["create", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert [line.split("  ")[1:] for line in out.splitlines()] == [
        ["plan-fur-ao", "Plan für ÄÖ.MD"],
        ["a", "a.md"],
        ["deep-down-b", "deep/down/b.md"],
    ]
    assert err == "3 documents created.\n"
    assert list(router.document("deep-down-b").texts.values()) == ["Über b"]


def test_what_of_a_file_could_not_be_kept_is_told(folder: Path, capsys: Captured) -> None:
    table = "| a | b |\n| --- | --- |\n| 1 | 2 | 3 |\n"
    write(folder, a_md=table, b_md="<!-- opaque:callout abcd1234 -->\n")
    assert main(["create", str(folder)]) == 0
    assert main(["create", str(folder / "a.md"), "--slug", "alone"]) == 0
    cells = "1 more cells than columns in a table row"
    assert capsys.readouterr().err.splitlines() == [
        f"docactor: a.md: {cells}",
        "docactor: b.md: <!-- opaque:callout abcd1234 -->: stands for nothing here, kept as source",
        "2 documents created.",
        f"docactor: {cells}",
    ]


@pytest.mark.parametrize(
    "name, slug",
    [
        ("a.md", "a"),
        ("notes/Plan A.md", "notes-plan-a"),
        ("introduction.md", "introduction-md"),  # twelve characters would be an id
        ("document.md", "document"),
        ("日本.md", None),
        ("日本/a.md", "a"),
    ],
)
def test_slugs_come_from_paths(name: str, slug: str | None) -> None:
    assert cli_folders.slug_of(name) == slug


def test_what_fails_is_told_and_the_rest_goes_on(
    folder: Path, router: FakeRouter, capsys: Captured
) -> None:
    write(folder, a_md="one", c_md="three", d_md="a\0b")
    (folder / "b.md").write_bytes(b"\xff\xfe")
    assert main(["create", str(folder)]) == REFUSED
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    lines = err.splitlines()
    assert lines[0] == "docactor: b.md: not UTF-8 (byte 0)."
    assert lines[1].startswith("docactor: d.md: markdown: a NUL character")
    assert lines[2] == "2 documents created, 2 failed."
    assert len(router.documents) == 2


def test_an_empty_file_is_a_document_with_the_files_name(folder: Path, router: FakeRouter) -> None:
    write(folder, todo_md="\n")
    assert main(["create", str(folder)]) == 0
    assert router.document("todo").row.title == "todo"


def test_a_folder_takes_no_title_or_slug(folder: Path, capsys: Captured) -> None:
    assert main(["create", str(folder), "--slug", "x"]) == REFUSED
    assert "a folder makes many documents" in capsys.readouterr().err


def test_a_full_server_is_asked_again(
    folder: Path, router: FakeRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, a_md="one")
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        router.failure = None

    monkeypatch.setattr("gateway.commands.folders.time.sleep", wait)
    router.failure = Overloaded("no room.", retry_after_s=3)
    assert main(["create", str(folder)]) == 0
    assert waits == [3]
    assert len(router.documents) == 1


def test_all_documents_are_written_to_files(
    folder: Path, router: FakeRouter, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_folders, "MAX_LIST", 2)
    names = [f"doc_{number}" for number in "abcde"]
    write(folder, **{f"{name}_md": f"text of {name}" for name in names})
    assert main(["create", str(folder)]) == 0
    out = folder.parent / "new" / "out"
    assert main(["export", "--all", str(out)]) == 0
    assert capsys.readouterr().err.endswith(f"5 documents written to {out}.\n")
    written = {path.name: path.read_text(encoding="utf-8") for path in out.iterdir()}
    assert written == {f"doc-{name[-1]}.md": f"text of {name}\n" for name in names}
    (out / "doc-a.md").write_text("old")
    (out / "mine.md").write_text("mine")
    assert main(["export", "--all", str(out)]) == 0
    assert (out / "doc-a.md").read_text() == "text of doc_a\n"
    assert (out / "mine.md").read_text() == "mine"
    assert len(list(out.iterdir())) == 6


def test_what_markdown_leaves_out_is_told_a_line_a_document(
    folder: Path, router: FakeRouter, capsys: Captured
) -> None:
    placeholder = "<!-- opaque:callout x -->"
    write(folder, a_md="one", odd_md=placeholder, many_md="\n\n".join([placeholder] * 5))
    assert main(["create", str(folder)]) == 0
    capsys.readouterr()
    out = folder.parent / "out"
    assert main(["export", "--all", str(out)]) == 0
    odd, many = (router.document(slug).order for slug in ("odd", "many"))
    what = "callout: shown as a placeholder"
    lines = sorted(capsys.readouterr().err.splitlines()[-3:])
    three = "; ".join(f"{what} ({block_id})" for block_id in many[:3])
    assert lines == [
        f"3 documents written to {out}, 2 of them not entirely.",
        f"docactor: many.md: not in the Markdown: {three}; and 2 more",
        f"docactor: odd.md: not in the Markdown: {what} ({odd[0]})",
    ]
    assert main(["export", "odd"]) == 0
    captured = capsys.readouterr()
    assert captured.out == placeholder + "\n"
    assert captured.err == f"docactor: odd: not in the Markdown: {what} ({odd[0]})\n"


def test_a_file_that_cannot_be_written_is_told(
    folder: Path, router: FakeRouter, capsys: Captured
) -> None:
    write(folder, a_md="one", b_md="two")
    main(["create", str(folder)])
    out = folder.parent / "out"
    (out / "a.md").mkdir(parents=True)
    assert main(["export", "--all", str(out)]) == REFUSED
    err = capsys.readouterr().err.splitlines()
    assert err[-2].startswith("docactor: a.md: ")
    assert err[-1] == f"1 documents written to {out}, 1 failed."
    assert (out / "b.md").read_text() == "two\n"


def test_without_a_server_nothing_is_tried_file_by_file(folder: Path, capsys: Captured) -> None:
    write(folder, a_md="one", b_md="two")
    assert main(["create", str(folder), "--url", "http://127.0.0.1:9"]) == NO_SERVER
    assert len(capsys.readouterr().err.splitlines()) == 1
    for wrong in (["export"], ["export", "a", "--all", "out"]):
        with pytest.raises(SystemExit, match="2"):
            main(wrong)
