"""Settings: `docactor.toml`, then `DOCACTOR_*` variables, then flags; the later source wins.

Reading is one function of three mappings, so that a test needs no process; `origins` says for each
setting where its value came from, which is what `docactor config` prints.
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from shared.access import scopes_of
from shared.budget import Allowance
from shared.errors import InvalidArgument
from shared.limits import (
    CHARS_PER_HOUR,
    DRAIN_S,
    HEARTBEATS_S,
    HIBERNATE_S,
    IDLE_S,
    NAMED_FACTOR,
    READS_PER_MINUTE,
    REPORT_S,
    WARM_SLOTS,
    WRITES_PER_MINUTE,
)

_AT_LEAST_ONE: Final = (
    "workers",
    "max_active",
    "writes_per_minute",
    "chars_per_hour",
    "reads_per_minute",
    "named_factor",
)
CONFIG_FILE: Final = "docactor.toml"
PREFIX: Final = "DOCACTOR_"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is in force. Every field is a key of `docactor.toml`, a variable and a flag.

    Attributes:
        host: Address to listen on; anything but loopback needs TLS or `behind_proxy`.
        data: Folder of the catalog, the documents and the owner token.
        workers: Gateway processes sharing the listening socket.
        ray_address: A running cluster to join; None starts a Ray of our own.
        public_url: What people and agents type, when it is not `http://host:port`.
        behind_proxy: A reverse proxy does TLS and is trusted for the client's address.
        no_auth: Everybody is the local owner; loopback only.
        allowed_hosts: Further names the Host header may carry.
        allowed_origins: Further browser origins that may call us.
        warm_slots: Blank document actors kept started per node.
        max_active: Active documents per node; None lets memory and cores decide.
        idle_s: Seconds without session, call or waiter before a document is passivated.
        hibernate_s: Seconds without an edit, a newcomer or a call before a document whose sessions
            are all at one gateway is passivated under them; 0: never.
        heartbeat_s: Seconds between two heartbeats of a document: so late it may be put away, and
            its title reach the list.
        drain_s: Seconds a stop may take to finish requests and commits.
        writes_per_minute, chars_per_hour: What one principal may write to one document.
        reads_per_minute: How often it may call each tool that reads, there.
        named_factor: Named agents and people's tokens get so many times as much.
        oidc_issuer: Address of an OpenID Connect issuer whose tokens count beside ours.
        oidc_audience: What its tokens must be for; with `oidc_issuer` both or neither.
        oidc_scope: The most its tokens may do here.
        log_level: debug, info, warning or error.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    data: str = "docactor-data"
    workers: int = 1
    ray_address: str | None = None
    public_url: str | None = None
    behind_proxy: bool = False
    no_auth: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    warm_slots: int = WARM_SLOTS
    max_active: int | None = None
    idle_s: float = IDLE_S
    hibernate_s: float = HIBERNATE_S
    heartbeat_s: float = REPORT_S
    drain_s: float = DRAIN_S
    writes_per_minute: int = WRITES_PER_MINUTE
    chars_per_hour: int = CHARS_PER_HOUR
    reads_per_minute: int = READS_PER_MINUTE
    named_factor: int = NAMED_FACTOR
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    oidc_scope: str = "write"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def data_path(self) -> Path:
        return Path(self.data).expanduser().resolve()

    @property
    def allowance(self) -> Allowance:
        """The budgets of named agents and people, where their token does not say otherwise."""
        return Allowance(
            writes_per_minute=self.writes_per_minute * self.named_factor,
            chars_per_hour=self.chars_per_hour * self.named_factor,
            reads_per_minute=self.reads_per_minute * self.named_factor,
        )

    @property
    def visitors(self) -> Allowance:
        """The budgets of those who have a document's link and no role by name."""
        return Allowance(self.writes_per_minute, self.chars_per_hour, self.reads_per_minute)

    @property
    def base_url(self) -> str:
        """The address others use, without a slash at its end."""
        if self.public_url:
            return self.public_url.rstrip("/")
        scheme = "https" if self.tls_cert else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"


FIELDS: Final = tuple(field.name for field in msgspec.structs.fields(Settings))


class Loaded(msgspec.Struct, frozen=True):
    """Settings and, by name, where each value came from."""

    settings: Settings
    origins: dict[str, str]


