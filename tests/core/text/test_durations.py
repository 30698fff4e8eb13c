from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.text.durations import check_span, check_ttl, check_wait, parse_span, show_span
from dibs.errors import BadInput

NO_SPANS = [
    *("", " ", "abc", "5x", "m", "5m5", "1h30", "5 m", "1h 30m", "-5", "+5", "5.", ".5", "1e3"),
    *("5m5m", "30s5m", "1m1h", "NaN", "inf", "٣", "5M", "1_000", "0x10", "1.5.2h", "9" * 13),
    *("ms", "5MS", "5 ms", "1ms1s", "5ms5ms", "5mss", "5sm", "m5s", "30000msec"),
    *(True, False, None, float("nan"), float("inf"), -1, -0.5, 1e309, [], b"5"),
]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90", 90.0),
        ("1.5", 1.5),
        ("30s", 30.0),
        ("5m", 300.0),
        ("1.5h", 5400.0),
        ("2m30s", 150.0),
        ("1d2h3m4s", 93784.0),
        (" 5m ", 300.0),
        ("0", 0.0),
        ("0.1h", 360.0),
        ("30000ms", 30.0),
        ("500ms", 0.5),
        ("0.5ms", 0.0005),
        ("1m30s250ms", 90.25),
        (45, 45.0),
        (0.25, 0.25),
    ],
)
def test_a_duration_is_seconds_or_numbers_with_units(written, seconds):
    assert parse_span(written) == seconds
    assert isinstance(parse_span(written), float)


@pytest.mark.parametrize("written", NO_SPANS)
def test_an_invalid_duration_is_refused_with_an_example(written):
    with pytest.raises(BadInput) as caught:
        parse_span(written)

    assert caught.value.code == "SPAN"
    assert "1h30m" in caught.value.hint


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (270, "4m30s"),
        (0, "0s"),
        (0.5, "0.5s"),
        (59.999, "59.999s"),
        (60, "1m"),
        (3600, "1h"),
        (5400, "1h30m"),
        (86400, "1d"),
        (90061.5, "1d1h1m1.5s"),
        (0.0004, "0s"),
        (59.9999, "1m"),
        (-5, "-5s"),
        (-0.0001, "0s"),
    ],
)
def test_a_duration_is_shown_with_units(seconds, shown):
    assert show_span(seconds) == shown


@given(st.integers(0, 10**12))
def test_a_shown_duration_parses_to_the_same_number(milliseconds):
    seconds = milliseconds / 1000

    assert parse_span(show_span(seconds)) == seconds


@given(st.decimals(0, 10**6, places=6))
def test_reading_a_number_gives_the_nearest_float(number):
    assert parse_span(f"{number:f}") == float(number)


@pytest.mark.parametrize(
    ("written", "seconds"), [(5, 5.0), ("5", 5.0), ("24h", 86400.0), (30.5, 30.5)]
)
def test_a_ttl_is_from_5_seconds_to_a_day(written, seconds):
    assert check_ttl(written) == seconds


@pytest.mark.parametrize("value", [0, -1, 4, 4.999, "4999ms", 90000, "25h", 1e309, *NO_SPANS])
def test_an_invalid_ttl_is_refused_with_the_range(value):
    with pytest.raises(BadInput) as caught:
        check_ttl(value)

    assert caught.value.code == "TTL_RANGE"
    assert caught.value.field == "ttl"
    assert "from 5s to 1d" in caught.value.message


@pytest.mark.parametrize(("written", "seconds"), [(0, 0.0), ("0", 0.0), ("1h", 3600.0), (0.1, 0.1)])
def test_a_wait_is_at_most_an_hour(written, seconds):
    assert check_wait(written) == seconds


@pytest.mark.parametrize("value", [-1, 7200, "3600.5s", "3600001ms", *NO_SPANS])
def test_an_invalid_wait_is_refused_with_the_range(value):
    with pytest.raises(BadInput, match="from 0s to 1h") as caught:
        check_wait(value)

    assert caught.value.code == "WAIT_RANGE"


@pytest.mark.parametrize(
    "value", [30000, 30000.0, "30000", " 30000 ", 10_000, 60_000, 300_000, 86_401, 3_600_000]
)
@pytest.mark.parametrize("check", [check_ttl, check_wait])
def test_a_number_that_may_be_milliseconds_is_refused_with_both_readings(check, value):
    with pytest.raises(BadInput) as caught:
        check(value)

    number = str(int(value))
    assert f"{number} could mean {number}s (" in caught.value.message
    assert caught.value.message.endswith("); write the unit")
    assert check(f"{number}ms") == int(number) / 1000
    assert "\n" not in f"{caught.value.message}{caught.value.hint}"


def test_both_readings_of_a_number_are_shown_as_durations():
    with pytest.raises(BadInput) as caught:
        check_ttl(30000)

    said = "ttl 30000 could mean 30000s (8h20m) or 30000ms (30s); write the unit"
    assert caught.value.message == said
    assert caught.value.code == "TTL_RANGE"
    assert check_ttl("30000s") == 30000


@pytest.mark.parametrize("value", [90, 3600, 5400, 7200, 9999, 28800, "86400"])
def test_an_ordinary_number_is_seconds(value):
    assert check_ttl(value) == float(value)


@pytest.mark.parametrize(
    ("value", "low", "high", "unclear"),
    [
        (5000, 0.1, 8.0, True),  # the deadline of a hook
        (9, 0.1, 8.0, False),  # 9 ms are not allowed, either
        (60, 0.0, 30.0, False),  # no one means 60 ms
        (30000, 60.0, 2_592_000.0, False),  # 8h20m of at most 30 days
        (300000, 60.0, 2_592_000.0, True),
        (2_592_000, 60.0, 2_592_000.0, False),
        (7_200_000, 60.0, 2_592_000.0, True),
    ],
)
def test_how_large_a_number_must_be_depends_on_the_fields_maximum(value, low, high, unclear):
    try:
        check_span(value, low, high, field="x", code="SPAN")
        said = ""
    except BadInput as error:
        said = error.message

    assert said.endswith("write the unit") is unclear


def test_a_long_invalid_value_is_cut_in_the_message():
    with pytest.raises(BadInput) as caught:
        check_ttl("9" * 5000)

    assert len(caught.value.message) < 400
