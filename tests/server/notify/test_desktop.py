"""Desktop notifications: texts are arguments, and a missing program is ignored."""

import json

import pytest

from dibs.config.load import Config
from dibs.core.alerts.notices import Notice
from dibs.server.notify import desktop, handlers

NOTICE = Notice("critical", "a title", "$(touch x) `y` <b>&", "dibs who -- ';'")


@pytest.fixture
def program(tmp_path):
    """A program that writes its arguments to a file."""

    def make(name):
        path = tmp_path / name
        path.write_text(
            "#!/usr/bin/env python3\nimport json, sys\n"
            f"json.dump(sys.argv[1:], open({str(tmp_path / 'out')!r}, 'w'))\n"
        )
        path.chmod(0o755)
        return str(path)

    return make


def test_notify_send_gets_the_texts_as_arguments_without_markup(program, tmp_path):
    assert desktop.show(program("notify-send"), "shop", NOTICE)

    *options, title, text = json.loads((tmp_path / "out").read_text())
    assert options == ["--urgency=critical", "--app-name=Dibs", "--"]
    assert title == "Dibs: shop: a title"
    assert text == "$(touch x) `y` &lt;b&gt;&amp;\ndibs who -- ';'"


def test_osascript_gets_the_texts_as_arguments_of_its_script(program, tmp_path):
    assert desktop.show(program("osascript"), "shop", NOTICE)

    *script, title, text = json.loads((tmp_path / "out").read_text())
    assert "touch" not in " ".join(script)
    assert (title, text) == ("Dibs: shop: a title", f"{NOTICE.text}\n{NOTICE.command}")


@pytest.mark.parametrize(
    ("environ", "platform", "found"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", False),
    ],
)
def test_without_a_desktop_or_a_program_there_is_no_notifier(
    program, tmp_path, environ, platform, found
):
    program("notify-send")
    environ["PATH"] = str(tmp_path)

    assert bool(desktop.notifier(environ, platform)) == found


def test_a_program_that_is_missing_or_fails_is_ignored():
    assert not desktop.show("/nowhere/notify-send", "shop", NOTICE)
    assert not desktop.show("/bin/false", "shop", NOTICE)


def test_desktop_notifications_can_be_off(monkeypatch):
    monkeypatch.setattr(desktop, "notifier", lambda: "/bin/true")

    assert [one.runs for one in handlers.handlers(Config(), "shop", "", "")] == ["/bin/true"]
    assert handlers.handlers(Config(notify_desktop=False), "shop", "", "") == []
