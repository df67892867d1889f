from __future__ import annotations

import pytest

from gateway.settings import Settings, check, is_loopback, load
from shared.budget import Allowance
from shared.errors import InvalidArgument
from shared.limits import CHARS_PER_HOUR


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


def test_budgets_are_settings_and_named_callers_have_a_multiple() -> None:
    environ = {"DOCACTOR_WRITES_PER_MINUTE": "3", "DOCACTOR_NAMED_FACTOR": "5"}
    allowance = load({"reads_per_minute": "7"}, environ).settings.allowance
    assert allowance == Allowance(15, CHARS_PER_HOUR * 5, 35)


UNSAFE = [
    (Settings(named_factor=0), "named_factor"),
    (Settings(chars_per_hour=0), "chars_per_hour"),
    (Settings(host="0.0.0.0"), "host"),
    (Settings(host="docs.example"), "host"),
    (Settings(host="0.0.0.0", no_auth=True, behind_proxy=True), "no_auth"),
    (Settings(tls_cert="a"), "tls_cert"),
    (Settings(port=70_000), "port"),
    (Settings(workers=0), "workers"),
    (Settings(heartbeat_s=0), "heartbeat_s"),
    (Settings(heartbeat_s=30), "heartbeat_s"),
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
