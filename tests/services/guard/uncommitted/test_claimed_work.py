"""What claims cover is looked up with few calls of git."""

import threading

from dibs.core.patterns.pattern import parse
from dibs.services.guard.uncommitted import claimed_work


def test_a_path_that_git_refuses_does_not_hide_the_answer_for_another(monkeypatch, tmp_path):
    alone = threading.Barrier(2)

    def status(root, patterns):
        paths = [pattern.path for pattern in patterns]
        return None if "bad" in paths else paths

    monkeypatch.setattr(claimed_work, "changed_at", status)
    answers = {}

    def ask(name):
        alone.wait(10)
        answers[name] = claimed_work._changed(str(tmp_path), [parse(name)])

    running = claimed_work._running[str(tmp_path)]
    with running:
        threads = [threading.Thread(target=ask, args=(name,)) for name in ("bad", "good")]
        for thread in threads:
            thread.start()
        while len(getattr(claimed_work._next.get(str(tmp_path)), "patterns", ())) < 2:
            pass
    for thread in threads:
        thread.join(10)
    assert answers == {"bad": None, "good": ["good"]}
