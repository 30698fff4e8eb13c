"""``dibs doctor``: what it tells of agents and their guards, and ``--prove``, by real hooks and real git."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import dibs as dibs_package
from dibs.core.patterns.filing import Range
from dibs.project.project import open_project
from dibs.services.guard.trial_claims import TrialClaim

RUN = Path(dibs_package.__file__).parent / "guard" / "run.py"
REAL = f"'{sys.executable}' -I -S '{RUN}' claude || exit 2"


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """No agent, and no consent, but what a test makes."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Somebody")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "somebody@example.com")


def hook(repo, command, matcher="Write|Edit", **more):
    """Give Claude Code a hook."""
    entry = {"type": "command", "command": command, "timeout": 10, **more}
    settings = {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [entry]}]}}
    (repo / ".claude").mkdir(exist_ok=True)
    (repo / ".claude" / "settings.json").write_text(json.dumps(settings))


def proofs(answer):
    return [(p["guard"], p["what"], p["outcome"]) for p in answer.json["proofs"]]


def traces(repo):
    """Return what a proof must leave as it was."""
    git = ["git", "-C", str(repo)]
    listed = [
        subprocess.run([*git, *words], capture_output=True, text=True, check=False).stdout
        for words in (["for-each-ref"], ["worktree", "list"], ["status", "--porcelain"])
    ]
    sessions = repo / ".git" / "dibs" / "sessions"
    return [*listed, sorted(sessions.iterdir()) if sessions.exists() else []]


def rows(*prefixes):
    """Return the keys of the store that begin so."""
    project = open_project()
    try:
        return project.engine.view(lambda t: [k for p in prefixes for k, _ in t.scan(Range(p))])
    finally:
        project.close()


def test_a_hook_that_refuses_is_proved_and_nothing_is_left_of_the_proof(dibs, repo):
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


def test_a_proof_leaves_no_trace_in_what_agents_and_people_read(dibs, repo):
    dibs("init", "--agents", "claude,codex", "--board")
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


def test_entries_of_a_proof_are_shown_when_its_agent_is_named(dibs, repo):
    hook(repo, REAL)
    said = dibs("doctor", "--prove", "--json").json["proofs"][0]["said"]
    holder = "prove-" + said.partition(".dibs-prove-")[2][:8]

    assert [e["kind"] for e in dibs("log", "--agent", holder, "--json").json][1:] == [
        "lock_acquired", "lock_released", "agent_exited",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("true # dibs hook claude", "the write was let pass: exit status 0"),
        ("echo no >&2; exit 2 # dibs hook claude", "it refused, but not because of the claim: no"),
        ("exit 1 # dibs hook claude", "the write was let pass: exit status 1"),
        ("/nowhere/dibs hook claude", "the write was let pass: "),
        ("/nowhere/dibs hook claude || exit 2", "it refused, but not because of the claim: "),
    ],
)
def test_a_hook_that_lets_pass_or_refuses_blindly_is_no_guard(dibs, repo, command, said):
    hook(repo, command)

    answer = dibs("doctor", "--prove", "--json")

    assert answer.status == 65
    assert [p["outcome"] for p in answer.json["proofs"]] == ["failed"]
    assert answer.json["proofs"][0]["said"].startswith(said)