def load(
    flags: Mapping[str, Any], environ: Mapping[str, str], config: Path | None = None
) -> Loaded:
    """Read the three sources and check the outcome.

    Args:
        flags: Values given on the command line; None means not given.
        environ: The environment.
        config: The file; None means `docactor.toml` in the working folder, when there is one.

    Raises:
        InvalidArgument: starts with the setting at fault and names its source.
    """
    values: dict[str, Any] = {}
    origins = dict.fromkeys(FIELDS, "default")
    for name, value, origin in (
        *_from_file(config),
        *_from_environ(environ),
        *_from_flags(flags),
    ):
        values[name] = _convert(name, value, origin)
        origins[name] = origin
    settings = Settings(**values)
    check(settings)
    return Loaded(settings, origins)


def check(settings: Settings) -> None:
    """Refuse what would be unsafe or cannot work.

    Raises:
        InvalidArgument: with the reason and what to set instead.
    """
    if not 0 <= settings.port <= 65535:
        raise InvalidArgument("port: must be between 0 and 65535.")
    if settings.warm_slots < 0:
        raise InvalidArgument("warm_slots: must not be negative.")
    for name in _AT_LEAST_ONE:
        value = getattr(settings, name)
        if value is not None and value < 1:
            raise InvalidArgument(f"{name}: must be at least 1.")
    least, most = HEARTBEATS_S
    if not least <= settings.heartbeat_s <= most:
        raise InvalidArgument(f"heartbeat_s: must be between {least:g} and {most:g} seconds.")
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise InvalidArgument("tls_cert: give tls_cert and tls_key together.")
    _check_issuer(settings)
    if is_loopback(settings.host):
        return
    if settings.no_auth:
        raise InvalidArgument("no_auth: only on a loopback address such as 127.0.0.1.")
    if not settings.tls_cert and not settings.behind_proxy:
        raise InvalidArgument(
            f"host: {settings.host} is reachable by others, and tokens would travel in clear text."
            " Give tls_cert and tls_key, or behind_proxy when a proxy in front does TLS."
        )


def _check_issuer(settings: Settings) -> None:
    if bool(settings.oidc_issuer) != bool(settings.oidc_audience):
        raise InvalidArgument("oidc_issuer: give oidc_issuer and oidc_audience together.")
    try:
        scopes_of(settings.oidc_scope)
    except InvalidArgument as error:
        raise InvalidArgument(f"oidc_{error.message}") from error
    if settings.oidc_issuer:
        address = urlsplit(settings.oidc_issuer)
        if address.scheme != "https" and not is_loopback(address.hostname or ""):
            raise InvalidArgument("oidc_issuer: must be https, or this machine.")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`. A name other than localhost counts as no."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def describe(loaded: Loaded) -> str:
    """One line a setting: `name = value  # source`, in TOML so that it can be pasted back."""
    lines = []
    for name in FIELDS:
        value = getattr(loaded.settings, name)
        shown = "" if value is None else msgspec.json.encode(value).decode()
        text = f"{name} = {shown}" if shown else f"# {name} is not set"
        lines.append(f"{text:<48}  # {loaded.origins[name]}".rstrip())
    return "\n".join(lines)


_Found = list[tuple[str, Any, str]]


def _from_file(config: Path | None) -> _Found:
    path = config or Path(CONFIG_FILE)
    if config is None and not path.exists():
        return []
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidArgument(f"config: cannot read {path}: {error}") from error
    unknown = sorted(set(table) - set(FIELDS))
    if unknown:
        raise InvalidArgument(f"{unknown[0]}: no such setting (in {path}).")
    return [(name, value, str(path)) for name, value in table.items()]


def _from_environ(environ: Mapping[str, str]) -> _Found:
    # Unknown variables are left alone: container platforms put theirs under the same prefix.
    names = ((name, PREFIX + name.upper()) for name in FIELDS)
    return [(name, environ[key], key) for name, key in names if environ.get(key)]


def _from_flags(flags: Mapping[str, Any]) -> _Found:
    given = ((name, flags.get(name)) for name in FIELDS)
    return [
        (name, value, "--" + name.replace("_", "-")) for name, value in given if value is not None
    ]


def _convert(name: str, value: Any, origin: str) -> Any:
    kind = _TYPES[name]
    if kind == tuple[str, ...] and isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"{name}: {error} (from {origin}).") from error


_TYPES: Final = {field.name: field.type for field in msgspec.structs.fields(Settings)}
