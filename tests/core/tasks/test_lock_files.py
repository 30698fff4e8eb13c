"""Lock files: any content is read, ours has the documented form, and each expires by what it states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.tasks.lock_files import LockFile, lock_end, lock_name, parse_lock, render_lock

DOCUMENTED = b"agent: agent-02\nclaimed: 2025-06-14T08:31:12Z\ntask: fix-header-lint\n"
CLAIMED = 1749889872.0
AGE = 3600.0


def test_the_documents_lock_file_is_read():
    assert parse_lock(DOCUMENTED) == LockFile("agent-02", CLAIMED)


def test_our_lock_file_begins_with_the_documented_lines():
    lock = LockFile("agent-02", CLAIMED, CLAIMED + AGE, "abc123")

    content = render_lock(lock, "fix-header-lint")

    assert content.startswith(DOCUMENTED)
    assert content.endswith(b"expires: 2025-06-14T09:31:12Z\ndibs: abc123\n")
    assert parse_lock(content) == lock


@given(st.binary(max_size=300))
def test_no_content_is_an_error(content):
    lock = parse_lock(content)

    assert lock.agent
    assert lock_end(lock, CLAIMED, AGE, 0.0) >= 0


@given(st.text(max_size=50))
def test_a_task_of_any_name_has_a_lock_file_that_is_read_again(name):
    lock = LockFile("bob", CLAIMED, CLAIMED + AGE, "abc")

    assert parse_lock(render_lock(lock, name)) == lock


@pytest.mark.parametrize(
    ("content", "agent"),
    [
        (b"", "unknown"),
        (b"agent:\n", "unknown"),
        (b"agent: 'bob smith' # me\n", "bob-smith"),
        (b"\xef\xbb\xbfAgent : carol\r\n", "carol"),
        (b"agent: bob\nagent: eve\n", "bob"),
        (b"agent: \xff\xfe../../etc\n", "etc"),
        (b"agent: " + b"x" * 10_000, "x" * 64),
    ],
)
def test_the_owner_is_a_valid_agent_id(content, agent):
    assert parse_lock(content).agent[:64] == agent


@pytest.mark.parametrize("text", ["-1", "nonce with spaces", '{"key": "v"}', "x" * 65, "é"])
def test_only_a_plain_word_is_a_nonce(text):
    assert parse_lock(f"agent: bob\ndibs: {text}\n".encode()).nonce == ""


@pytest.mark.parametrize(
    ("claimed", "expires", "committed", "end"),
    [
        (-100, 0, 0, -100 + AGE),  # the stated beginning
        (-100, 50, 0, 50),  # the stated end
        (-100, -50, 0, -50),  # an end that has passed
        (-100, -200, 0, -100 + AGE),  # an end before the beginning does not count
        (-100, 9e8, 0, -100 + AGE),  # nor does one that is years away
        (None, 0, -500, -500 + AGE),  # no time: its commit
        (None, 20, -500, 20),
        (9000, 0, -500, -500 + AGE),  # a beginning in the future: its commit
        (9000, 12000, -500, 12000),  # with an end that counts
        (None, 0, None, AGE),  # nothing is known: now
        (None, 0, 9000, AGE),  # a commit in the future: now
    ],
)
def test_a_lock_ends_when_it_says_else_by_age(claimed, expires, committed, end):
    now = CLAIMED

    def moment(value):
        return now + value if value is not None else 0.0

    lock = LockFile("bob", moment(claimed), moment(expires) if expires else 0.0)

    assert lock_end(lock, now, AGE, moment(committed)) - now == end


@pytest.mark.parametrize(
    ("file", "name"),
    [("a.lock", "a"), ("a.txt", "a"), ("*.lock", "*"), (".lock", ""), (".gitkeep", ""), ("a", "")],
)
def test_a_lock_is_named_after_its_task(file, name):
    assert lock_name(file) == name
