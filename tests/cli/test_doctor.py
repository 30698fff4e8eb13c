"""``dibs doctor``: findings about agents and guards, and ``--prove`` with real hooks and real git."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import dibs as dibs_package
from dibs.core.patterns.filing import Range
from dibs.git.hook_scripts import marked
from dibs.project.project import open_project
from dibs.services.guard.trial_claims import TrialClaim

RUN = Path(dibs_package.__file__).parent / "guard" / "run.py"
REAL = f"'{sys.executable}' -I -S '{RUN}' claude || exit 2"


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Start without agents and without consent."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Someone")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "someone@example.com")


def hook(folder, command, matcher="Write|Edit", **more):
    """Give Claude Code a hook, in the repository or in the home folder."""
    entry = {"type": "command", "command": command, "timeout": 10, **more}
    settings = {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [entry]}]}}
    (folder / ".claude").mkdir(exist_ok=True)
    (folder / ".claude" / "settings.json").write_text(json.dumps(settings))


def proofs(answer):
    return [(p["guard"], p["what"], p["outcome"]) for p in answer.json["proofs"]]


def traces(repo):
    """Return what a guard test must leave unchanged."""
    git = ["git", "-C", str(repo)]
    listed = [
        subprocess.run([*git, *words], capture_output=True, text=True, check=False).stdout
        for words in (["for-each-ref"], ["worktree", "list"], ["status", "--porcelain"])
    ]
    sessions = repo / ".git" / "dibs" / "sessions"
    return [*listed, sorted(sessions.iterdir()) if sessions.exists() else []]


def rows(*prefixes):
    """Return the keys of the store with these prefixes."""
    project = open_project()
    try:
        return project.engine.view(lambda t: [k for p in prefixes for k, _ in t.scan(Range(p))])
    finally:
        project.close()


def test_a_hook_that_blocks_passes_and_the_test_leaves_nothing_behind(dibs, repo):
    hook(repo, REAL)
    dibs("status")
    before = traces(repo)

    answer = dibs("doctor", "--prove", "--json")

    assert proofs(answer) == [("claude", "PreToolUse, write", "proved")]
    assert ".dibs-prove-" in answer.json["proofs"][0]["said"]
    assert answer.status == 0
    assert traces(repo) == before
    assert dibs("agent", "ls", "--json").json["agents"] == []
    assert dibs("status", "--json").json["claims"] == []
    assert rows("session/", "seat/", "guarded/", "agent/", "beat/") == []


def test_a_guard_test_leaves_no_trace_in_what_agents_and_people_read(dibs, repo):
    dibs("init", "--agents", "claude,cursor", "--board")
    dibs("claim", "a.txt", agent="alice")

    assert dibs("doctor", "--prove").status == 0

    dibs("orchestrate", "--once")  # writes the pages of the board
    views = ("status", "log", "log --json", "log --summary", "agent ls")
    shown = {words: dibs(*words.split()).out for words in views}
    shown |= {words: dibs(words, agent="bob").out for words in ("brief", "inbox")}
    shown["pages"] = "".join(page.read_text() for page in (repo / "work").rglob("*.md"))
    assert "alice" in shown["brief"]
    assert "alice" in shown["log"]
    assert "alice" in shown["pages"]
    assert [words for words, text in shown.items() if "prove" in text] == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("true # dibs hook claude", "the write was allowed: exit status 0"),
        (
            "echo no >&2; exit 2 # dibs hook claude",
            "it blocked the write, but not because of the claim: no",
        ),
        ("exit 1 # dibs hook claude", "the write was allowed: exit status 1"),
        ("/nowhere/dibs hook claude", "the write was allowed: "),
        (
            "/nowhere/dibs hook claude || exit 2",
            "it blocked the write, but not because of the claim: ",
        ),
    ],
)
def test_a_hook_that_allows_the_write_or_blocks_blindly_is_not_a_guard(
    dibs, tmp_path, command, said
):
    hook(tmp_path / "home", command)

    answer = dibs("doctor", "--prove", "--json")

    assert answer.status == 65
    assert [p["outcome"] for p in answer.json["proofs"]] == ["failed"]
    assert answer.json["proofs"][0]["said"].startswith(said)


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_hook_that_hangs_is_killed_with_its_children_and_is_not_a_guard(dibs, repo, tmp_path):
    pid = tmp_path / "pid"
    hook(tmp_path / "home", f"sleep 60 & echo $! > {pid}; wait # dibs hook claude", timeout=4)

    answer = dibs("doctor", "--prove")

    assert answer.status == 65
    assert "no answer before the timeout" in " ".join(answer.out.split())
    assert not is_running(int(pid.read_text()))


def test_a_matcher_that_matches_no_write_is_not_a_guard(dibs, repo):
    hook(repo, REAL, matcher="Read")

    answer = dibs("doctor", "--prove", "--json")

    assert answer.status == 65
    assert "matches no tool that writes" in answer.json["proofs"][0]["said"]


def test_prove_fails_if_no_guard_is_installed(dibs, repo):
    answer = dibs("doctor", "--prove")

    assert answer.status == 65
    assert "no guards are installed" in answer.out
    assert dibs("doctor").status == 0


@pytest.mark.parametrize(("born", "claims"), [(True, "project"), (False, "worktree")])
def test_each_git_hook_is_tested_with_a_real_commit_or_push(dibs, repo, born, claims):
    (repo / "dibs.toml").write_text(f'[worktree]\nclaims = "{claims}"\n')
    (repo / "mine.txt").write_text("staged")
    if born:
        subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run(["git", "add", "mine.txt"], check=True)
    dibs("git", "install")
    before = traces(repo)

    answer = dibs("doctor", "--prove", "--json")

    assert proofs(answer) == [
        ("git", "git commit", "proved"),
        ("git", "git commit --no-verify", "proved"),
        ("git", "git push", "proved"),
    ]
    assert answer.status == 0
    assert traces(repo) == before
    assert (repo / "mine.txt").read_text() == "staged"


def test_git_hooks_that_git_skips_in_a_linked_worktree_are_not_guards(
    dibs, repo, tmp_path, monkeypatch
):
    off = tmp_path / "off"
    off.write_text("[core]\n\thooksPath = /nowhere\n")
    config = tmp_path / "gitconfig"
    config.write_text(f'[includeIf "gitdir:**/worktrees/**"]\n\tpath = {off}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    dibs("git", "install")
    before = traces(repo)

    answer = dibs("doctor", "--prove", "--json")

    assert [p["said"] for p in answer.json["proofs"]] == ["git allowed it"] * 3
    assert answer.status == 65
    assert traces(repo) == before


def test_the_users_own_git_hooks_do_not_run_in_a_guard_test(dibs, repo):
    theirs = repo / ".git" / "hooks" / "pre-commit"
    theirs.write_text("#!/bin/sh\necho lint failed >&2\nexit 1\n")
    theirs.chmod(0o755)
    dibs("git", "install")

    answer = dibs("doctor", "--prove", "--json")

    assert answer.status == 0
    assert [p["outcome"] for p in answer.json["proofs"]] == ["proved"] * 3


def test_a_git_hook_that_dibs_would_not_write_is_reported_and_not_run(dibs, repo, tmp_path):
    dibs("git", "install")
    ours = repo / ".git" / "hooks" / "pre-commit"
    shebang, _, rest = ours.read_text().split("\n", 2)
    text = marked(rest.replace("python=", f"touch {tmp_path}/ran\npython=", 1))
    assert text.startswith(shebang)
    ours.write_text(text)

    answer = dibs("doctor", "--prove", "--json")

    first = answer.json["proofs"][0]
    assert (answer.status, first["what"], first["outcome"]) == (65, "git commit", "failed")
    assert "so it was not run: run `dibs git install`" in first["said"]
    assert not (tmp_path / "ran").exists()


def test_git_hooks_that_dibs_installed_are_not_reported_as_new(dibs, repo):
    dibs("agent", "join", agent="bob")
    dibs("doctor")
    dibs("git", "install")
    planted = repo / ".git" / "hooks" / "post-commit"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)

    found = dibs("doctor", "--json").json["findings"]

    told = [f["text"] for f in found if f["what"] == "git hooks"]
    assert told == ["the post-commit hook was added since the last check"]


def test_fix_removes_a_killed_git_hook_test_once_it_cannot_be_running(dibs, repo, tmp_path):
    """The user's own filter kills the doctor before its commit."""
    dibs("git", "install")
    (tmp_path / "attributes").write_text("* filter=end\n")
    (tmp_path / "gitconfig").write_text(
        f"[core]\n\tattributesFile = {tmp_path}/attributes\n"
        f'[filter "end"]\n\tclean = "kill -9 $(cat {tmp_path}/pid)"\n'
    )
    code = f"echo $$ > '{tmp_path}/pid'; exec '{sys.executable}' -m dibs doctor --prove"
    own = {**os.environ, "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig")}
    killed = subprocess.run(["sh", "-c", code], check=False, capture_output=True, env=own)
    (admin,) = (repo / ".git" / "worktrees").iterdir()
    folder = Path((admin / "gitdir").read_text().strip()).parent.parent

    early = dibs("doctor", "--fix", "--json").json["done"]
    assert killed.returncode == -9
    assert folder.exists()
    os.utime(admin, (1.0, 1.0))
    late = dibs("doctor", "--fix", "--json").json["done"]

    assert not [line for line in early if "killed guard test" in line]
    assert [line for line in late if "killed guard test" in line]
    assert not folder.exists()
    assert "dibs-prove" not in "".join(map(str, traces(repo)))


