"""What an agent may do at a tool call, and the answer to each event."""

import os

import pytest
from tests.services.guards import Guarded

from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import EXCLUSIVE, SHARED
from dibs.core.toolcalls.values import EventKind, How, Touch, Word
from dibs.local.last_read import START, last_read
from dibs.services.talk.mail import Mail

ONE, TWO = "claude-11111111", "claude-22222222"
A, B = "11111111-a", "22222222-b"


def settings(tmp_path, **given):
    return Guarded(tmp_path / "repo", **given)


def test_the_first_edit_claims_the_file(guarded):
    verdict = guarded.edit(A, "src/a.py")

    assert verdict.word == Word.PASS
    assert guarded.held() == {(ONE, "src/a.py")}


def test_an_edit_of_ones_own_file_is_allowed_and_claims_nothing_more(guarded):
    guarded.edit(A, "src/a.py")
    before = guarded.kinds()

    assert guarded.edit(A, "src/a.py").word == Word.PASS
    assert guarded.kinds() == before


def test_a_file_that_a_call_reads_and_writes_is_claimed_once(tmp_path):
    guarded = settings(tmp_path, guard_reads=True)

    verdict = guarded.edit(A, Touch("a.py", How.READ), Touch("a.py"))

    assert verdict.word == Word.PASS
    assert guarded.store.look(lambda rows: [(c.pattern, c.mode) for _, c in rows.claims()]) == [
        ("a.py", EXCLUSIVE)
    ]


def test_an_edit_inside_ones_own_folder_needs_no_other_claim(guarded):
    guarded.edit(A, "x")
    guarded.claim(ONE, "src/")

    assert guarded.edit(A, "src/deep/a.py").word == Word.PASS
    assert guarded.held() == {(ONE, "x"), (ONE, "src/")}


def test_an_edit_of_another_agents_file_is_blocked_with_owner_reason_time_and_next_step(guarded):
    guarded.claim("codex-7", "src/a.py", reason="rewrite it", task="task-4")

    verdict = guarded.edit(A, "src/a.py")

    assert verdict.word == Word.DENY
    for fact in (
        "src/a.py",
        "codex-7",
        "rewrite it",
        "task-4",
        "5m",
        "dibs ask src/a.py",
        "--wait",
    ):
        assert fact in verdict.text
    assert verdict.note == f"dibs: blocked {ONE} from changing src/a.py, held by codex-7"
    assert guarded.kinds()[-1] == "write_refused"


@pytest.mark.parametrize("spelled", ["SRC/A.py", "src/../src/a.py", "./src//a.py", "link.py"])
def test_every_spelling_of_another_agents_file_is_blocked(guarded, spelled):
    guarded.write("src/a.py")
    os.symlink("src/a.py", f"{guarded.root}/link.py")
    guarded.claim("codex-7", "src/a.py")

    assert guarded.edit(A, spelled).word == Word.DENY
    assert guarded.edit(A, f"{guarded.root}/{spelled}").word == Word.DENY


def test_the_same_path_in_another_worktree_is_the_same_file(guarded, tmp_path):
    guarded.git("worktree", "add", "-q", str(tmp_path / "other"))
    guarded.claim("codex-7", "README.md")

    assert guarded.edit(A, str(tmp_path / "other" / "README.md")).word == Word.DENY


@pytest.mark.parametrize("path", ["/etc/hosts", "../else.py", "/dev/null", ".git/COMMIT_EDITMSG"])
def test_files_outside_the_repository_are_not_claimed(guarded, path):
    assert guarded.edit(A, path).word == Word.PASS
    assert guarded.held() == set()


def test_one_denied_path_blocks_the_whole_call_and_each_is_named(guarded):
    guarded.claim("codex-7", "a", "b")

    verdict = guarded.edit(A, "free", "a", "b")

    assert verdict.word == Word.DENY
    assert "- a: codex-7 holds it" in verdict.text
    assert "- b: codex-7 holds it" in verdict.text
    assert guarded.held() == {("codex-7", "a"), ("codex-7", "b")}


@pytest.mark.parametrize(
    "path", ["dibs.toml", ".claude/settings.json", ".git/hooks/pre-commit", ".git/config"]
)
def test_files_that_configure_tools_are_reserved_for_humans(guarded, path):
    verdict = guarded.edit(A, path)

    assert verdict.word == Word.DENY
    assert "human" in verdict.text
    assert "write_refused" in guarded.kinds()


def test_files_that_configure_tools_are_allowed_if_the_settings_say_so(tmp_path, own_git):
    guarded = settings(tmp_path, commit_guarded="anyone")

    assert guarded.edit(A, "dibs.toml").word == Word.PASS


