"""A crew with a board, and shortcuts for what tests do with tasks."""

from tests.services.row_tasks import RowTasks
from tests.services.several_agents import Crew, caller

from dibs.services.tasks.values import Draft
from dibs.taskfile.reading import read


class BoardCrew(Crew):
    """The services of one project, and its tasks."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.tasks = RowTasks(self.store)

    def make(self, *ids, by="human", **fields):
        drafts = [Draft({"title": id_, **fields}, id=id_) for id_ in ids]
        return self.tasks.create(caller(by), drafts).tasks

    def take(self, agent, **options):
        return self.tasks.take(caller(agent), **options)

    def start(self, agent, id_, **options):
        return self.tasks.start(caller(agent), id_, **options)

    def done(self, agent, id_, **options):
        return self.tasks.done(caller(agent), id_, **options)

    def row(self, id_):
        return self.tasks.stored([id_])[id_]

    def statuses(self):
        return {s.stored.id: s.stored.task.status for s in self.tasks.all(None, finished=True)}


def agrees(stored):
    """Return whether a row's text matches the row."""
    reading = read(stored.text.encode(), stored.file)
    assert [r for r in reading.remarks if r.fatal] == []
    assert reading.task == stored.task
    return True