def test_two_doctors_at_once_get_the_same_results_and_leave_nothing_behind(dibs, repo):
    hook(repo, REAL)
    dibs("git", "install")
    before = traces(repo)
    words = [sys.executable, "-m", "dibs", "doctor", "--prove", "--json"]

    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [json.loads(one.communicate()[0])["proofs"] for one in both]

    assert [{p["outcome"] for p in proofs} for proofs in told] == [{"proved"}] * 2
    assert traces(repo) == before
    assert dibs("agent", "ls", "--json").json["agents"] == []


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_the_opencode_plug_in_is_tested_by_loading_it(dibs, repo, tmp_path):
    text = (Path(dibs_package.__file__).parent / "install" / "agents" / "opencode.js").read_text()
    words = json.dumps([sys.executable, "-I", "-S", str(RUN), "opencode"])
    (repo / ".opencode" / "plugin").mkdir(parents=True)
    plugin = repo / ".opencode" / "plugin" / "dibs.js"
    plugin.write_text(text.replace('"@DIBS_HOOK@"', words))

    answer = dibs("doctor", "--prove", "--json")
    plugin.unlink()
    own = tmp_path / "home" / ".config" / "opencode" / "plugin" / "dibs.js"
    own.parent.mkdir(parents=True)
    own.write_text(text.replace('"@DIBS_HOOK@"', '["true", "guard/run.py"]'))
    broken = dibs("doctor", "--prove", "--json")

    assert proofs(answer) == [
        ("opencode", "tool.execute.before, write", "proved"),
        ("opencode", "tool.execute.before, shell", "proved"),
    ]
    assert {outcome for _, _, outcome in proofs(broken)} == {"failed"}
    assert broken.status == 65


