"""The examples of the file-based orchestration document, run as written after ``dibs init --board``.

People and agents use the document's own shell commands and YAML, plus ``sed`` and git. Only ``dibs init`` and
``dibs orchestrate`` are Dibs.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.taskfile.test_documents import CREATED, RESULT

from dibs.taskfile.reading import read

AGENTS = ("architect", "writer-editor", "diagrammer", "curator", "structural")
REPOMAP = "2025-11-23T1430-structural-repomap"
ADR = "2025-11-23T1700-architect-adr-api"

#: The folders of the document's section "Directory Structure".
FOLDERS = (
    "inbox", "assigned", "done", "archive", "logs", "collaboration", "schemas", "scripts",
)  # fmt: skip

#: The task that the orchestrator creates from it, unchanged, except for its id.
FOLLOWER = CREATED.partition("\n")[2]

#: The example from the curator's profile, unchanged, without the two lines about its own domain.
PROCEDURE = """\
### Operating Procedure

- Poll `work/assigned/curator/` for tasks with `status: assigned`
- Update status to `in_progress` when starting work
- Update task with `result` block and move to `work/done/`
- Create work log in `work/logs/` documenting approach
"""

ERROR = """\
error:
  message: "the map tool crashed"
  timestamp: "2025-11-23T15:10:00Z"
  agent: structural
  retry_count: 0
"""


class Repository:
    """A git repository with a board, used through a shell."""

    def __init__(self, root, home):
        self.root = root
        self.environ = {
            "PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin",
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "DIBS_BOARD_ARCHIVE_AFTER": "3650d",  # the examples are from 2025
        }
        self.sh("git init -q -b main && git config user.name Ann && git config user.email a@b.c")

    def run(self, script, **variables):
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self.root, check=False,
            env={**self.environ, **variables}, capture_output=True, text=True,
        )  # fmt: skip

    def sh(self, script, **variables):
        done = self.run(script, **variables)
        assert done.returncode == 0, (script, done.stdout, done.stderr)
        return done.stdout

    def cycle(self):
        return self.sh("dibs orchestrate", DIBS_AGENT="coordinator")

    def find(self, id_):
        """Check a task's location as the document does."""
        return self.sh(f'find work/ -name "{id_}.yaml"').split()

    def task(self, id_):
        (path,) = self.find(id_)
        reading = read((self.root / path).read_bytes(), os.path.basename(path))
        assert reading.task is not None, reading.remarks
        return reading.task

    def append(self, path, text):
        with open(self.root / path, "a", encoding="utf-8") as file:
            file.write(text)

    def create(self, id_, agent):
        """Create a task as the document tells human operators."""
        self.sh(
            f"cp docs/templates/agent-tasks/task-base.yaml work/inbox/{id_}.yaml\n"
            f"sed -i 's/^agent: structural/agent: {agent}/' work/inbox/{id_}.yaml\n"
            f"git add work/inbox/{id_}.yaml && git commit -q -m 'Create {id_}'"
        )

    def pick_up(self, agent):
        """Poll the directory, find an assigned task, set it to in_progress, and commit."""
        self.sh(
            f"task=$(grep -l 'status: assigned' work/assigned/{agent}/*.yaml | head -n 1)\n"
            "sed -i 's/^status: assigned/status: in_progress/' $task\n"
            "echo 'started_at: \"2025-11-23T15:00:00Z\"' >> $task\n"
            f"git add $task && git commit -q -m '{agent} started'"
        )

    def complete(self, agent, id_, result):
        """Add the result, set the status, move the file, and commit all changes together."""
        self.append(f"work/assigned/{agent}/{id_}.yaml", result)
        self.sh(
            f"sed -i 's/^status: in_progress/status: done/' work/assigned/{agent}/{id_}.yaml\n"
            f"mv work/assigned/{agent}/{id_}.yaml work/done/\n"
            f"git add -A work && git commit -q -m '{agent} finished'"
        )


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "repo").mkdir()
    (tmp_path / "home").mkdir()
    made = Repository(tmp_path / "repo", tmp_path / "home")
    made.sh(f"dibs init --agents none --board {','.join(AGENTS)}")
    made.sh("git add -A && git commit -q -m 'Add the task board'")
    return made


def test_the_directory_structure_is_the_documents(repo):
    assert [name for name in FOLDERS if not (repo.root / "work" / name).is_dir()] == []
    assert sorted(
        path.name for path in (repo.root / "work/assigned").iterdir() if path.is_dir()
    ) == (sorted(AGENTS))


