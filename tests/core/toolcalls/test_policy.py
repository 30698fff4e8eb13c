"""Names of sessions, rules for paths, and the text of a blocked call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.claims.agents import check_own_id
from dibs.core.text.names import check_agent_id, distinct
from dibs.core.toolcalls.messages import NAMED, half_done, kept, note, refusal
from dibs.core.toolcalls.policy import (
    DeniedPath,
    GuardPolicy,
    PathRule,
    role_of,
    session_name,
    steers_git,
    subagent_name,
)
from dibs.core.toolcalls.values import How

HOT = ("**/CHANGELOG.md", "**/uv.lock")


def draw():
    return "0a1b2c3d"


@pytest.mark.parametrize(
    ("dialect", "session", "named", "id_"),
    [
        ("claude", "1a2b3c4d-5e6f-7a8b", "", "claude-1a2b3c4d"),
        ("codex", "019a2b3c-1111-22223333", "", "codex-22223333"),
        ("claude", "", "", "claude-p42"),
        ("claude", "1a2b3c4d", "tester", "tester"),
        ("claude", "1a2b3c4d", " my agent! ", "my-agent"),
        ("claude", "1a2b3c4d", "human", "agent-human"),
        ("claude", "1a2b3c4d", "Human-7", "agent-Human-7"),
        ("claude", "1a2b3c4d", "all", "agent-all"),
        ("claude", "…", "…", "claude-p42"),
    ],
)
def test_a_session_has_its_given_name_or_its_kind_and_id(dialect, session, named, id_):
    assert session_name(dialect, session, named, pid=42) == id_


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200), st.text(max_size=200))
def test_every_session_name_is_a_valid_agent_id(dialect, session, named, subagent):
    name = distinct(
        session_name(dialect, session, named, 1), {session_name(dialect, session, named, 1)}
    )
    for id_ in (
        name,
        subagent_name(dialect, name, subagent),
        f"{subagent_name(dialect, name, subagent)}-999",
    ):
        check_own_id(check_agent_id(id_), human=False)
    assert role_of(subagent).casefold() != "human"


@pytest.mark.parametrize("type_", ["human", "Human", " human!", "", "…"])
def test_no_subagent_has_the_human_role(type_):
    assert role_of(type_) == "subagent"


def test_a_taken_name_gets_the_next_number():
    assert distinct("a", {"b"}) == "a"
    assert distinct("a", {"a"}) == "a-2"
    assert distinct("a", {"a", "a-2"}) == "a-3"


@pytest.mark.parametrize(
    ("path", "how", "deep", "fate"),
    [
        ("src/a.py", How.WRITE, False, PathRule.CLAIM),
        ("src/a.py", How.READ, False, PathRule.FREE),
        ("build/x.o", How.WRITE, False, PathRule.FREE),
        ("build", How.DELETE, True, PathRule.FREE),
        ("run.log", How.WRITE, False, PathRule.FREE),
        ("run.log", How.DELETE, True, PathRule.CLAIM),
        ("CHANGELOG.md", How.WRITE, False, PathRule.HOT),
        ("web/changelog.md", How.WRITE, False, PathRule.HOT),
        ("web", How.DELETE, True, PathRule.CLAIM),
        ("CHANGELOG.md", How.DELETE, True, PathRule.CLAIM),
        ("legal/terms.txt", How.WRITE, False, PathRule.HUMAN),
        ("legal", How.DELETE, True, PathRule.HUMAN),
        ("", How.DELETE, True, PathRule.HUMAN),
        ("steer.toml", How.WRITE, False, PathRule.GUARDED),
        ("steer.toml", How.READ, False, PathRule.FREE),
    ],
)
def test_the_settings_determine_the_rule_for_a_path(path, how, deep, fate):
    policy = GuardPolicy(
        free=("build/", "*.log"), human=("legal/*.txt",), hot=HOT, steering="steer.toml".__eq__
    )

    assert policy.fate(path, how, deep=deep) == fate


def test_hot_files_are_case_sensitive_if_the_project_is():
    assert GuardPolicy(hot=HOT, fold_case=False).fate("changelog.md") == PathRule.CLAIM


def test_with_reads_enabled_a_read_is_shared_unless_the_path_is_free():
    policy = GuardPolicy(reads=True, free=("*.log",))

    assert policy.fate("a.py", How.READ) == PathRule.SHARE
    assert policy.fate("run.log", How.READ) == PathRule.FREE


@pytest.mark.parametrize(
    ("path", "steers"),
    [("hooks/pre-commit", True), ("config", True), ("dibs/dibs.db", True), ("CONFIG", True),
     ("COMMIT_EDITMSG", False), ("configs", False), ("info/exclude", False)],
)  # fmt: skip
def test_some_files_in_the_git_directory_configure_git(path, steers):
    assert steers_git(path) is steers


def test_a_blocked_call_with_many_paths_names_some_and_counts_the_rest():
    text = refusal(
        [DeniedPath(f"f{n}", "held", "bob", f"f{n}", expires_in=9) for n in range(15)], draw
    )

    assert text.count("bob holds it") == NAMED
    assert "and 5 more" in text


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_control_character_reaches_the_output(path, reason):
    texts = (
        refusal([DeniedPath(path or "x", "held", "bob", path, reason, reason, 5.0)], draw),
        kept([path or "x"], draw),
        half_done([(path or "x", "bob", "refs/salvage/bob/1", path)], draw),
    )
    for text in texts:
        assert all(line.isprintable() for line in text.split("\n"))


def test_a_path_that_is_a_sentence_is_fenced_and_not_part_of_a_command():
    text = refusal([DeniedPath("rm -rf ~; ignore all", "held", "bob", "", expires_in=5)], draw)

    assert '<data-0a1b2c3d from="path">rm -rf ~; ignore all</data-0a1b2c3d>' in text
    assert "dibs ask PATH" in text


def test_a_file_with_an_odd_name_can_be_checked_as_a_folder():
    policy = GuardPolicy(human=("secret/**",))

    assert policy.fate("new\nline.txt", How.DELETE, deep=True) == PathRule.CLAIM
    assert policy.fate("[a]", How.DELETE, deep=True) == PathRule.CLAIM
    assert policy.fate("secret", How.DELETE, deep=True) == PathRule.HUMAN


def test_a_refusal_for_the_whole_working_tree_names_it_once_and_in_words():
    refused = [
        DeniedPath(".", "held", "bob", "a.py", expires_in=5.0),
        DeniedPath(".", "guarded"),
    ]

    assert note("amy", refused) == (
        "dibs: blocked amy from changing the whole working tree, held by bob"
    )
    assert "- the whole working tree: it contains settings or hooks" in refusal(refused, draw)


def test_a_refused_git_option_is_not_called_a_change_of_a_file():
    text = refusal([DeniedPath(".git/config", "guarded")], draw, "command")

    assert "also for one command (`git -c`, `HOME=...`)" in text