def test_human_only_files_are_blocked_directly_and_inside_a_deleted_folder(tmp_path, own_git):
    guarded = settings(tmp_path, guard_human=("legal/*.txt",))

    assert guarded.edit(A, "legal/terms.txt").word == Word.DENY
    assert guarded.edit(A, Touch("legal", How.DELETE, deep=True)).word == Word.DENY
    assert guarded.edit(A, "legal/notes.md").word == Word.PASS


def test_free_files_need_no_claim(tmp_path, own_git):
    guarded = settings(tmp_path, guard_free=("build/", "*.log"))

    for session in (A, B):
        assert guarded.edit(session, "build/x/y.o", "run.log").word == Word.PASS
    assert guarded.held() == set()


def test_with_auto_claim_off_an_edit_needs_a_claim(tmp_path, own_git):
    guarded = settings(tmp_path, guard_auto_claim="off")

    refused = guarded.edit(A, "a.py")
    guarded.claim(ONE, "a.py")

    assert refused.word == Word.DENY
    assert "dibs claim a.py" in refused.text
    assert guarded.edit(A, "a.py").word == Word.PASS


def test_with_auto_claim_directory_the_folder_is_claimed(tmp_path, own_git):
    guarded = settings(tmp_path, guard_auto_claim="directory")

    guarded.edit(A, "src/a.py", "top.py")

    assert guarded.held() == {(ONE, "src/"), (ONE, "top.py")}
    assert guarded.edit(B, "src/b.py").word == Word.DENY


def test_if_the_folder_is_partly_held_only_the_file_is_claimed(tmp_path, own_git):
    guarded = settings(tmp_path, guard_auto_claim="directory")
    guarded.claim("codex-7", "src/b.py")

    assert guarded.edit(A, "src/a.py").word == Word.PASS
    assert (ONE, "src/a.py") in guarded.held()


def test_reads_claim_nothing_by_default(tmp_path, own_git):
    guarded = settings(tmp_path)
    guarded.claim("codex-7", "a.py")

    assert guarded.read(A, "a.py").word == Word.PASS


def test_with_reads_enabled_readers_share_and_exclude_writers(tmp_path, own_git):
    guarded = settings(tmp_path, guard_reads=True)

    assert guarded.read(A, "a.py").word == Word.PASS
    assert guarded.read(B, "a.py").word == Word.PASS
    assert guarded.edit(B, "a.py").word == Word.DENY
    assert {h.claim.mode for h in guarded.claims.all()[0]} == {SHARED}


def test_deleting_a_folder_is_blocked_if_another_agent_holds_anything_in_it(guarded):
    guarded.claim("codex-7", "src/deep/a.py")

    assert guarded.edit(A, Touch("src", How.DELETE, deep=True)).word == Word.DENY
    assert guarded.edit(A, Touch("docs", How.DELETE, deep=True)).word == Word.PASS
    assert guarded.held() == {("codex-7", "src/deep/a.py")}


def test_a_change_to_the_whole_tree_conflicts_only_with_agents_in_it(guarded, tmp_path):
    other = tmp_path / "other"
    guarded.git("worktree", "add", "-q", str(other))
    elsewhere = Guarded(other, engine=guarded.engine)
    elsewhere.edit(B, "README.md")
    whole = Touch(".", deep=True)

    assert guarded.edit(A, whole).word == Word.PASS
    guarded.edit("33333333", "a.py")
    assert guarded.edit(A, whole).word == Word.DENY


def test_a_shell_command_is_checked_by_what_it_would_write(guarded):
    guarded.claim("codex-7", "a.py")

    assert guarded.shell(A, "echo x > a.py").word == Word.DENY
    assert guarded.shell(A, "cat a.py").word == Word.PASS
    assert guarded.shell(A, "echo x > b.py").word == Word.PASS
    assert (ONE, "b.py") in guarded.held()


def test_every_call_renews_the_claims(guarded):
    guarded.edit(A, "a.py")
    for _ in range(3):
        guarded.clock.advance(200)
        guarded.hear(A, EventKind.AFTER)

    assert guarded.held() == {(ONE, "a.py")}


def test_a_stopped_agent_runs_no_tool(guarded):
    guarded.edit(A, "a.py")
    guarded.agents.stop(Caller("anna", "human"), ONE, reason="runs in circles")

    verdict = guarded.edit(A, "b.py")

    assert verdict.word == Word.DENY
    assert "runs in circles" in verdict.text
    assert f"`dibs agent join --agent {ONE}`" in verdict.text
    assert guarded.hear(A, EventKind.AFTER).word == Word.PASS


def test_the_start_of_a_stopped_agents_session_shows_who_can_let_it_back_in(guarded):
    guarded.start(A)
    guarded.agents.stop(Caller("anna", "human"), ONE, reason="runs in circles")

    verdict = guarded.start(A, source="resume")

    assert verdict.word == Word.TELL
    for said in (verdict.text, verdict.note):
        assert "runs in circles" in said
        assert f"`dibs agent join --agent {ONE}`" in said


