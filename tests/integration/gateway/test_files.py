"""What the gateway keeps in files: settings, the owner's token, the server's address."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gateway.commands.address_file import read_address, remove_address, write_address
from gateway.owner_token import read_owner_token, write_owner_token
from gateway.settings import FIELDS, describe, load
from shared.errors import InvalidArgument


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "docactor.toml"
    path.write_text('port = 1\nworkers = 1\nidle_s = 5\nallowed_hosts = ["a.example"]\n')
    return path


def test_flags_win_over_variables_and_those_over_the_file(config: Path) -> None:
    environ = {"DOCACTOR_PORT": "2", "DOCACTOR_WORKERS": "2"}
    loaded = load({"port": "3", "host": None}, environ, config)
    assert loaded.settings.port == 3
    assert loaded.settings.workers == 2
    assert loaded.settings.idle_s == 5.0
    assert loaded.settings.host == "127.0.0.1"
    assert loaded.origins["port"] == "--port"
    assert loaded.origins["workers"] == "DOCACTOR_WORKERS"
    assert loaded.origins["idle_s"] == str(config)
    assert loaded.origins["host"] == "default"


def test_an_unknown_key_in_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "docactor.toml"
    path.write_text("prot = 1\n")
    with pytest.raises(InvalidArgument, match="prot: no such setting"):
        load({}, {}, path)


@pytest.mark.parametrize("content", ["port = ", "\xff"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "docactor.toml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InvalidArgument, match="config: cannot read"):
        load({}, {}, path)


def test_a_named_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="config: cannot read"):
        load({}, {}, tmp_path / "none.toml")


def test_the_description_can_be_pasted_into_a_file(tmp_path: Path) -> None:
    loaded = load({"port": 9}, {"DOCACTOR_ALLOWED_HOSTS": "a,b"})
    path = tmp_path / "docactor.toml"
    path.write_text(describe(loaded))
    again = load({}, {}, path)
    assert again.settings == loaded.settings
    assert len(describe(loaded).splitlines()) == len(FIELDS)


def test_the_owners_token_is_its_owners_alone(tmp_path: Path) -> None:
    assert read_owner_token(tmp_path) is None
    path = write_owner_token(tmp_path, "first")
    write_owner_token(tmp_path, "second")
    assert read_owner_token(tmp_path) == "second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_address_is_there_while_the_server_is(tmp_path: Path) -> None:
    assert read_address(tmp_path) is None
    write_address(tmp_path, "http://127.0.0.1:1")
    write_address(tmp_path, "http://127.0.0.1:2")
    assert read_address(tmp_path) == "http://127.0.0.1:2"
    assert len(list(tmp_path.iterdir())) == 1
    remove_address(tmp_path)
    remove_address(tmp_path)
    assert read_address(tmp_path) is None
