"""Where an agent works: its worktree or the shared tree, its processes there, and its deliveries."""

from __future__ import annotations

import os
from threading import Thread

from dibs.core.claims.ledger import Kind
from dibs.crew.environment import agent_environment
from dibs.crew.pipes import copy_text
from dibs.crew.processes import AgentProcesses
from dibs.errors import DibsError
from dibs.git.state import read_state
from dibs.git.status import changed
from dibs.git.untrusted import guarded_calls
from dibs.local.repository import main_tree
from dibs.project.project import open_project
from dibs.services.crew.delivery import catch_up, deliver
from dibs.services.worktrees.create import SharedTree, WorktreeRequest
from dibs.services.worktrees.remove import KeptWorktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.core.crew.members import Member
    from dibs.core.crew.roles import CrewRole
    from dibs.crew.logs import AgentLog
    from dibs.project.project import Project
    from dibs.services.crew.service import CrewMembers


class Workplace:
    """A working tree of an agent, and the project as seen from there."""

    def __init__(
        self, project: Project, role: CrewRole, member: Member, caller: Caller, log: AgentLog
    ) -> None:
        self._main = project
        self._role = role
        self._member = member
        self._caller = caller
        self._log = log
        self._errors = -1
        #: The project as seen from the agent's working tree.
        self.project = project

    def prepare(self, crew: CrewMembers) -> Member:
        """Create the worktree, or use the one that exists; fall back to the shared tree, and say so."""
        member = self._member
        tree, branch = self._main.place.repository.root, ""
        if self._role.worktree and self._main.place.repository.common:
            made = self._main.worktrees.new_or_shared(self._caller, WorktreeRequest(member.agent))
            if isinstance(made, SharedTree):
                self._log.note(f"no worktree: {made.reason}; working in the shared tree")
                tree = made.path
            else:
                tree, branch = made.row.path, made.row.branch
        if tree != self._main.place.repository.root:
            self.project = open_project(tree)
        self._member = crew.report(member.agent, member.nonce, tree=tree, branch=branch) or member
        return self._member

    @property
    def root(self) -> str:
        """The top of the working tree."""
        return self._member.tree

    def processes(self) -> AgentProcesses:
        """Return what starts the agent's processes here; standard error goes to the log."""
        member, role = self._member, self._role
        variables = self._main.worktrees.environment(member.agent) if member.branch else {}
        environ = agent_environment(role, member, os.environ, variables)
        read, self._errors = os.pipe()
        # In a thread that ends with the last process.
        Thread(target=copy_text, args=(read, self._log.write), name="errors", daemon=True).start()
        return AgentProcesses(member.nonce, self.root, environ, self._errors)

    def catch_up(self) -> None:
        """Bring the worktree up to date with the branch of the main working tree, if it has no other work."""
        if not self._member.branch:
            return
        repository = self._main.place.repository
        into = read_state(guarded_calls(main_tree(repository), repository)).ref
        if into and not catch_up(self.project, into):
            self._log.note(
                f"{self._member.branch} has work of its own; it was not brought up to date"
            )

    def has_changes(self) -> bool:
        """Return whether the worktree of its own has uncommitted changes."""
        if not self._member.branch:
            return False
        repository = self.project.place.repository
        return bool(changed(guarded_calls(repository.root, repository)))

    def leave(self) -> None:
        """Remove the worktree if it contains no work; otherwise it stays."""
        if not self._member.branch:
            return
        try:
            done = self._main.worktrees.remove(self._caller, self._member.agent)
        except (DibsError, OSError) as error:
            self._log.note(f"the worktree stays: {error}")
            return
        if isinstance(done, KeptWorktree):
            self._log.note(f"the worktree stays, because it contains work: {self.root}")

    def deliver(self, task: str, title: str) -> None:
        """Commit what is left in the worktree and merge its branch; say what could not be done."""
        if not self._member.branch:
            return
        done = deliver(self.project, self._caller, self._member, task, title)
        for line in done.notes:
            self._log.note(line)
        if done.complete:
            return
        said = f"the work of {self._member.agent} on {task} is not merged: {'; '.join(done.notes)}"
        facts = {"task": task, "branch": self._member.branch, "tree": self.root}
        self._main.store.apply(
            lambda rows: rows.emit(self._caller.id, self._caller.role, Kind.ERROR, said, **facts)
        )