def is_at_work(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_hook_that_hangs_is_killed_with_its_children_and_is_no_guard(dibs, repo, tmp_path):
    pid = tmp_path / "pid"
    hook(repo, f"sleep 60 & echo $! > {pid}; wait # dibs hook claude", timeout=4)

    answer = dibs("doctor", "--prove")

    assert answer.status == 65
    assert "did not answer in time" in " ".join(answer.out.split())
    assert not is_at_work(int(pid.read_text()))


def test_a_hook_that_also_refuses_what_is_nobodys_business_is_no_guard(dibs, repo):
    deny = (
        "f=$(cat); h=$(printf %s \"$f\" | sed 's/.*dibs-prove-\\([0-9a-f]*\\).*/\\1/');"
        ' echo "prove-$h holds it" >&2; exit 2 # dibs hook claude'
    )
    hook(repo, deny)

    answer = dibs("doctor", "--prove", "--json")

    assert answer.status == 65
    assert answer.json["proofs"][0]["said"].startswith("it refuses everything: ")


def test_a_matcher_that_fits_no_write_is_no_guard(dibs, repo):
    hook(repo, REAL, matcher="Read")

    answer = dibs("doctor", "--prove", "--json")

    assert answer.status == 65
    assert "fits no tool that writes" in answer.json["proofs"][0]["said"]


def test_where_no_guard_is_installed_nothing_is_proved_and_that_is_a_failure(dibs, repo):
    answer = dibs("doctor", "--prove")

    assert answer.status == 65
    assert "no guard is installed" in answer.out
    assert dibs("doctor").status == 0


@pytest.mark.parametrize("born", [True, False])
@pytest.mark.parametrize("claims", ["project", "worktree"])
def test_each_gate_of_git_is_proved_by_a_real_commit_or_push(dibs, repo, born, claims):
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


def test_gates_that_git_passes_over_in_a_linked_worktree_are_no_guard(
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

    assert [p["said"] for p in answer.json["proofs"]] == ["git let it pass"] * 3
    assert answer.status == 65
    assert traces(repo) == before


def test_a_refusal_of_somebody_elses_hook_proves_nothing(dibs, repo):
    theirs = repo / ".git" / "hooks" / "pre-commit"
    theirs.write_text("#!/bin/sh\necho lint failed >&2\nexit 1\n")
    theirs.chmod(0o755)
    dibs("git", "install")

    answer = dibs("doctor", "--prove", "--json")

    first = answer.json["proofs"][0]
    assert answer.status == 65
    assert (first["what"], first["outcome"]) == ("git commit", "failed")
    assert first["said"] == "git refused, but not because of the claim: lint failed"


def test_the_gates_that_dibs_installed_are_no_news_to_the_doctor(dibs, repo):
    dibs("doctor")
    dibs("git", "install")
    planted = repo / ".git" / "hooks" / "post-commit"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)

    found = dibs("doctor", "--json").json["findings"]

    told = [f["text"] for f in found if f["what"] == "git hooks"]
    assert told == ["the hook post-commit is new since the last look"]


def test_what_a_killed_proof_left_is_forgotten_by_fix(dibs, repo):
    project = open_project()
    scratch = TrialClaim(project.store, project.place.repository.state)
    scratch.__enter__()
    dibs("release", "--all", agent=scratch.holder)
    project.close()

    answer = dibs("doctor", "--fix", "--json")

    assert f"{scratch.holder} is forgotten: it was made for a proof" in answer.json["done"]
    assert dibs("agent", "ls", "--json").json["agents"] == []


def test_a_killed_proof_of_gates_is_cleaned_up_by_fix_once_it_must_be_over(dibs, repo, tmp_path):
    """A hook that was there before ours kills the doctor in the middle of its commit."""
    theirs = repo / ".git" / "hooks" / "pre-commit"
    theirs.write_text(f"#!/bin/sh\nkill -9 $(cat '{tmp_path}/pid')\n")
    theirs.chmod(0o755)
    dibs("git", "install")
    code = f"echo $$ > '{tmp_path}/pid'; exec '{sys.executable}' -m dibs doctor --prove"
    killed = subprocess.run(["sh", "-c", code], check=False, capture_output=True)
    (admin,) = (repo / ".git" / "worktrees").iterdir()
    folder = Path((admin / "gitdir").read_text().strip()).parent.parent

    early = dibs("doctor", "--fix", "--json").json["done"]
    assert killed.returncode == -9
    assert folder.exists()
    os.utime(admin, (1.0, 1.0))
    late = dibs("doctor", "--fix", "--json").json["done"]

    assert not [line for line in early if "proof that was killed" in line]
    assert [line for line in late if "proof that was killed" in line]
    assert not folder.exists()
    assert "dibs-prove" not in "".join(map(str, traces(repo)))


def test_two_doctors_at_once_prove_the_same_and_leave_nothing(dibs, repo):
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
def test_the_plug_in_of_opencode_is_proved_by_loading_it(dibs, repo):
    text = (Path(dibs_package.__file__).parent / "install" / "agents" / "opencode.js").read_text()
    words = json.dumps([sys.executable, "-I", "-S", str(RUN), "opencode"])
    (repo / ".opencode" / "plugin").mkdir(parents=True)
    plugin = repo / ".opencode" / "plugin" / "dibs.js"
    plugin.write_text(text.replace('"@DIBS_HOOK@"', words))

    answer = dibs("doctor", "--prove", "--json")
    plugin.write_text(text.replace('"@DIBS_HOOK@"', '["true", "guard/run.py"]'))
    broken = dibs("doctor", "--prove", "--json")

    assert proofs(answer) == [
        ("opencode", "tool.execute.before, write", "proved"),
        ("opencode", "tool.execute.before, shell", "proved"),
    ]
    assert {outcome for _, _, outcome in proofs(broken)} == {"failed"}
    assert broken.status == 65


def server(repo, *argv):
    entry = {"command": argv[0], "args": list(argv[1:])}
    (repo / ".mcp.json").write_text(json.dumps({"mcpServers": {"dibs": entry}}))


def test_the_server_is_proved_by_a_claim_that_it_refuses(dibs, repo):
    pytest.importorskip("mcp")
    server(repo, sys.executable, "-m", "dibs", "mcp")

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
        ("", "the server does not answer"),
        ("print('no JSON')", "the server does not answer"),
        (
            "raise SystemExit('a package is missing')",
            "the server does not answer: a package is missing",
        ),
        (GRANTS, "the claim of another's file was not refused"),
    ],
)
def test_a_server_that_is_silent_or_grants_everything_is_no_guard(dibs, repo, code, said):
    server(repo, sys.executable, "-c", code)

    answer = dibs("doctor", "--prove", "--json")

    assert answer.status == 65
    assert [p["said"] for p in answer.json["proofs"] if p["guard"] == "claude"] == [said]


