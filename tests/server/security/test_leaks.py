"""A token appears in none of the files, outputs, or process lists of a whole run."""

from __future__ import annotations

import os
from pathlib import Path

from tests.server.callers import bearer, client, token

from dibs.server.security.identity import TokenScope


def test_no_artefact_of_a_run_contains_a_token(start_server):
    server = start_server()
    made = [server.dibs("token", "new", *words).stdout.strip()
            for words in (("--scope", "admin"), ("--agent", "alice"))]  # fmt: skip
    body = {"patterns": ["a.py"], "reason": f"my token is {made[1]}"}
    said = [
        server.request(
            "POST", "/api/v1/claims", body, {**bearer(made[1]), "Idempotency-Key": "k"}, tcp=True
        ),
        server.request("GET", f"/api/v1/status?token={made[0]}", tcp=True),
        server.request("GET", "/api/v1/status", headers=bearer(made[0] + "x"), tcp=True),
        server.request(
            "POST",
            "/api/v1/messages",
            {"to": ["human"], "text": made[1]},
            bearer(made[1]),
            tcp=True,
        ),
        server.request("GET", "/api/v1/log", headers=bearer(made[0]), tcp=True),
    ]
    assert [one.status for one in said][:3] == [201, 400, 401]
    outputs = [
        server.dibs(*words.split()).stdout
        for words in ("status --json", "log --json", "token ls --json")
    ]
    process = Path(f"/proc/{server.process.pid}")
    listed = [(process / name).read_bytes() for name in ("cmdline", "environ")]
    server.stop()

    base = server.repo.parent
    files = {}
    for folder, _, names in os.walk(base):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    files[path] = file.read()
    assert any(path.endswith("tokens.json") for path in files)
    for one_token in made:
        secret = one_token[17:].encode()
        assert [path for path, content in files.items() if secret in content] == []
        assert not any(secret in one.body for one in said)
        assert not any(secret.decode() in one for one in outputs)
        assert not any(secret in one for one in listed)


def test_the_settings_show_a_webhook_without_its_secret(resident, served):
    url = "https://hooks.example.com/services/s3cret"
    Path(served.root, "dibs.toml").write_text(f'[notify]\nwebhook = "{url}"\n')
    reader = client(resident, token(resident, TokenScope.READ))

    everything = reader.get("/api/v1/settings")
    one = reader.get("/api/v1/settings/notify.webhook")

    shown = {answer.json()["settings"]["notify_webhook"]["value"] for answer in (everything, one)}
    assert shown == {"https://hooks.example.com/***"}
    assert "s3cret" not in everything.text + one.text
