"""What names stand for: one question to git, asked in one way."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls

HEADS = "refs/heads/"


def value_of(git: GitCalls, name: str) -> str:
    """Return the object that ``name`` stands for, an empty text if it stands for none."""
    said = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", name)
    # An older git repeats the mark that ends options in a line of its own.
    return said.out.decode().strip().splitlines()[-1] if not said.code and said.out else ""


def commit_of(git: GitCalls, name: str) -> str:
    """Return the commit that ``name`` stands for, an empty text if it stands for none."""
    return value_of(git, f"{name}^{{commit}}")


def tip_of(git: GitCalls, branch: str) -> str:
    """Return the commit of a branch, an empty text where there is no such branch."""
    return commit_of(git, HEADS + branch)