def test_the_doctor_tells_which_agents_have_hooks_and_whether_they_are_accepted(dibs, repo):
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


def test_who_wrote_without_a_hook_is_told(dibs, repo):
    hook(repo, REAL)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    dibs("claim", "a.txt", agent="alice")
    (repo / "a.txt").write_text("a")
    dibs("commit", "-m", "work", agent="alice")

    found = dibs("doctor", "--json").json

    (told,) = [f for f in found["findings"] if f["what"] == "unguarded"]
    assert told["level"] == "warn"
    assert told["text"].endswith("alice (once)")
    assert [(c["agent"], c["guarded"]) for c in found["crew"]] == [("alice", False)]


def test_a_worktree_without_the_hooks_of_the_main_one_is_told(dibs, repo, tmp_path):
    hook(repo, REAL)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    other = tmp_path / "other"
    subprocess.run(["git", "worktree", "add", "-q", "--detach", str(other)], check=True)

    found = dibs("doctor", "--json").json["findings"]

    assert f"{other} has no hooks for claude: run `dibs init` there" in [f["text"] for f in found]


def test_where_agents_cannot_run_dibs_themselves_that_is_told(dibs, repo, tmp_path, monkeypatch):
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


def _taken_out(repo):
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


def _gate_off(repo):
    (repo / ".git" / "hooks" / "pre-push").chmod(0o644)


def _gates_elsewhere(repo):
    subprocess.run(["git", "config", "core.hooksPath", "/nowhere"], cwd=repo, check=True)


@pytest.mark.parametrize(
    ("damage", "guard", "what"),
    [
        (_taken_out, "claude", "hooks"),
        (_narrowed, "claude", "shell"),
        (_broken, "claude", "hooks"),
        (_switched, "claude", "hooks"),
        (_gate_off, "git", "pre-push"),
        (_gates_elsewhere, "git", "pre-commit"),
    ],
)
def test_a_guard_that_init_put_in_and_that_is_gone_fails_the_proof(dibs, repo, damage, guard, what):
    more = ["--no-git-gates"] if guard == "claude" else []
    dibs("init", "--agents", "claude", "--no-mcp", *more)
    damage(repo)

    answer = dibs("doctor", "--prove", "--json")

    assert (guard, what, "failed") in proofs(answer)
    assert answer.status == 65
    assert not answer.json["well"]
    told = [f for f in answer.json["findings"] if f["what"] == guard and f["level"] == "warn"]
    assert told


def test_a_word_of_the_repository_counts_before_that_of_the_user(dibs, repo, tmp_path):
    dibs("init", "--agents", "claude", "--no-mcp", "--no-git-gates")
    (tmp_path / "home" / ".claude").mkdir()
    users = tmp_path / "home" / ".claude" / "settings.json"
    users.write_text(json.dumps({"disableAllHooks": True}))
    assert dibs("doctor", "--json").json["agents"][0]["accepted"] == "switched off"

    _changed(repo / ".claude" / "settings.local.json", lambda s: s.update(disableAllHooks=False))

    assert dibs("doctor", "--json").json["agents"][0]["accepted"] == "not needed"


def test_an_end_that_is_not_well_never_says_well(dibs, repo):
    dibs("init", "--agents", "claude", "--no-mcp", "--no-git-gates")
    _switched(repo)

    end = dibs("doctor", "--prove").out.splitlines()[-1]

    assert end == "not guarded: 1 of 3 do not refuse"


@pytest.mark.parametrize("damage", [_narrowed, _gate_off])
def test_what_the_doctor_says_puts_a_guard_back_does(dibs, repo, damage):
    dibs("init", "--agents", "claude", "--no-mcp")
    damage(repo)
    told = " ".join(f["text"] for f in dibs("doctor", "--json").json["findings"])
    command = "git install" if "`dibs git install` puts it back" in told else "init"

    dibs(*command.split())

    answer = dibs("doctor", "--prove", "--json")
    assert answer.status == 0
    assert sum(what != "mcp claim" for _, what, _ in proofs(answer)) == 5


def test_an_agent_that_runs_the_hooks_of_another_is_shown_with_them(dibs, repo):
    dibs("init", "--agents", "vscode", "--no-git-gates", "--yes")

    rows = [line.split() for line in dibs("doctor").out.splitlines()]

    (row,) = [row for row in rows if row[:1] == ["vscode"]]
    assert row[2] == "claude's"
