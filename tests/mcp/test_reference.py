"""The reference page lists the arguments and results of the tools."""

import re
from pathlib import Path

from dibs.mcp.registry import COMMON, TOOLS
from dibs.shapes.schema import fields

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "mcp.md"
SHARED = {field.name for field in fields(COMMON)}


def test_the_table_of_tools_is_complete():
    part = (
        PAGE.read_text("utf-8")
        .partition("<!-- tools: begin -->")[2]
        .partition("<!-- tools: end")[0]
    )
    rows = [row.strip("|").split("|") for row in part.splitlines() if row.startswith("| `")]
    told = {re.findall("`(.*?)`", name)[0]: (takes, tells) for name, takes, tells in rows}

    assert list(told) == list(TOOLS)
    for name, (takes, tells) in told.items():
        assert re.findall("`(.*?)`", takes) == list(TOOLS[name].takes.model_fields)
        if "as `" not in tells:
            assert (
                set(re.findall("`(.*?)`", tells))
                == {field.name for field in fields(TOOLS[name].tells)} - SHARED
            )
