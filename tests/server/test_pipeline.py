"""Handlers of events in the server: what runs, when, how often, and what happens if it fails."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from tests.server.callers import client, token
from tests.server.conftest import until

from dibs.core.claims.agents import Agent, Caller
from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import MailKind
from dibs.local.processes import is_there
from dibs.server.pipeline.part import ProjectPipeline
from dibs.services.commits.values import CommitRequest
from dibs.services.pipeline.consent import StartConsent
from dibs.services.state.ledger import Query
from dibs.services.tasks.values import Draft

LEAD, BOB, HUMAN = Caller("lena", "lead"), Caller("bob"), Caller("hana", "human")


class Crew:
    """A served project, and what its agents do."""

    def __init__(self, resident):
        self.resident = resident
        self.repo = resident.repo
        self.served = resident.projects.all()[0]

    @property
    def project(self):
        return self.served.project()

    @property
    def pipeline(self):
        return self.resident.pipeline.of(self.served)

    def configure(self, text, *, trust=True):
        (self.repo / "dibs.toml").write_text(text)
        if trust:
            self.trust()

    def trust(self):
        StartConsent(self.project.place.repository).accept(HUMAN)

    def start(self):
        """Start the pipeline, and wait until it reads."""
        self.resident.pipeline.start()
        until(lambda: self.pipeline._stamp)

    def entries(self, *kinds):
        return self.project.ledger.newest(Query(kinds=frozenset(kinds)), 1000)

    def letters(self, caller, kind):
        found = self.project.mail.inbox(caller, everything=True)
        return [letter.message for letter in found if letter.message.kind == kind]

    def finish_task(self, title="Add login", by=BOB, creator=LEAD, summary="done it"):
        made = self.project.tasks.create(creator, [Draft(fields={"title": title})])
        id_ = made.tasks[0].id
        self.project.tasks.start(by, id_)
        self.project.tasks.done(by, id_, summary=summary)
        return id_

    def commit(self, name, text, by=BOB):
        (self.repo / name).write_text(text)
        pattern = self.project.pattern(name)
        self.project.claims.claim(by, [pattern])
        return self.project.commits.commit(by, CommitRequest(message=f"add {name}"))

    def view(self, start):
        found = []
        until(lambda: found.extend(self._views(start)) or found)
        return found[0]

    def _views(self, start):
        return [v for v in self.pipeline.views() if v.handler.name.startswith(start)]


@pytest.fixture
def crew(resident):
    return Crew(resident)


def command(event, *words, more=""):
    return f"[[on]]\nevent = {json.dumps(event)}\ncommand = {json.dumps(words)}\n{more}\n"


def test_the_lead_gets_a_summary_when_a_task_is_done(crew):
    crew.start()
    crew.project.agents.join(Agent("lena", role="lead"))
    crew.finish_task(summary="the form works")
    until(lambda: crew.letters(LEAD, MailKind.SUMMARY))
    (message,) = crew.letters(LEAD, MailKind.SUMMARY)
    assert "bob finished" in message.text
    assert "the form works" in message.text


def test_a_command_in_dibs_toml_receives_the_event(crew, tmp_path):
    out = tmp_path / "out"
    script = 'cat > $0; printf \'%s %s\' "$DIBS_EVENT_KIND" "$PWD" > $0.env'
    crew.configure(command("lock_acquired", "sh", "-c", script, str(out)))
    crew.start()
    crew.project.claims.claim(BOB, [crew.project.pattern("a.py")])
    until(lambda: (tmp_path / "out.env").exists() and (tmp_path / "out.env").read_text())
    event = json.loads(out.read_text())
    assert (event["kind"], event["agent"]) == ("lock_acquired", "bob")
    assert event["key"].endswith(f":{event['seq']}")
    assert (tmp_path / "out.env").read_text() == f"lock_acquired {os.path.realpath(crew.repo)}"


def test_a_command_that_no_human_allowed_does_not_run_and_is_reported_once(crew, tmp_path):
    crew.configure(command("lock_acquired", "touch", str(tmp_path / "ran")), trust=False)
    crew.start()
    crew.project.claims.claim(BOB, [crew.project.pattern("a.py")])
    until(lambda: crew.entries(Kind.ERROR))
    (error,) = crew.entries(Kind.ERROR)
    assert "no human has accepted what dibs.toml starts by itself" in error.summary
    assert crew.view("on.").state == "parked"
    crew.pipeline.stop()
    again = ProjectPipeline(crew.served, crew.resident.feeds.of(crew.served))
    again.start()
    until(lambda: again._stamp)
    again.stop()
    assert len(crew.entries(Kind.ERROR)) == 1
    assert not (tmp_path / "ran").exists()


def test_a_command_begins_with_the_next_event_when_a_human_allows_it(crew, tmp_path):
    out = tmp_path / "ran"
    script = 'echo "$DIBS_EVENT_SUMMARY" >> $0'
    crew.configure(command("lock_acquired", "sh", "-c", script, str(out)), trust=False)
    crew.start()
    crew.project.claims.claim(BOB, [crew.project.pattern("early.py")])
    crew.trust()
    until(lambda: crew.view("on.").state != "parked")
    crew.project.claims.claim(BOB, [crew.project.pattern("late.py")])
    until(out.exists)
    until(lambda: "late.py" in out.read_text())
    assert "early.py" not in out.read_text()


def test_a_changed_command_must_be_allowed_again(crew, tmp_path):
    crew.configure(command("lock_acquired", "true"))
    crew.start()
    assert crew.view("on.").state != "parked"
    crew.configure(command("lock_acquired", "touch", str(tmp_path / "ran")), trust=False)
    until(lambda: crew.view("on.").state == "parked")


def test_a_failing_command_shows_in_the_ledger_and_in_the_list(crew):
    crew.configure(
        command("lock_acquired", "sh", "-c", "echo oh no >&2; exit 3", more="retries = 0")
    )
    crew.start()
    crew.project.claims.claim(BOB, [crew.project.pattern("a.py")])
    until(lambda: crew.entries(Kind.ERROR))
    (error,) = crew.entries(Kind.ERROR)
    assert "exit status 3" in error.summary
    assert error.details["output"] == ["oh no"]
    listed = client(crew.resident, token(crew.resident)).get("/api/v1/handlers").json()["handlers"]
    (shown,) = [one for one in listed if one["source"] == "dibs.toml"]
    assert (shown["skipped"], shown["error"]) == (1, "exit status 3")
    assert shown["failing"] == "exit status 3"


def test_a_command_that_hangs_is_ended_with_its_children(crew, tmp_path):
    pid = tmp_path / "pid"
    script = "sleep 600 & echo $! > $0; wait"
    words = ("sh", "-c", script, str(pid))
    crew.configure(command("lock_acquired", *words, more='timeout = "1s"\nretries = 0'))
    crew.start()
    crew.project.claims.claim(BOB, [crew.project.pattern("a.py")])
    until(lambda: crew.entries(Kind.ERROR))
    assert "timed out" in crew.entries(Kind.ERROR)[0].summary
    until(lambda: not is_there(int(pid.read_text()), 0))


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        ('event = "comit"\ncommand = ["x"]', "did you mean 'commit'"),
        ('event = "commit"\ncommand = "make lint"', "list of words"),
        ('event = "commit"\ncommand = []', "list of words"),
        ('event = "commit"\ncommand = ["x"]\nretries = -1', "retries"),
        ('event = "commit"\ncommand = ["x"]\ntimeout = 0', "timeout"),
    ],
)
def test_an_invalid_command_is_an_error_that_names_the_line(tmp_path, event, shown):
    from dibs.config.load import load
    from dibs.errors import Misconfigured

    (tmp_path / "dibs.toml").write_text(f"[claims]\nttl = 60\n[[on]]\n{event}\n")
    with pytest.raises(Misconfigured) as refused:
        load(str(tmp_path), str(tmp_path), {}, {})
    assert "dibs.toml:3" in refused.value.message
    assert shown in f"{refused.value.message} {refused.value.hint}"


# -- tests at a commit

TEST = """[merge]
test = "sh -c 'echo ran in $PWD; test ! -e bad'"
"""


def test_a_commit_is_tested_and_its_author_gets_the_result(crew):
    crew.configure(TEST)
    crew.start()
    (crew.repo / "mine.txt").write_text("not committed\n")
    done = crew.commit("good", "x\n")
    until(lambda: crew.letters(BOB, MailKind.TESTS))
    (entry,) = crew.entries(Kind.TESTS_PASSED)
    assert entry.details["commit"] == done.commit
    assert done.commit[:10] in crew.letters(BOB, MailKind.TESTS)[0].text
    assert trees(crew) == [str(crew.repo)]
    assert (crew.repo / "mine.txt").exists()


def test_failed_tests_are_reported_with_the_end_of_their_output(crew):
    crew.configure(TEST)
    crew.start()
    crew.commit("bad", "x\n")
    until(lambda: crew.letters(BOB, MailKind.TESTS))
    (entry,) = crew.entries(Kind.TESTS_FAILED)
    assert entry.details["how"] == "exit status 1"
    assert "ran in" in entry.details["output"][0]
    assert str(crew.repo) + "\n" not in entry.details["output"][0] + "\n"
    assert trees(crew) == [str(crew.repo)]


def test_commits_during_a_run_are_tested_together_at_the_newest(crew, tmp_path):
    wait, runs = tmp_path / "wait", tmp_path / "runs"
    wait.write_text("")
    script = f"echo x >> {runs}; while test -e {wait}; do sleep 0.02; done"
    crew.configure(f"[merge]\ntest = \"sh -c '{script}'\"\n")
    crew.start()
    first = crew.commit("one", "1\n")
    until(runs.exists)
    second, third = crew.commit("two", "2\n", by=LEAD), crew.commit("three", "3\n")
    until(lambda: crew.view("tests").waiting == 2)
    wait.unlink()
    until(lambda: len(crew.entries(Kind.TESTS_PASSED)) == 2)
    tested = [entry.details["commit"] for entry in crew.entries(Kind.TESTS_PASSED)]
    assert tested == [first.commit, third.commit]
    assert crew.entries(Kind.TESTS_PASSED)[1].details["commits"] == [second.commit, third.commit]
    until(lambda: crew.letters(LEAD, MailKind.TESTS))
    assert second.commit[:10] in crew.letters(LEAD, MailKind.TESTS)[0].text


def test_without_permission_no_test_runs_after_a_commit(crew, tmp_path):
    crew.configure(f'[merge]\ntest = "touch {tmp_path / "ran"}"\n', trust=False)
    crew.start()
    crew.commit("good", "x\n")
    until(
        lambda: any("no human has accepted" in entry.summary for entry in crew.entries(Kind.ERROR))
    )
    assert not (tmp_path / "ran").exists()


def test_stopping_ends_a_test_run_and_the_next_server_repeats_it(crew, tmp_path):
    runs, slow = tmp_path / "runs", tmp_path / "slow"
    slow.write_text("")
    script = f"echo x >> {runs}; test ! -e {slow} || sleep 600"
    crew.configure(f"[merge]\ntest = \"sh -c '{script}'\"\n")
    crew.start()
    crew.commit("good", "x\n")
    until(runs.exists)
    crew.pipeline.stop()
    assert crew.entries(Kind.TESTS_PASSED, Kind.TESTS_FAILED, Kind.ERROR) == []
    assert trees(crew) == [str(crew.repo)]
    slow.unlink()
    again = ProjectPipeline(crew.served, crew.resident.feeds.of(crew.served))
    again.start()
    until(lambda: crew.entries(Kind.TESTS_PASSED))
    again.stop()
    assert runs.read_text() == "x\nx\n"


def trees(crew):
    listed = subprocess.run(
        ["git", "worktree", "list", "--porcelain"],
        cwd=crew.repo,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line[9:] for line in listed.stdout.splitlines() if line.startswith("worktree ")]


# -- summaries


def test_without_a_lead_a_summary_goes_to_the_human_only_if_that_is_set(crew):
    crew.start()
    crew.finish_task(creator=HUMAN)
    until(lambda: crew.view("summary").row.handled == 1)
    crew.configure('[handlers]\nsummary = "human"\n')
    assert crew.letters(HUMAN, MailKind.SUMMARY) == []
    crew.pipeline._stamp = ()
    until(lambda: crew.pipeline._stamp)
    second = crew.finish_task("Second", creator=HUMAN)
    until(lambda: crew.letters(HUMAN, MailKind.SUMMARY))
    (message,) = crew.letters(HUMAN, MailKind.SUMMARY)
    assert message.data["task"] == second


def test_a_parent_is_the_lead_even_if_someone_else_created_the_task(crew):
    crew.start()
    crew.project.agents.join(Agent("lena", role="lead"))
    crew.project.agents.join(Agent("kid", parent="lena"))
    crew.finish_task(by=Caller("kid"), creator=BOB)
    until(lambda: crew.letters(LEAD, MailKind.SUMMARY))
    assert crew.letters(BOB, MailKind.SUMMARY) == []
