"""URLs are shown without what may be a secret."""

from __future__ import annotations

import pytest

from dibs.core.text.urls import site


@pytest.mark.parametrize(
    ("url", "shown"),
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
def test_a_webhook_is_shown_as_its_host(url, shown):
    assert site(url) == shown
