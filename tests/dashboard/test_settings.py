"""The Settings view: where each value comes from, tokens, the store, guards, and the server."""

from __future__ import annotations

import json

from playwright.sync_api import expect


def test_a_setting_says_where_its_value_comes_from_and_what_it_does(open_view, server):
    (server.repo / "dibs.toml").write_text('[claims]\nttl = "7m"\n')
    page = open_view("/settings?q=ttl")

    row = page.locator(".setting", has_text="DIBS_TTL")
    expect(row).to_contain_text("7m")
    expect(row).to_contain_text("dibs.toml")
    expect(row).to_contain_text("How long a claim lasts")
    expect(page.locator(".setting", has_text="DIBS_HEARTBEAT")).to_contain_text("default")
    page.get_by_label("Only settings that differ").check()
    expect(page.locator(".setting")).to_have_count(1)


def test_a_token_is_shown_once_and_revoked_after_a_confirmation(open_view, server):
    page = open_view("/settings?part=tokens")
    page.get_by_role("button", name="Create a token").click()
    page.locator("dialog select[name=scope]").select_option("read")
    page.get_by_label("Expires after").fill("8h")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    shown = page.locator(".new-token code")
    expect(shown).to_contain_text("dibs_")
    headers = {"Authorization": f"Bearer {shown.inner_text()}"}
    assert server.request("GET", "/api/v1/status", headers=headers, tcp=True).status == 200
    page.get_by_role("button", name="Done").click()
    expect(shown).to_have_count(0)

    listed = json.loads(server.dibs("token", "ls", "--json").stdout)["tokens"]
    (created,) = [one["id"] for one in listed if one["scope"] == "read"]
    page.get_by_role("button", name=f"Revoke {created}").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()

    expect(page.locator(".toast.good").last).to_contain_text(f"Revoked the token {created}")
    assert server.request("GET", "/api/v1/status", headers=headers, tcp=True).status == 401


def test_the_parts_show_the_store_the_guards_and_the_server(open_view):
    page = open_view("/settings?part=engine")
    expect(page.get_by_role("region", name="Store")).to_contain_text("safe to use")
    expect(page.get_by_role("region", name="Store")).to_contain_text("durability")

    page.get_by_role("link", name="Guards and problems").click()
    expect(page.get_by_role("region", name="Problems")).to_contain_text("healthy")
    page.get_by_role("link", name="Server", exact=True).click()
    expect(page.get_by_role("region", name="Jobs")).to_contain_text("session-checks")
    expect(page.get_by_role("region", name="Server")).to_contain_text("healthy")