def server(file, *argv, **more):
    entry = {"command": argv[0], "args": list(argv[1:]), **more}
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"mcpServers": {"dibs": entry}}))


def test_the_mcp_server_is_tested_with_a_claim_that_it_must_deny(dibs, repo):
    pytest.importorskip("mcp")
    server(repo / ".mcp.json", sys.executable, "-P", "-m", "dibs", "mcp")

    answer = dibs("doctor", "--prove", "--json")

    assert ("claude", "mcp claim", "proved") in proofs(answer)
    assert answer.status == 0
    assert dibs("agent", "ls", "--json").json["agents"] == []


GRANTS = (
    "import json, sys\n"
    "for line in sys.stdin:\n"
    "    told = json.loads(line)\n"
    "    if 'id' in told:\n"
    "        result = {'structuredContent': {'granted': True}}\n"
    "        print(json.dumps({'jsonrpc': '2.0', 'id': told['id'], 'result': result}), flush=True)\n"
)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "raise SystemExit('a package is missing')",
            "the server did not answer: a package is missing",
        ),
        (GRANTS, "a claim on a held file was not denied"),
    ],
)
def test_a_server_that_does_not_answer_or_grants_everything_is_not_a_guard(
    dibs, tmp_path, code, said
):
    server(tmp_path / "home" / ".cursor" / "mcp.json", sys.executable, "-c", code)

    answer = dibs("doctor", "--prove", "--json")

    assert answer.status == 65
    assert [p["said"] for p in answer.json["proofs"] if p["guard"] == "cursor"] == [said]