def test_the_validation_commands_run_as_written(repo):
    repo.sh("cp docs/templates/agent-tasks/task-base.yaml work/inbox/task.yaml")

    good = repo.run("python work/scripts/validate-task-schema.py work/inbox/task.yaml")
    repo.sh("sed -i 's/^status: new/status: nwe/' work/inbox/task.yaml")
    bad = repo.run("python work/scripts/validate-task-schema.py work/inbox/task.yaml")
    repo.sh("rm work/inbox/task.yaml")
    before = repo.sh("git status --porcelain && git for-each-ref")
    whole = repo.run("bash work/scripts/validate-work-structure.sh")
    repo.sh("python work/scripts/validate-task-schema.py")

    assert (good.returncode, bad.returncode, whole.returncode) == (0, 1, 0)
    assert "work/inbox/task.yaml:4: status" in bad.stdout
    assert repo.sh("git status --porcelain && git for-each-ref") == before


def test_an_operator_creates_a_task_and_watches_it_with_find_and_cat(repo):
    repo.create(REPOMAP, "structural")
    new = repo.find(REPOMAP)

    repo.cycle()

    assert new == [f"work/inbox/{REPOMAP}.yaml"]
    assert repo.find(REPOMAP) == [f"work/assigned/structural/{REPOMAP}.yaml"]
    shown = repo.sh(f"cat work/assigned/structural/{REPOMAP}.yaml")
    assert "status: assigned\n" in shown
    assert "assigned_at: " in shown
    assert f"id: {REPOMAP}\n" in shown
    assert f"{REPOMAP} was assigned to structural" in repo.sh(
        "cat work/collaboration/WORKFLOW_LOG.md"
    )


def test_every_state_is_a_commit_from_creation_to_completion(repo):
    repo.create(REPOMAP, "structural")
    repo.cycle()
    repo.pick_up("structural")
    repo.cycle()
    repo.complete("structural", REPOMAP, 'result:\n  summary: "done"\n  artefacts: []\n')
    repo.cycle()

    states = []
    for commit in repo.sh("git log --reverse --format=%H -- work").split():
        found = repo.sh(f"git ls-tree -r --name-only {commit} work").split()
        (path,) = [path for path in found if path.endswith(f"{REPOMAP}.yaml")] or [""]
        if path:
            text = repo.sh(f"git show {commit}:{path}")
            state = next(
                line.split(": ")[1] for line in text.splitlines() if line.startswith("status")
            )
            states += [state] if states[-1:] != [state] else []
    assert states == ["new", "assigned", "in_progress", "done"]
    assert repo.sh("git status --porcelain") == ""


def test_the_documents_handoff_is_created_with_its_fields(repo):
    repo.create(ADR, "architect")
    repo.cycle()
    repo.pick_up("architect")
    repo.complete("architect", ADR, RESULT)

    repo.cycle()

    (path,) = (repo.root / "work").rglob("2025-11-23T1545-writer-editor-*.yaml")
    made = path.read_text()
    repo.cycle()
    (later,) = (repo.root / "work").rglob("2025-11-23T1545-writer-editor-*.yaml")
    for line in FOLLOWER.splitlines():
        assert line in made.splitlines(), line
    assert f"id: {path.stem}" in made
    assert later.relative_to(repo.root).as_posix() == f"work/assigned/writer-editor/{path.name}"
    assert "architect → writer-editor" in repo.sh("cat work/collaboration/HANDOFFS.md")


def test_a_chain_of_handoffs_ends_with_the_diagrammer(repo):
    repo.create(ADR, "architect")
    repo.cycle()
    repo.pick_up("architect")
    repo.complete("architect", ADR, RESULT)
    repo.cycle()
    repo.cycle()
    (polish,) = (repo.root / "work/assigned/writer-editor").glob("*.yaml")
    repo.pick_up("writer-editor")
    repo.complete(
        "writer-editor", polish.stem,
        'result:\n  summary: "polished"\n  artefacts: []\n  next_agent: diagrammer\n'
        '  next_task_title: "Create architecture diagram"\n',
    )  # fmt: skip
    repo.cycle()
    repo.cycle()

    (drawing,) = (repo.root / "work/assigned/diagrammer").glob("*.yaml")
    assert 'title: "Create architecture diagram"' in drawing.read_text()
    assert polish.stem in drawing.read_text()


def test_a_plain_mv_says_what_it_means(repo):
    repo.create(REPOMAP, "structural")
    repo.sh(f"mv work/inbox/{REPOMAP}.yaml work/assigned/structural/")

    repo.cycle()

    assert repo.task(REPOMAP).status == "assigned"
    assert repo.find(REPOMAP) == [f"work/assigned/structural/{REPOMAP}.yaml"]


