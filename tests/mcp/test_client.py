"""The SDK's own client works with the server in both generations, over both transports."""

from __future__ import annotations

import asyncio
import os
import sys

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.mcp.wires import TOKENS

from mcp import Client, StdioServerParameters


async def _used(client):
    async with client as agent:
        names = [tool.name for tool in (await agent.list_tools()).tools]
        heard = []

        async def hear(progress, total, message):
            heard.append(message)

        claimed = await agent.call_tool("claim", {"paths": ["theirs.py"]}, progress_callback=hear)
        page = await agent.read_resource("dibs://claims")
        return names, claimed, page.contents[0].text, agent.protocol_version


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_sdk_uses_tools_and_resources(repo, served, wires, mode, version, transport):
    wires(("http", "2026-07-28"), "holder").call("claim", paths=["theirs.py"])

    async def run():
        if transport == "stdio":
            words = ["-c", "from dibs.cli import program; program()", "mcp"]
            environ = {**os.environ, "DIBS_AGENT": "sdk"}
            place = StdioServerParameters(
                command=sys.executable, args=words, cwd=str(repo), env=environ
            )
            return await _used(Client(place, mode=mode))
        headers = {"Dibs-Agent": "sdk", "Authorization": f"Bearer {TOKENS[served.url]}"}
        async with httpx2.AsyncClient(headers=headers) as link:
            return await _used(
                Client(streamable_http_client(served.url, http_client=link), mode=mode)
            )

    names, claimed, claims, spoken = asyncio.run(run())

    assert spoken == version
    assert names[0] == "claim"
    assert claimed.is_error is False
    assert claimed.structured_content["conflicts"][0]["holder"] == "holder"
    assert '"theirs.py"' in claims