def test_doctor_reports_which_agents_have_hooks_and_whether_they_are_accepted(dibs, repo):
    hook(repo, REAL)
    (repo / ".gemini").mkdir()
    inner = [{"type": "command", "command": "dibs hook gemini || exit 2"}]
    settings = {"hooks": {"BeforeTool": [{"hooks": inner}]}}
    (repo / ".gemini" / "settings.json").write_text(json.dumps(settings))

    answer = dibs("doctor", "--json")

    told = {a["agent"]: (a["guarded"], a["accepted"]) for a in answer.json["agents"]}
    assert told["claude"] == (True, "not needed")
    assert told["gemini"] == (True, "no")
    assert any("trust this folder" in f["text"] for f in answer.json["findings"])


def test_a_worktree_without_the_hooks_of_the_main_one_is_reported(dibs, repo, tmp_path):
    hook(repo, REAL)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    other = tmp_path / "other"
    subprocess.run(["git", "worktree", "add", "-q", "--detach", str(other)], check=True)

    found = dibs("doctor", "--json").json["findings"]

    command = f"dibs init --agents claude --repo {other}"
    assert f"{other} has no hooks for claude: run `{command}`" in [f["text"] for f in found]


def test_doctor_warns_if_agents_cannot_run_dibs(dibs, repo, tmp_path, monkeypatch):
    hook(repo, REAL)
    git = shutil.which("git")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(folder))

    without = dibs("doctor", "--json").json["findings"]
    (folder / "dibs").write_text("#!/bin/sh\n")
    (folder / "dibs").chmod(0o755)
    with_it = dibs("doctor", "--json").json["findings"]

    assert [f["level"] for f in without if f["what"] == "path"] == ["warn"]
    assert [f for f in with_it if f["what"] == "path"] == []


def _changed(path, change):
    settings = json.loads(path.read_text())
    change(settings)
    path.write_text(json.dumps(settings))


def _removed(repo):
    _changed(repo / ".claude" / "settings.local.json", lambda s: s["hooks"].pop("PreToolUse"))


def _narrowed(repo):
    def change(settings):
        settings["hooks"]["PreToolUse"][0]["matcher"] = "Write|Edit"

    _changed(repo / ".claude" / "settings.local.json", change)


def _broken(repo):
    (repo / ".claude" / "settings.local.json").write_text('{"hooks": ')


def _switched(repo):
    settings = {"disableAllHooks": True}
    (repo / ".claude" / "settings.json").write_text(json.dumps(settings))


def _moved_away(repo):
    """Let the hooks name an installation that no longer exists."""
    path = repo / ".claude" / "settings.local.json"
    path.write_text(path.read_text().replace(str(RUN), "/gone/dibs/guard/run.py"))


def _worktree_added(repo):
    words = ["git", "worktree", "add", "-q", "--detach", str(repo.parent / "my other tree")]
    subprocess.run(words, cwd=repo, check=True)


def _hook_disabled(repo):
    (repo / ".git" / "hooks" / "pre-push").chmod(0o644)


def _hooks_path_changed(repo):
    subprocess.run(["git", "config", "core.hooksPath", "/nowhere"], cwd=repo, check=True)


@pytest.mark.parametrize(
    ("damage", "guard", "what"),
    [
        (_narrowed, "claude", "shell"),
        (_broken, "claude", "hooks"),
        (_switched, "claude", "hooks"),
        (_hooks_path_changed, "git", "pre-commit"),
    ],
)
def test_prove_fails_if_a_guard_that_init_installed_is_missing(dibs, repo, damage, guard, what):
    more = ["--no-git-gates"] if guard == "claude" else []
    dibs("init", "--agents", "claude", "--no-mcp", *more)
    damage(repo)

    answer = dibs("doctor", "--prove", "--json")

    assert (guard, what, "failed") in proofs(answer)
    assert answer.status == 65
    assert not answer.json["well"]
    told = [f for f in answer.json["findings"] if f["what"] == guard and f["level"] == "warn"]
    assert told
    assert guard != "git" or len(told) == 1


