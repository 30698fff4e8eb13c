"""Deadlines are handled exactly once, by the next command, never early."""

from dibs.services.state import deadlines


def ring(_store, rows, id_):
    rows.emit("clock", "agent", "error", id_)


def settle(store):
    """Handle deadlines of a kind whose handler writes their ids to the ledger."""
    return deadlines.settle(store, {"chime": ring})


def put(crew, moment, id_, what="chime"):
    crew.store.apply(lambda rows: deadlines.put(rows, moment, what, id_))


def rung(crew):
    return [
        e.summary for e in crew.engine.view(lambda txn: list(txn.events())) if e.kind == "error"
    ]


class TestDeadlines:
    def test_nothing_happens_before_its_time_and_everything_at_it(self, crew):
        moment = crew.clock.now + 0.1 + 0.2
        put(crew, moment, "a")
        crew.clock.now = moment - 1e-3
        assert settle(crew.store) == 0

        crew.clock.now = moment

        assert settle(crew.store) == 1
        assert rung(crew) == ["a"]

    def test_a_deadline_is_handled_once(self, crew):
        put(crew, 5.0, "a")
        settle(crew.store)

        assert settle(crew.store) == 0
        assert rung(crew) == ["a"]

    def test_the_earliest_deadline_is_first_whatever_the_order_of_writing(self, crew):
        for moment in (999_999.5, 7.0, 80_000.0):
            put(crew, moment, f"{moment:g}")

        settle(crew.store)

        assert rung(crew) == ["7", "80000", "1e+06"]

    def test_a_removed_deadline_does_not_happen(self, crew):
        put(crew, 5.0, "a")
        crew.store.apply(lambda rows: deadlines.drop(rows, 5.0, "chime", "a"))

        assert settle(crew.store) == 0

    def test_a_future_deadline_writes_nothing(self, crew):
        put(crew, crew.clock.now + 60, "a")
        before = crew.rows()

        settle(crew.store)

        assert crew.rows() == before

    def test_deadlines_beyond_one_transaction_are_all_handled(self, crew):
        count = 2 * deadlines.BATCH + 1
        crew.store.apply(
            lambda rows: [deadlines.put(rows, 5.0, "chime", str(number)) for number in range(count)]
        )

        assert settle(crew.store) == count
        assert len(set(rung(crew))) == count

    def test_a_kind_of_a_newer_version_is_kept_and_blocks_nothing(self, crew):
        put(crew, 4.0, "x", what="of-tomorrow")
        put(crew, 5.0, "a")

        assert settle(crew.store) == 1
        assert settle(crew.store) == 0
        assert [key for key, _ in crew.rows() if key.startswith("due/")] == [
            "due/0000000004.000000/of-tomorrow/x"
        ]

    def test_nothing_is_handled_on_stale_state(self, crew, monkeypatch):
        put(crew, 5.0, "a")
        monkeypatch.setattr(crew.engine, "as_of", 3.0, raising=False)

        assert settle(crew.store) == 0
        assert rung(crew) == []

    def test_an_id_may_contain_slashes(self, crew):
        put(crew, 5.0, "src/a.py//bob")

        settle(crew.store)

        assert rung(crew) == ["src/a.py//bob"]
