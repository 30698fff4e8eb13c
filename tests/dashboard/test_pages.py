"""Every view has an address, and the pages load nothing from elsewhere."""

from urllib.parse import urlsplit

import pytest

from dibs.server.pages import VIEWS


@pytest.mark.parametrize("path", ["/", *VIEWS])
def test_every_view_opens_at_its_own_address(open_view, path):
    page = open_view(path)

    page.wait_for_selector("nav a[aria-current=page]")
    assert urlsplit(page.url).path == path


def test_without_a_session_the_page_says_how_to_sign_in(chromium, server):
    page = chromium.new_page()
    page.goto(server.url + "/files")
    page.wait_for_selector("text=dibs open")
    page.close()