def test_what_dibs_toml_starts_by_itself_is_reported_until_a_human_accepts_it(dibs, repo):
    dibs("init", "--agents", "none")
    (repo / "dibs.toml").write_text('[[on]]\nevent = "commit"\ncommand = ["make", "lint"]\n')

    def told():
        return [f["text"] for f in dibs("doctor", "--json").json["findings"]]

    waiting = (
        "dibs.toml starts this by itself: on commit: make lint; a human can accept it: dibs init"
    )
    assert waiting in told()
    dibs("init", "--agents", "none", "--yes")
    assert waiting not in told()


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_hooks_that_skip_a_tool_that_writes_are_reported_until_init_runs_again(dibs, repo, event):
    def change(settings):
        group = settings["hooks"][event][0]
        assert "|Monitor|" in group["matcher"]
        group["matcher"] = group["matcher"].replace("|Monitor|", "|")
        settings["hooks"].pop("PostToolUseFailure")

    def told():
        found = dibs("doctor", "--json").json["findings"]
        return [f["text"] for f in found if f["what"] == "claude" and "skip Monitor" in f["text"]]

    dibs("init", "--agents", "claude", "--no-mcp", "--no-git-gates")
    assert told() == []
    _changed(repo / ".claude" / "settings.local.json", change)
    assert told() == [
        "its hooks are older than this version and skip Monitor: run `dibs init --agents claude`"
    ]
    dibs("init", "--agents", "claude", "--no-mcp", "--no-git-gates")
    assert told() == []


def test_a_setting_of_the_repository_takes_precedence_over_the_users(dibs, repo, tmp_path):
    dibs("init", "--agents", "claude", "--no-mcp", "--no-git-gates")
    (tmp_path / "home" / ".claude").mkdir()
    users = tmp_path / "home" / ".claude" / "settings.json"
    users.write_text(json.dumps({"disableAllHooks": True}))
    assert dibs("doctor", "--json").json["agents"][0]["accepted"] == "switched off"

    _changed(repo / ".claude" / "settings.local.json", lambda s: s.update(disableAllHooks=False))

    assert dibs("doctor", "--json").json["agents"][0]["accepted"] == "not needed"


def _hints(answer):
    """Return the commands that the findings suggest."""
    texts = [f["text"] for f in answer.json["findings"] if f["level"] != "ok"]
    return [words for text in texts for words in re.findall(r"run `dibs ([^`]+)`", text)]


@pytest.mark.parametrize(
    "damage",
    [_removed, _moved_away, _hook_disabled, _worktree_added],
)
def test_the_command_that_a_finding_suggests_fixes_it(dibs, repo, damage):
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    dibs("init", "--agents", "claude", "--no-mcp")
    damage(repo)
    hints = _hints(dibs("doctor", "--json"))

    assert hints
    for words in hints:
        assert dibs(*shlex.split(words)).status == 0

    answer = dibs("doctor", "--prove", "--json")
    assert answer.status == 0
    assert _hints(answer) == []
    assert sum(what != "mcp claim" for _, what, _ in proofs(answer)) == 5


def test_a_settings_file_that_cannot_be_read_has_to_be_fixed_before_the_suggested_command(
    dibs, repo
):
    dibs("init", "--agents", "claude", "--no-mcp")
    settings = repo / ".claude" / "settings.local.json"
    before = settings.read_text()
    _broken(repo)

    found = [f["text"] for f in dibs("doctor", "--json").json["findings"]]
    assert (
        f"hooks: no hook blocks writes: fix {settings}, then run `dibs init --agents claude`"
        in found
    )

    settings.write_text(before)
    assert dibs("init", "--agents", "claude").status == 0
    assert dibs("doctor", "--prove").status == 0


