"""The SDK's own client works with the server in both generations."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest
from tests.mcp.wires import NEW

from mcp import Client, StdioServerParameters


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_sdk_uses_tools(repo, wires, mode, version):
    wires(NEW, "holder").call("claim", paths=["theirs.py"])
    words = ["-c", "from dibs.cli import program; program()", "mcp"]
    place = StdioServerParameters(
        command=sys.executable, args=words, cwd=str(repo), env={**os.environ, "DIBS_AGENT": "sdk"}
    )

    async def used():
        async with Client(place, mode=mode) as agent:
            names = [tool.name for tool in (await agent.list_tools()).tools]
            claimed = await agent.call_tool("claim", {"paths": ["theirs.py"]})
            return names, claimed, agent.protocol_version

    names, claimed, spoken = asyncio.run(used())

    assert spoken == version
    assert names[0] == "claim"
    assert claimed.is_error is False
    assert claimed.structured_content["conflicts"][0]["holder"] == "holder"
