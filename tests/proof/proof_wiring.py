"""Ways in which an agent might disable the guard, and what happens: blocked, or detected afterwards.

The second table in docs/explanation/enforcement.md is generated from these rows; a test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple

BLOCKED, REPORTED = "blocked", "detected and reported"
TABLE = ("<!-- wiring: begin -->", "<!-- wiring: end -->")


class Attempt(NamedTuple):
    """Commands that an agent runs; ``REPORTED`` ones are hidden in a script."""

    says: str
    happens: str
    commands: tuple[str, ...]


ATTEMPTS = (
    Attempt(
        "an agent's settings: `.claude/settings.json`, `.codex/hooks.json`, `.mcp.json`, …", BLOCKED, (
        "echo '{}' > .claude/settings.json", "sed -i s/dibs// .claude/settings.json",
        "rm .claude/settings.local.json", "truncate -s0 .codex/hooks.json", "cp /dev/null .mcp.json",
        "tee .gemini/settings.json </dev/null", "echo x > .cursor/hooks.json",
        "rm -f .github/hooks/dibs.json",
        "echo x > .opencode/plugin/dibs.js",
    )),
    Attempt(
        "removing or moving the folder around them: `rm -rf .claude`, `mv .claude x`, `git clean -fdx`",
        BLOCKED, (
        "rm -rf .claude", "rm -r .claude/", "mv .claude .x", "rm -rf .", "rm -rf .github", "mv .github gh",
        "rm -rf .codex .gemini", "git clean -fdx", "git clean -fdX",
        "git clean -fd .claude", "git clean -fd .", "git clean -fd '*.json'",
        "git clean -fdx ':(top).claude'", "chmod -R u+w . && rm -rf .",
        "find .claude -delete", "cp -r /tmp/x/. .claude/hooks", "rm -rf .cursor",
        "cd .claude && rm -rf ../.claude", "rm -rf {root}/.claude", "rsync -a --delete /tmp/empty/ .claude",
        "find .git -name 'pre-*' | xargs rm", "find . -path './.git/hooks/*' -delete",
        "find . -name settings.local.json -delete", "rm .claude/*.json",
    )),
    Attempt(
        "changing their mode or owner: `chmod 000 .claude`, `chmod -x .git/hooks/*`, `chown`, `chattr`",
        BLOCKED, (
        "chmod 000 .claude", "chmod -R a-r .claude", "chmod -x .git/hooks/pre-commit",
        "chmod -x .git/hooks/*", "chmod 644 .git/hooks/reference-transaction", "chmod 000 .git/hooks",
        "chmod -R 644 .", "chmod -R a-x .", "chmod -R -x .", "chmod -R u=r,g=r .", "chmod -R 000 {root}",
        "chown nobody .claude/settings.json", "chattr +i .claude/settings.json", "chmod a-x .git/dibs",
        "chmod 000 .", "chmod 0 {root}", "chmod a-rwx .", "cd .. && chmod 000 repo",
    )),
    Attempt(
        "writing in `.git` by hand: `hooks`, `config`, `refs`, `packed-refs`, `HEAD`, `dibs`", BLOCKED, (
        "rm .git/hooks/pre-commit", "rm -rf .git/hooks", "mv .git/hooks .git/h", "mv .git x", "rm -rf .git",
        "echo 'exit 0' > .git/hooks/pre-commit", "echo x >> .git/config", "echo x > .git/config.worktree",
        "echo x > .git/info/attributes", "git rev-parse HEAD > .git/refs/heads/main",
        "echo x > .git/packed-refs", "echo x > .git/HEAD", "echo x > .git/FETCH_HEAD", "rm -rf .git/dibs",
        "rm -rf .git/dibs/sessions", "echo x > .git/dibs-pass", "sed -i d .git/packed-refs",
        "git init --separate-git-dir=/tmp/elsewhere", "git init --template=/tmp/x",
    )),
    Attempt(
        "telling git to run other hooks: `git config core.hooksPath`, `git -c "
        "core.hooksPath=…`, `GIT_CONFIG_*`, `HOME=… git`", BLOCKED, (
        "git config core.hooksPath /dev/null", "git config --local core.hooksPath x",
        "git config --global core.hooksPath /dev/null", "git config --worktree core.hooksPath x",
        "git config --unset core.hooksPath", "git config --unset-all core.hookspath",
        "git config set core.hooksPath x", "git config unset core.hooksPath",
        "git config --add core.hooksPath x",
        "git config --remove-section core", "git config include.path ../x", "git config -e",
        "git config --file .git/config user.name x", "git config core.bare true",
        "git -c core.hooksPath=/dev/null commit -m x", "git -c CORE.HOOKSPATH= push",
        "git --config-env=core.hooksPath=X commit -m x", "bash -c 'git config core.hooksPath x'",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/x git commit -m x",
        "export GIT_CONFIG_PARAMETERS=\"'core.hooksPath=/x'\"; git commit -m x",
        "env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/x git commit -m x",
        "GIT_CONFIG_GLOBAL=/tmp/c git commit -m x", "HOME=/tmp/c git commit -m x",
        "XDG_CONFIG_HOME=/tmp/c git update-ref refs/heads/x HEAD", "export HOME=/tmp/c; git commit -m x",
        "env HOME=/tmp/c git commit -m x", "HOME=/tmp/c bash -c 'git commit -m x'",
        "git push --receive-pack='git -c core.hooksPath=/dev/null receive-pack' . HEAD:x",
        "git config alias.ci '!git -c core.hooksPath=/dev/null commit'",
    )),
    Attempt("`dibs.toml`", BLOCKED, (
        "echo '[guard]' > dibs.toml", "rm dibs.toml", "mv dibs.toml x", "git rm -f dibs.toml",
        "python3 -c \"open('dibs.toml', 'w')\"", "DIBS_X=1 sed -i s/deny/allow/ dibs.toml",
    )),
    Attempt(
        "the user's own settings: `~/.claude/settings.json`, `~/.codex/config.toml`, "
        "`~/.gitconfig`, …", BLOCKED, (
        "echo '{\"disableAllHooks\": true}' > ~/.claude/settings.json", "rm -rf ~/.claude", "mv ~/.codex ~/x",
        "echo x >> ~/.codex/config.toml", "rm ~/.gemini/settings.json", "rm -rf ~/.copilot",
        "echo x >> ~/.gitconfig", "echo x > ~/.config/git/config",
        "sed -i d {home}/.claude/settings.json", "rm -rf ~/.config",
        "echo x > ~/.local/state/dibs/server/tokens.json",
    )),
    Attempt("the same, hidden in a script", REPORTED, (
        "rm -rf .claude", "mv .claude .x", "echo '{\"disableAllHooks\": true}' > .claude/settings.json",
        "chmod 000 .claude/settings.json", "chmod 500 .claude", "rm .claude/settings.json",
        "ln -sf /dev/null .claude/settings.json", ": > .claude/settings.local.json",
        "rm -rf .codex .gemini", "rm .github/hooks/dibs.json", "rm -rf .opencode", "rm .cursor/hooks.json",
        "echo '{}' > .mcp.json", "rm .git/hooks/pre-commit",
        "rm -rf .git/hooks", "chmod -x .git/hooks/pre-commit", "echo exit > .git/hooks/reference-transaction",
        "git config core.hooksPath /dev/null", "git config core.hooksPath /x; git remote add o /x",
        "git config --global core.hooksPath /dev/null", "git config include.path /tmp/x",
        "echo x > .git/info/attributes", "echo 'guard.on_error = \"allow\"' > dibs.toml", "rm dibs.toml",
        "echo 'guard = [broken' > dibs.toml",
        "git config core.worktree /tmp",
        "git clean -qfdx", "echo '{\"disableAllHooks\": true}' > ~/.claude/settings.json", "rm -rf ~/.claude",
        "printf '[features]\\nhooks = false\\n' >> ~/.codex/config.toml",
        "echo '{\"hooksConfig\": {\"enabled\": false}}' > ~/.gemini/settings.json",
    )),
)  # fmt: skip


def table() -> str:
    """Return the rows as they appear in the docs."""
    rows = [f"| {one.says} | {one.happens} |" for one in ATTEMPTS]
    return "\n".join(["| attempt | result |", "|---|---|", *rows])


#: Commands that change nothing that guards agents; they are neither blocked nor reported.
HARMLESS = (
    "git config user.name x", "git config core.hooksPath", "git config --get core.hooksPath",
    "git remote add other https://example.com/x", "git config --list", "chmod +x run.sh", "chmod 755 src",
    "chmod 755 .", "chmod 700 .",
    "chmod -R u+w src", "chmod -R 644 src", "chmod -R 755 .", "chmod -R go-w .", "chmod -R u=rwX,go=rX .",
    "chmod -R +x .", "git -c core.hooksPath=/dev/null status", "ls -la .claude", "cat .git/config",
    "cat ~/.claude/settings.json", "rm -f .git/index.lock", "rm -f .git/refs/heads/main.lock",
    "mkdir -p .claude/commands && echo x > .claude/commands/fix.md", "rm -rf build",
    "git init /tmp/other-repo",
    "GIT_CONFIG_GLOBAL=/dev/null git log", "mkdir -p .github/workflows && echo x > .github/workflows/ci.yml",
    "rm -rf .github/workflows", "git clean -fdx src", "git fetch", "git tag v9", "echo x > ~/notes.txt",
    "git branch topic", "HOME=/tmp/c true; git tag v8", "HOME={home} git tag v7", "HOME=/tmp/c git log",
    "git config alias.st status", "git push --receive-pack=git-receive-pack . HEAD:refs/heads/pushed",
    "python3 -c \"import json; p='.claude/settings.json'; json.load(open(p))\"",
)  # fmt: skip
