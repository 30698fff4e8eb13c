"""Let Dibs run agents: start them, give them tasks, restart them after a crash, and stop them.

crew.toml in the repository says which agents there are. Five lines are enough:

  max_agents = 3

  [roles.developer]
  agent = "claude"
  model = "opus"

Presets: claude, codex, gemini, copilot, opencode, aider, acp, command. The supervisor runs in the
server, which this command starts if needed. Each agent works in a worktree of its own, and finished work is
merged through the merge queue.

Examples:
  dibs crew up                         read crew.toml and start working on the board
  dibs crew ls                         show the agents and the tasks that wait
  dibs crew logs developer-1 -f        follow the output of an agent
  dibs crew scale 6                    allow six agents
  dibs crew stop developer-1 --reason "wrong approach"
  dibs crew stop                       stop everything; work stays in the worktrees

exit status: 0 done, 6 no such agent, or the crew is not up, 65 at the limit, or no such role, 69 the server
cannot be started, or an agent did not end in time, 77 only a human may do this, 78 crew.toml is wrong
"""

from __future__ import annotations

#: The subcommand without any.
DEFAULT = "ls"

VERBS = {
    "up": ("crew.act", "read crew.toml and let the crew work"),
    "ls": ("crew.look", "list the agents (the default)"),
    "show": ("crew.look", "show an agent, its crashes, and its output"),
    "spawn": ("crew.act", "start an agent"),
    "stop": ("crew.act", "stop agents and their subagents, or the whole crew"),
    "restart": ("crew.act", "stop agents and start them again"),
    "scale": ("crew.act", "change how many agents the crew may have"),
    "pause": ("crew.act", "assign no more tasks"),
    "resume": ("crew.act", "assign tasks again"),
    "logs": ("crew.look", "show the output of an agent"),
}
