"""A real ACP agent whose turns a JSON script prescribes: ``{"start": {…}, "turns": [[STEP, …], …]}``.

A step is an object with one action and its options; the actions are the methods of ``Turn``.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import acp
from acp import schema
from acp.helpers import (
    plan_entry,
    start_edit_tool_call,
    start_tool_call,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
)

OPTIONS = ("allow_always", "reject_always", "allow_once", "reject_once")


class ScriptedAgent:
    """Takes the prescribed turns, one for each prompt."""

    def __init__(self, script):
        self.start = script.get("start", {})
        self.turns = iter(script.get("turns", ()))
        self.cancelled = asyncio.Event()
        self.numbers = map(str, itertools.count())

    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, **about):
        await begin(self.start.get("initialize"))
        self.capabilities = client_capabilities
        methods = [schema.AuthMethodAgent(id="key", name="Key", description="set FAKE_KEY")]
        version = self.start.get("version", protocol_version)
        return acp.InitializeResponse(protocol_version=version, auth_methods=methods)

    async def new_session(self, cwd, mcp_servers=None, **about):
        await begin(self.start.get("session"))
        self.cwd, self.servers = cwd, mcp_servers
        return acp.NewSessionResponse(session_id="s1")

    async def prompt(self, session_id, prompt, **about):
        self.cancelled.clear()
        turn = Turn(self, session_id, prompt[0].text)
        for step in next(self.turns, [{"echo": True}]):
            name, value = next(iter(step.items()))
            await getattr(turn, name)(value, step)
        return acp.PromptResponse(stop_reason=turn.reason, usage=turn.used)

    async def cancel(self, session_id, **about):
        self.cancelled.set()


async def begin(fault):
    """Fail as prescribed before the first turn."""
    if fault == "silence":
        await asyncio.Event().wait()
    elif fault == "sign_in":
        raise acp.RequestError.auth_required()
    elif fault == "error":
        raise acp.RequestError(-32603, "Internal error", {"details": "no model \x1b[31mred"})
    elif isinstance(fault, int):
        os._exit(fault)


def replace(path):
    Path(path).write_text("new\n")


def leave_sleeper():
    subprocess.Popen(["sleep", "600"])


class Turn:
    """The actions of one turn."""

    def __init__(self, agent, session, text):
        self.agent, self.session, self.text = agent, session, text
        self.client = agent.client
        self.reason, self.used = "end_turn", None

    async def update(self, update):
        await self.client.session_update(session_id=self.session, update=update)

    async def say(self, text, step):
        await self.update(update_agent_message_text(text * step.get("times", 1)))

    async def echo(self, _, step):
        await self.say(self.text, step)

    async def describe(self, _, step):
        files, servers = self.agent.capabilities.fs, self.agent.servers
        about = [files.write_text_file, files.read_text_file, self.agent.capabilities.terminal]
        named = [[one.name, one.command, one.args, one.env[0].value] for one in servers]
        await self.say(json.dumps([*about, self.agent.cwd, named]), step)

    async def think(self, text, _):
        await self.update(update_agent_thought_text(text))

    async def plan(self, statuses, _):
        await self.update(update_plan([plan_entry(f"do {s}", status=s) for s in statuses]))

    async def usage(self, numbers, _):
        used, size = numbers
        update = schema.UsageUpdate(session_update="usage_update", used=used, size=size)
        await self.update(update)

    async def tokens(self, total, _):
        self.used = schema.Usage(total_tokens=total, input_tokens=total, output_tokens=0)

    async def stop(self, reason, _):
        self.reason = reason

    async def edit(self, path, step):
        """Ask for permission, edit the file if allowed, and say which option was chosen."""
        number = next(self.agent.numbers)
        await self.update(start_edit_tool_call(number, f"Edit {path}", path, "new\n"))
        call = schema.ToolCallUpdate(
            tool_call_id=number, content=[tool_diff_content(path, "new\n", "old\n")]
        )
        if await self.permission(call, step) == "allow_once":
            replace(os.path.join(self.agent.cwd, path))

    async def ask(self, call, step):
        await self.permission(schema.ToolCallUpdate.model_validate(call), step)

    async def permission(self, call, step):
        offered = [
            schema.PermissionOption(option_id=kind, name=kind, kind=kind)
            for kind in step.get("options", OPTIONS)
        ]
        answer = await self.client.request_permission(
            session_id=self.session, tool_call=call, options=offered
        )
        chosen = getattr(answer.outcome, "option_id", answer.outcome.outcome)
        await self.say(f"{chosen}\n", {})
        return chosen

    async def call(self, kind, step):
        given = {"raw_input": step.get("input"), "status": step.get("status")}
        number = next(self.agent.numbers)
        await self.update(start_tool_call(number, step["title"], kind=kind, **given))

    async def write(self, path, step):
        """Let the client write a file, and say what it answered."""
        try:
            await self.client.write_text_file(
                session_id=self.session, path=path, content=step.get("content", "new\n")
            )
        except acp.RequestError as error:
            await self.say(f"{error.code} {error}\n", {})
        else:
            await self.say("written\n", {})

    async def print(self, text, step):
        """Print text that is not from the SDK."""
        os.set_blocking(1, True)
        data = (text * step.get("times", 1)).encode()
        while data:
            data = data[os.write(1, data) :]
        os.set_blocking(1, False)

    async def fail(self, message, _):
        raise acp.RequestError(-32603, message)

    async def exit(self, status, _):
        os._exit(status)

    async def close_output(self, _, __):
        os.close(1)
        await asyncio.Event().wait()

    async def leave_child(self, status, _):
        """Exit, and leave a process that keeps the output open."""
        leave_sleeper()
        os._exit(status)

    async def silence(self, _, __):
        await asyncio.Event().wait()

    async def until_cancelled(self, _, __):
        await self.agent.cancelled.wait()


if __name__ == "__main__":
    asyncio.run(acp.run_agent(ScriptedAgent(json.loads(sys.argv[1]))))
