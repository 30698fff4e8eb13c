"""Stores for briefing tests: every engine, with a clock that can be advanced and rivals between steps."""

import shutil
from itertools import count

from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.patterns.filing import Range
from dibs.core.talk.mail import MailKind, Message
from dibs.engines.memory import MemoryEngine
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.services.briefing.service import Briefings
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state import mailbox


class Later:
    """An engine whose clock is ahead, and that lets a rival act between two steps."""

    def __init__(self, engine, ahead):
        self.engine = engine
        self.ahead = ahead
        #: Called once, before the next transaction.
        self.rival = None

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def transact(self, step):
        rival, self.rival = self.rival, None
        if rival is not None:
            rival()
        return self.engine.transact(lambda txn: step(self.shifted(txn)))

    def view(self, step):
        return self.engine.view(lambda txn: step(self.shifted(txn)))

    def shifted(self, txn):
        return Ahead(txn, txn.now + self.ahead())


class Ahead:
    """A step's view at a later time; the engine still uses its own clock."""

    def __init__(self, txn, now):
        self.txn = txn
        self.now = now

    def __getattr__(self, name):
        return getattr(self.txn, name)


class EngineStore:
    """One store of one engine; ``open`` acts as another process."""

    def __init__(self, make, after=lambda: None, **settings):
        self.make = make
        self.after = after
        self.settings = settings
        self.later = 0.0
        self.opened = []

    def open(self):
        engine = self.make()
        self.opened.append(engine)
        return Process(Later(engine, lambda: self.later), **self.settings)

    def close(self):
        for engine in self.opened:
            engine.close()
        self.after()


class Process:
    """The services that one process uses."""

    def __init__(self, engine, **settings):
        self.engine = engine
        self.store = wired(engine, Config(**settings))
        self.briefings = Briefings(self.store)
        self.claims = Claims(self.store)
        self.holdings = Holdings(self.store)

    def say(self, sender, boxes, text):
        """Put a message into boxes; return its id."""

        def step(rows):
            seq = rows.emit(sender, "agent", "message_sent", "said")
            id_ = mailbox.message_id(seq)
            mailbox.put(
                rows,
                Message(id_, rows.now, sender, "agent", MailKind.MESSAGE, text, "x", tuple(boxes)),
            )
            return id_

        return self.store.apply(step)

    def rows(self, prefix):
        return self.engine.view(lambda txn: list(txn.scan(Range(prefix))))


def human(name):
    return Caller(name, "human")


_numbers = count()


def memory(request):
    engine = MemoryEngine()
    return engine.connect, lambda: None


def sqlite(request):
    folder = request.getfixturevalue("tmp_path") / f"store-{next(_numbers)}"
    folder.mkdir()
    return lambda: SqliteEngine(str(folder / "state.db")), lambda: shutil.rmtree(folder)


def redis(request):
    from dibs.engines.redis.engine import RedisEngine

    url = request.getfixturevalue("redis_url")
    name = f"briefs-{next(_numbers)}"
    known = str(request.getfixturevalue("tmp_path") / name)
    return lambda: RedisEngine(url, project=name, memory=known), lambda: None


def git(request):
    from tests.servers import GitRemote

    from dibs.engines.git.engine import GitEngine

    folder = request.getfixturevalue("tmp_path") / f"git-{next(_numbers)}"
    remote = GitRemote(folder / "remote")

    def make():
        return GitEngine(remote.path, state=folder / f"state-{next(_numbers)}", poll=0.2)

    return make, lambda: shutil.rmtree(folder, ignore_errors=True)


ENGINES = {"memory": memory, "sqlite": sqlite, "redis": redis, "git": git}


def store_of(request, name, **settings):
    """Return a fresh, empty store of the engine ``name``."""
    return EngineStore(*ENGINES[name](request), **settings)
