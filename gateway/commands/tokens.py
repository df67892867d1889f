"""`docactor token …`: what the actions print."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from gateway.commands.client import RestClient
from gateway.times import iso


def create(client: RestClient, order: Mapping[str, Any]) -> int:
    """Makes a token and prints it, once. `order`: see `gateway.rest.tokens.TokenOrder`."""
    made = client.create_token(order)
    print(made["token"])
    print("Shown once: keep it where the agent's settings are.", file=sys.stderr)
    print(f"It is listed and revoked as {made['row']['id']}.", file=sys.stderr)
    return 0


def show(client: RestClient) -> int:
    """A line for each token: id, state, whose, scopes, times."""
    for row in client.tokens():
        who = f"{row['name']}, agent of {row['person']}" if row["agent"] else row["person"]
        print(f"{row['id']}  {_state(row)}  {' '.join(sorted(row['scopes']))}  {who}{_more(row)}")
    return 0


def revoke(client: RestClient, token_id: str) -> int:
    """Ends a token, and says so."""
    client.revoke_token(token_id)
    print(f"{token_id} is revoked: what went on under it is closed.")
    return 0


def _state(row: Mapping[str, Any]) -> str:
    if row["revoked"] is not None:
        return f"revoked {iso(row['revoked'])}"
    if row["expires"] is not None:
        return f"until {iso(row['expires'])}"
    return "valid"


def _more(row: Mapping[str, Any]) -> str:
    used = "never used" if row["last_used"] is None else f"last used {iso(row['last_used'])}"
    if row["documents"] is None:
        return f"  ({used})"
    return f"  ({used}; only {' '.join(sorted(row['documents']))})"