def test_a_session_start_joins_briefs_fully_and_is_recorded_once(guarded):
    verdict = guarded.start(A, model="opus")

    assert verdict.word == Word.TELL
    assert ONE in verdict.text
    assert verdict.delivery == 1
    assert verdict.reader == ONE
    guarded.start(A, source="compact")
    assert guarded.kinds().count("agent_guarded") == 1
    assert guarded.agents.show(ONE)[0].agent.model == "opus"


def deliver(guarded, verdict):
    from dibs.services.briefing.service import Briefings

    assert Briefings(guarded.store).delivered(Caller(verdict.reader), verdict.delivery)


def test_after_a_tool_only_messages_are_delivered_and_at_a_prompt_all_changes(guarded):
    deliver(guarded, guarded.start(A))
    guarded.claim("codex-7", "b.py")

    assert guarded.hear(A, EventKind.AFTER).word == Word.PASS
    told = guarded.hear(A, EventKind.PROMPTED)
    assert "codex-7" in told.text
    deliver(guarded, told)
    assert guarded.hear(A, EventKind.PROMPTED).word == Word.PASS
    Mail(guarded.store).say(Caller("codex-7"), ONE, "look at b.py")
    assert "look at b.py" in guarded.hear(A, EventKind.AFTER).text


def test_no_briefing_is_prepared_for_an_agent_that_cannot_read_it(guarded):
    guarded.start(A, listens=False)
    guarded.claim("codex-7", "b.py")
    Mail(guarded.store).say(Caller("codex-7"), ONE, "look at b.py")

    assert guarded.hear(A, EventKind.AFTER, tells=False).word == Word.PASS
    verdict = guarded.hear(A, EventKind.AFTER)
    assert verdict.delivery == 1
    assert "look at b.py" in verdict.text


def test_after_context_compaction_the_full_briefing_waits_until_it_can_be_read(guarded):
    deliver(guarded, guarded.start(A))
    guarded.claim("codex-7", "b.py")
    deliver(guarded, guarded.hear(A, EventKind.PROMPTED))
    guarded.hear(A, EventKind.COMPACTED, listens=False)

    again = guarded.hear(A, EventKind.AFTER)

    assert "codex-7" in again.text
    deliver(guarded, again)
    assert guarded.hear(A, EventKind.AFTER).word == Word.PASS


def reads_of(guarded):
    return {path: at for path, at in last_read(guarded.repository, ONE).items() if path != START}


@pytest.mark.parametrize(
    "command",
    ["cat src/a.py", "sed -n 1,9p src/a.py", "cd src && head -3 a.py", "grep -n x src/a.py | tail -1",
     "rg x src/*.py", "cat src/a.py > copy.txt"],
)  # fmt: skip
def test_files_that_a_command_shows_are_recorded_as_read_and_not_claimed(guarded, command):
    guarded.write("src/a.py")
    head = guarded.git("rev-parse", "HEAD")

    assert guarded.shell(A, command).word != Word.DENY

    assert reads_of(guarded) == {"src/a.py": head}
    assert {pattern for _, pattern in guarded.held()} <= {"copy.txt"}


@pytest.mark.parametrize("command", ["cp src/a.py b.py", "wc -l src/a.py", "cat missing", "ls src"])
def test_files_that_a_command_does_not_show_are_not_recorded_as_read(guarded, command):
    guarded.write("src/a.py")

    guarded.shell(A, command)

    assert reads_of(guarded) == {}


def test_the_commit_at_which_a_session_started_is_recorded_once(guarded):
    guarded.start(A)
    first = guarded.git("rev-parse", "HEAD")
    guarded.write("src/a.py")
    guarded.commit()
    guarded.edit(A, "src/a.py")
    guarded.start(A)

    assert last_read(guarded.repository, ONE) == {START: first}


def test_a_read_that_is_heard_only_when_it_has_ended_is_recorded_too(guarded):
    head = guarded.git("rev-parse", "HEAD")
    for path in ("README.md", "src/a.py"):  # the second call needs no heartbeat
        guarded.hear(A, EventKind.AFTER, Touch(path, How.READ), tool="Read")

    assert reads_of(guarded) == {"README.md": head, "src/a.py": head}


def test_a_read_is_recorded_with_the_commit_that_was_checked_out(guarded):
    guarded.read(A, "README.md")
    first = guarded.git("rev-parse", "HEAD")
    guarded.write("src/a.py")
    guarded.commit()
    guarded.read(A, "src/a.py", "missing.py")
    guarded.edit(A, "README.md")
    now = guarded.git("rev-parse", "HEAD")
    assert reads_of(guarded) == {
        "README.md": first,
        "src/a.py": now,
        "missing.py": now,
    }