def test_a_failed_task_stays_for_review_and_is_retried_by_resetting_it(repo):
    repo.create(REPOMAP, "structural")
    repo.cycle()
    repo.pick_up("structural")
    path = f"work/assigned/structural/{REPOMAP}.yaml"
    repo.append(path, ERROR)
    repo.sh(f"sed -i 's/^status: in_progress/status: error/' {path}")
    repo.sh(f"git add {path} && git commit -q -m 'Commit the error state'")
    repo.cycle()
    failed = repo.task(REPOMAP)
    repo.sh(f"sed -i -e '/^error:/,/retry_count/d' -e 's/^status: error/status: assigned/' {path}")
    repo.cycle()

    assert (failed.status, failed.error) == ("error", "the map tool crashed")
    assert repo.find(REPOMAP) == [path]
    assert repo.task(REPOMAP).status == "assigned"


def test_a_finished_task_has_a_work_log(repo):
    repo.create(REPOMAP, "structural")
    repo.cycle()
    repo.pick_up("structural")
    repo.complete("structural", REPOMAP, 'result:\n  summary: "done"\n  artefacts: []\n')
    repo.cycle()

    (log,) = (repo.root / "work/logs/structural").glob("*.md")
    assert f"**Task ID:** {REPOMAP}" in log.read_text()


def test_a_task_waits_in_the_inbox_for_its_dependencies(repo):
    later = "2025-11-23T1710-curator-check"
    repo.create(ADR, "architect")
    repo.create(later, "curator")
    repo.append(f"work/inbox/{later}.yaml", f"dependencies:\n  - {ADR}\n")

    repo.cycle()

    assert repo.find(later) == [f"work/inbox/{later}.yaml"]
    assert repo.find(ADR) == [f"work/assigned/architect/{ADR}.yaml"]


def test_an_invalid_task_is_not_assigned_and_stays_readable(repo):
    repo.create(REPOMAP, "structural")
    repo.append(f"work/inbox/{REPOMAP}.yaml", "priority: soon\n")

    said = repo.cycle()

    assert "'soon' is not a valid priority" in said
    assert repo.find(REPOMAP) == [f"work/inbox/{REPOMAP}.yaml"]


def test_no_task_is_in_two_folders(repo):
    repo.create(REPOMAP, "structural")
    repo.cycle()
    copy = f"work/inbox/{REPOMAP}.yaml"
    repo.sh(f"cp work/assigned/structural/{REPOMAP}.yaml {copy} && echo 'mode: x' >> {copy}")

    checked = repo.run("bash work/scripts/validate-work-structure.sh")

    assert checked.returncode == 1
    assert REPOMAP in checked.stdout


def test_an_agent_profile_says_what_the_document_asks_for(repo):
    profile = (repo.root / ".github/agents/curator.agent.md").read_text()

    for line in PROCEDURE.splitlines():
        assert line in profile
    for point in ("Work directory", "Output artifacts", "Specialization", "Handoff patterns"):
        assert f"- **{point}**: " in profile


def test_the_status_page_shows_each_agents_work(repo):
    repo.create(REPOMAP, "structural")
    repo.cycle()
    repo.pick_up("structural")
    repo.cycle()

    status = repo.sh("cat work/collaboration/AGENT_STATUS.md")
    assert "## structural" in status
    assert f"Working on {REPOMAP}" in status


def test_a_next_agent_that_nobody_has_seen_gets_its_task(repo):
    repo.create(ADR, "architect")
    repo.cycle()
    repo.pick_up("architect")
    repo.complete("architect", ADR, RESULT.replace('"writer-editor"', '"synthesizer"'))

    repo.cycle()

    assert list((repo.root / "work").rglob("2025-11-23T1545-synthesizer-*.yaml"))


def test_a_stuck_task_is_logged_once(repo):
    path = f"work/assigned/structural/{REPOMAP}.yaml"
    repo.append(path, f"id: {REPOMAP}\nagent: structural\nstatus: in_progress\nartefacts: []\n")
    repo.append(path, 'assigned_at: "2025-11-23T14:31:00Z"\nstarted_at: "2025-11-23T14:32:00Z"\n')

    first, second = repo.cycle(), repo.cycle()

    assert "1 timeouts" in first
    assert "0 timeouts" in second
    log = repo.sh("cat work/collaboration/WORKFLOW_LOG.md").splitlines()
    assert sum(REPOMAP in line and "has been in_progress" in line for line in log) == 1
    assert repo.find(REPOMAP) == [path]