def test_the_line_for_the_shell_profile_puts_dibs_on_the_path(dibs, repo, monkeypatch, tmp_path):
    hook(repo, REAL)
    (tmp_path / "git").symlink_to(shutil.which("git"))
    monkeypatch.setenv("PATH", str(tmp_path))

    (text,) = [f["text"] for f in dibs("doctor", "--json").json["findings"] if f["what"] == "path"]

    line = text.partition("to your shell profile: ")[2].strip("`")
    shell = ["/bin/sh", "-c", f"{line}; command -v dibs"]
    assert subprocess.run(shell, capture_output=True, check=False, env={"PATH": "/usr/bin"}).stdout


def test_the_last_line_counts_the_guards_and_the_warnings(dibs, repo):
    dibs("init", "--agents", "claude", "--no-mcp")

    *_, guards, health = dibs("doctor", "--prove").out.splitlines()

    assert guards == "all 5 guards blocked the test write"
    assert re.fullmatch(r"healthy(, \d+ warnings?)?", health)


@pytest.mark.parametrize("name", ["codex", "copilot"])
def test_a_guard_that_its_agent_skips_fails_the_test(dibs, repo, name):
    dibs("init", "--agents", name, "--no-mcp")

    done = dibs("doctor", "--prove", "--json")

    assert done.status == 65
    (skipped,) = [proof for proof in done.json["proofs"] if proof["outcome"] == "failed"]
    assert (skipped["guard"], skipped["what"]) == (name, "NOT active until trusted")
    assert f"run `{name}` here" in skipped["said"]


def test_accept_without_fix_is_refused(dibs, repo):
    done = dibs("doctor", "--accept")

    assert done.status == 64
    assert "doctor: --accept needs --fix (run: dibs doctor --fix --accept)" in done.err


def test_copilot_is_guarded_by_claudes_hooks_and_reads_its_servers(dibs, repo, monkeypatch):
    program = repo.parent / "bin" / "copilot"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 1.0.102\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    dibs("init", "--agents", "claude")

    (row,) = [one for one in dibs("doctor", "--json").json["agents"] if one["agent"] == "copilot"]

    assert row["guarded"]
    assert row["accepted"] == "no"
    assert row["mcp"] == [str(repo / ".mcp.json")]
    assert re.search(r"(?m)^copilot +1.0.102 +claude's +no +yes$", dibs("doctor").out)


def test_each_guard_is_shown_as_soon_as_it_is_tested(dibs, repo, tmp_path):
    """The second hook waits until the line of the first one has been read."""
    import pexpect

    mark = tmp_path / "seen"
    wait = f"while [ ! -e {mark} ]; do sleep 0.05; done; {REAL}"
    entries = [{"type": "command", "command": command, "timeout": 30} for command in (REAL, wait)]
    groups = [{"matcher": "Write", "hooks": [entry]} for entry in entries]
    (tmp_path / "home" / ".claude").mkdir()
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.write_text(json.dumps({"hooks": {"PreToolUse": groups}}))

    words = ["-m", "dibs", "doctor", "--prove"]
    child = pexpect.spawn(sys.executable, words, encoding="utf-8", timeout=30)
    child.expect("blocked.*claude.*write")
    mark.touch()
    child.expect_exact("all 2 guards blocked the test write")
    child.expect(pexpect.EOF)


def test_fix_removes_what_a_killed_guard_test_left_behind(dibs, repo):
    project = open_project()
    scratch = TrialClaim(project.store, project.place.repository.state)
    scratch.__enter__()
    dibs("release", "--all", agent=scratch.holder)
    project.close()

    answer = dibs("doctor", "--fix", "--json")

    assert f"removed {scratch.holder}: left behind by a guard test" in answer.json["done"]
    assert dibs("agent", "ls", "--json").json["agents"] == []


def test_a_hook_that_also_blocks_unclaimed_files_is_not_a_guard(dibs, tmp_path):
    deny = (
        "f=$(cat); h=$(printf %s \"$f\" | sed 's/.*dibs-prove-\\([0-9a-f]*\\).*/\\1/');"
        ' echo "prove-$h holds it" >&2; exit 2 # dibs hook claude'
    )
    hook(tmp_path / "home", deny)

    answer = dibs("doctor", "--prove", "--json")

    assert answer.status == 65
    assert answer.json["proofs"][0]["said"].startswith("it blocks every write: ")
