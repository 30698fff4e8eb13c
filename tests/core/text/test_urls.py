"""URLs are shown without what may be a secret."""

from __future__ import annotations

import pytest

from dibs.core.text.urls import shown, site


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com:8443?key=s3cret", "https://example.com:8443/***"),
        ("https://example.com#s3cret", "https://example.com/***"),
        ("https://me:s3cret@example.com/x", "***"),
        ("https://example.com/x@s3cret", "***"),
        ("https://example.com", "https://example.com"),
        ("https://example.com/", "https://example.com"),
        ("s3cret", "***"),
        ("", ""),
    ],
)
def test_a_webhook_is_shown_as_its_host(url, expected):
    assert site(url) == expected


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "redis", "rediss"])
@pytest.mark.parametrize("slashes", ["", "/"])
def test_a_servers_url_that_lacks_a_slash_is_shown_without_its_password(scheme, slashes):
    assert shown(f"{scheme}:{slashes}me:s3cret@host/db") == f"{scheme}:***"
