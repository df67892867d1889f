"""When a document expires: moments with an offset, durations, nothing that lies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidArgument
from shared.expiry import expiry
from shared.limits import DAY_MS

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    "text, at",
    [
        ("30d", NOW + 30 * DAY_MS),
        (" 12h ", NOW + DAY_MS // 2),
        ("90m", NOW + 90 * 60_000),
        ("2w", NOW + 14 * DAY_MS),
        ("2031-05-01T12:00:00+02:00", 1_935_396_000_000),
        ("2031-05-01T10:00Z", 1_935_396_000_000),
        ("2023-11-14T22:13:20.001+00:00", NOW + 1),
    ],
)
def test_moments_and_durations_are_understood(text: str, at: int) -> None:
    assert expiry(text, NOW) == at


@pytest.mark.parametrize(
    "text, said",
    [
        ("2031-05-01T12:00:00", "no offset"),
        ("2031-05-01", "no offset"),
        ("tomorrow", "give a duration"),
        ("30", "give a duration"),
        ("-3d", "give a duration"),
        ("1234567d", "give a duration"),
        ("", "give a duration"),
        ("３d", "give a duration"),
        ("0d", "not in the future"),
        ("2023-11-14T22:13:20+00:00", "not in the future"),
    ],
)
def test_what_names_no_moment_to_come_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said) as caught:
        expiry(text, NOW)
    assert caught.value.message.startswith("expires: ")


@given(
    st.datetimes(min_value=datetime(2024, 1, 1), max_value=datetime(9000, 1, 1)),  # noqa: DTZ001
    st.integers(-23, 23),
)
def test_the_same_moment_is_meant_whatever_the_offset(moment: datetime, hours: int) -> None:
    utc = moment.replace(tzinfo=UTC, microsecond=0)
    elsewhere = utc.astimezone(timezone(timedelta(hours=hours)))
    assert expiry(elsewhere.isoformat(), NOW) == expiry(utc.isoformat(), NOW)
    assert expiry(utc.isoformat(), NOW) == round(utc.timestamp() * 1000)
