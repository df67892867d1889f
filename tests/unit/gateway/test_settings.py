from __future__ import annotations

from pathlib import Path

import pytest

from gateway.settings import FIELDS, Settings, check, describe, is_loopback, load
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


def test_variables_are_read_by_the_type_of_their_setting() -> None:
    environ = {
        "DOCACTOR_NO_AUTH": "true",
        "DOCACTOR_ALLOWED_HOSTS": "a.example, b.example",
        "DOCACTOR_DRAIN_S": "2.5",
        "DOCACTOR_MAX_ACTIVE": "7",
    }
    settings = load({}, environ).settings
    assert settings.no_auth is True
    assert settings.allowed_hosts == ("a.example", "b.example")
    assert settings.drain_s == 2.5
    assert settings.max_active == 7


def test_variables_that_are_no_settings_are_left_alone() -> None:
    assert load({}, {"DOCACTOR_SERVICE_HOST": "10.0.0.1", "DOCACTOR_PORT": ""}).settings == (
        Settings()
    )


@pytest.mark.parametrize(
    "environ, field",
    [({"DOCACTOR_PORT": "many"}, "port"), ({"DOCACTOR_NO_AUTH": "perhaps"}, "no_auth")],
)
def test_a_value_of_the_wrong_type_names_its_source(environ: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidArgument, match=rf"{field}: .*\(from DOCACTOR_{field.upper()}\)"):
        load({}, environ)


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


UNSAFE = [
    (Settings(host="0.0.0.0"), "host"),
    (Settings(host="docs.example"), "host"),
    (Settings(host="0.0.0.0", no_auth=True, behind_proxy=True), "no_auth"),
    (Settings(tls_cert="a"), "tls_cert"),
    (Settings(port=70_000), "port"),
    (Settings(workers=0), "workers"),
]


@pytest.mark.parametrize("settings, field", UNSAFE)
def test_what_is_unsafe_or_cannot_work_is_refused(settings: Settings, field: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{field}: "):
        check(settings)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(no_auth=True),
        Settings(host="::1", no_auth=True),
        Settings(host="0.0.0.0", behind_proxy=True),
        Settings(host="0.0.0.0", tls_cert="a", tls_key="b"),
    ],
)
def test_what_is_safe_is_taken(settings: Settings) -> None:
    check(settings)


@pytest.mark.parametrize(
    "host, loopback",
    [("127.0.0.2", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("x", False)],
)
def test_loopback_is_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_the_address_of_others_is_the_public_one() -> None:
    assert Settings(public_url="https://docs.example/").base_url == "https://docs.example"
    assert Settings(host="::1", port=1).base_url == "http://[::1]:1"
    assert Settings(tls_cert="a", tls_key="b").base_url == "https://127.0.0.1:8000"


def test_the_description_can_be_pasted_into_a_file(tmp_path: Path) -> None:
    loaded = load({"port": 9}, {"DOCACTOR_ALLOWED_HOSTS": "a,b"})
    path = tmp_path / "docactor.toml"
    path.write_text(describe(loaded))
    again = load({}, {}, path)
    assert again.settings == loaded.settings
    assert len(describe(loaded).splitlines()) == len(FIELDS)
