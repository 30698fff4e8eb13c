"""Whatever a crew does to a board, in any order, rows, texts, and derived rows agree."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.services.board_crew import BoardCrew, agrees
from tests.services.several_agents import caller
from tests.soak import effort

from dibs.core.tasks.rules import Handoff, Status
from dibs.errors import DibsError
from dibs.services.state import task_index
from dibs.services.state import tasks as taskrows
from dibs.services.tasks.texts import place_of
from dibs.services.tasks.values import Draft, EditedFile, NothingFree
from dibs.taskfile.reading import read
from dibs.taskfile.writing import edit

AGENTS = ("bob", "carol", "writer", "human")
agents = st.sampled_from(AGENTS)
DERIVED = ("ready/", "needs/", "busy//", "fresh//", "since//", "handoff//", "over//")


class BoardModel(RuleBasedStateMachine):
    """A crew that does anything."""

    def __init__(self):
        super().__init__()
        self.crew = BoardCrew(board_attempts=2, board_stuck="release", board_archive_after=50_000.0)
        self.count = 0
        #: What each agent was last told it holds.
        self.tokens = {}
        self.finished = []

    def some(self, data):
        return data.draw(st.sampled_from(sorted(self.crew.tasks.versions())))

    def attempt(self, act):
        """Do something that may be refused, in which case no task changes."""
        before = self.tasks()
        try:
            return act()
        except DibsError:
            assert self.tasks() == before
            return None

    def tasks(self):
        return [row for row in self.crew.rows() if row[0].startswith(("task/", "past/", "board"))]

    @rule(data=st.data(), agent=st.sampled_from(("", "bob", "writer")), urgent=st.booleans())
    def make(self, data, agent, urgent):
        known = sorted(self.crew.tasks.versions())
        needs = (
            data.draw(st.lists(st.sampled_from(known), max_size=2, unique=True)) if known else []
        )
        self.count += 1
        fields = {"agent": agent, "priority": "high" if urgent else "low", "artefacts": ["x.py"]}
        draft = Draft({**fields, "dependencies": needs}, id=f"t{self.count}")
        self.crew.tasks.create(caller("human"), [draft])

    @rule(agent=agents, claim=st.booleans(), role=st.booleans())
    def take(self, agent, claim, role):
        roles = ["writer"] if role else []
        answer = self.attempt(lambda: self.crew.take(agent, claim=claim, roles=roles, ttl=60))
        if answer is not None and not isinstance(answer, NothingFree):
            task = answer.stored.task
            done = {row.id for row in self.rows() if row.task.status == Status.DONE}
            done |= {d for d in task.dependencies if self.crew.tasks.past(d)}
            assert set(task.dependencies) <= done
            self.tokens[agent, task.id] = answer.granted.token

    @precondition(lambda self: self.tokens)
    @rule(data=st.data(), what=st.sampled_from(("done", "fail", "release", "handoff")))
    def finish(self, data, what):
        agent, id_ = data.draw(st.sampled_from(sorted(self.tokens)))
        token = self.tokens.pop((agent, id_))
        before = self.crew.tasks.stored([id_]).get(id_)
        held = (agent, f"task:{id_}") in self.crew.held()
        options = {"handoff": {"handoff": Handoff("bob", "next")}}

        def act():
            if what == "fail":
                return self.crew.tasks.fail(caller(agent), id_, message="no", token=token)
            if what == "release":
                return self.crew.tasks.release(caller(agent), id_, token=token)
            return self.crew.done(agent, id_, token=token, **options.get(what, {}))

        answer = self.attempt(act)
        if answer is not None:
            assert held
            assert before.token == token

    @precondition(lambda self: self.count)
    @rule(
        data=st.data(),
        agent=agents,
        verb=st.sampled_from(("retry", "reopen", "cancel", "block", "reassign", "start", "done")),
    )
    def decide(self, data, agent, verb):
        if self.crew.tasks.versions():
            id_ = self.some(data)
            options = {"block": {"reason": "r"}, "reassign": {"to": "carol"}}.get(verb, {})
            self.attempt(lambda: getattr(self.crew.tasks, verb)(caller(agent), id_, **options))

    @rule(span=st.sampled_from((1, 30, 61, 400, 8_000, 60_000)))
    def time_passes(self, span):
        self.crew.clock.advance(span)

    @rule(agent=agents)
    def heartbeat(self, agent):
        self.crew.agents.beat(caller(agent))

    @rule()
    def orchestrate(self):
        tasks, boss = self.crew.tasks, caller("human")
        tasks.sweep()
        tasks.hand_off(boss)
        tasks.stuck(boss)
        tasks.assign(boss)
        tasks.archive(boss)
        assert tasks.sweep() == []
        assert tasks.hand_off(boss) == ([], [])
        assert tasks.stuck(boss) == []
        assert tasks.assign(boss) == []
        assert tasks.archive(boss) == []

    @precondition(lambda self: self.count)
    @rule(
        data=st.data(), status=st.sampled_from(sorted(Status)), agent=st.sampled_from(("", "bob"))
    )
    def edit_by_hand(self, data, status, agent):
        if not self.crew.tasks.versions():
            return
        row = self.crew.row(self.some(data))
        changes = {"status": status, "agent": agent, "extra": "kept"}
        blocks = {
            Status.DONE: {"result": {"summary": "x"}},
            Status.ERROR: {"error": {"message": "m"}},
        }
        reading = read(edit(row.text, {**changes, **blocks.get(status, {})}).encode(), row.file)
        assert reading.task is not None
        place = place_of(reading.task)
        base = row.version - data.draw(st.sampled_from((0, 0, 1)))
        made = EditedFile(row.id, place, row.file, reading, base)
        before = self.tasks()
        (verdict,) = self.crew.tasks.accept(caller("human"), [made])
        if verdict.code:
            assert self.tasks() == before
        else:
            assert "extra: " in verdict.stored.text

    def rows(self):
        return self.crew.store.look(lambda rows: list(taskrows.every(rows)))

    @invariant()
    def texts_say_what_rows_say(self):
        for row in self.rows():
            assert agrees(row)
            assert row.place == place_of(row.task)
            assert (row.token > 0) <= (row.task.status == Status.IN_PROGRESS)

    @invariant()
    def what_is_derived_is_as_if_derived_now(self):
        def fresh(rows):
            marks = {}
            for row in taskrows.every(rows):
                ready = taskrows._ready_for(rows, row)
                assert ready == row.ready, row.id
                marks |= task_index.marks(row)
            return marks

        stored = {k: v for k, v in self.crew.rows() if k.startswith(DERIVED)}
        assert self.crew.store.look(fresh) == stored

    @invariant()
    def versions_never_pass_the_head(self):
        versions = self.crew.tasks.versions()
        assert versions == {row.id: row.version for row in self.rows()}
        assert max(versions.values(), default=0) <= self.crew.tasks.head()


TestBoardModel = BoardModel.TestCase
TestBoardModel.settings = settings(
    max_examples=effort(30, 1_000), stateful_step_count=40, deadline=None
)
