"""Two live processes with one ``DIBS_AGENT`` count as two agents if they use the same path."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

DIBS = f"{sys.executable} -m dibs"


class Shell:
    """A shell that stays, like a terminal or an agent's own process."""

    def __init__(self, setup: str = "export DIBS_AGENT=alice", **variables: str) -> None:
        self._process = subprocess.Popen(
            ["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **variables},
        )  # fmt: skip
        self.run(setup)

    def run(self, line: str) -> tuple[int, str]:
        """Run a line and return its exit status and output."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line} 2>&1\necho end $?\n")
        self._process.stdin.flush()
        said = []
        for text in self._process.stdout:
            if text.startswith("end "):
                return int(text.split()[1]), "".join(said)
            said.append(text)
        raise AssertionError(said)

    def dibs(self, words: str) -> tuple[int, str]:
        return self.run(f"{DIBS} {words}")

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@pytest.fixture
def shells(repo):
    (repo / "a.py").write_text("x")
    (repo / "b.py").write_text("x")
    for words in (("add", "."), ("commit", "-q", "-m", "x")):
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], cwd=repo, check=True
        )
    opened = []

    def begin(*setup, **variables):
        opened.append(Shell(*setup, **variables))
        return opened[-1]

    yield begin
    for shell in opened:
        shell.end()


@pytest.mark.parametrize("exported", [True, False], ids=["exported", "started with it"])
def test_a_second_live_process_with_the_same_name_is_refused_on_the_same_path(shells, exported):
    one, two = (shells() if exported else shells(":", DIBS_AGENT="alice") for _ in range(2))
    assert one.dibs("claim a.py")[0] == 0

    status, said = two.dibs("claim a.py")

    assert status == 77
    assert "another live process named alice, bash (" in said
    assert "export DIBS_AGENT=alice-2" in said
    assert two.dibs("claim b.py")[0] == 0
    assert one.dibs("claim a.py")[0] == 0


def test_the_fix_in_the_message_works(shells):
    one, two = shells(), shells()
    one.dibs("claim a.py")

    two.run("export DIBS_AGENT=alice-2")
    assert two.dibs("claim a.py")[0] == 3
    assert two.dibs("claim a.py --agent alice")[0] == 0


def test_a_commit_of_the_other_processs_file_is_refused(shells, repo):
    one, two = shells(), shells()
    one.dibs("claim a.py")
    two.dibs("claim b.py")
    for name in ("a.py", "b.py"):
        (repo / name).write_text("changed")
    who = "GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y"
    two.run(f"export {who}")

    status, said = two.dibs("commit -m x")
    assert status == 77
    assert "commit refused" in said
    assert "a.py" in said
    assert two.dibs("commit -m x b.py")[0] == 0


def test_scripts_and_subshells_of_one_agent_are_one_agent(shells):
    one = shells()

    assert one.dibs("claim a.py")[0] == 0
    assert one.run(f"({DIBS} claim a.py)")[0] == 0
    assert one.run(f"bash -c '{DIBS} claim a.py; true'")[0] == 0
    assert one.run(f"bash -c 'sleep 0; {DIBS} claim b.py'; {DIBS} claim b.py")[0] == 0


def test_a_dead_process_is_not_in_the_way(shells):
    one, two = shells(), shells()
    one.dibs("claim a.py")

    one.end()

    assert two.dibs("claim a.py")[0] == 0


def test_a_released_path_can_be_claimed_by_the_other_process(shells):
    one, two = shells(), shells()
    one.dibs("claim a.py")
    one.dibs("release a.py")

    assert two.dibs("claim a.py")[0] == 0
    assert one.dibs("claim a.py")[0] == 77
