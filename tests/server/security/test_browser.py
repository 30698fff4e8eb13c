"""A page of another origin in real Chromium can neither read nor write, although the browser is signed in."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import sync_playwright
from tests.server.conftest import free_port

#: Each attack returns what it could read; an error is the expected result.
ATTACKS = """
async ([base, path]) => {
  const told = {};
  const text = JSON.stringify({patterns: [path]});
  const attempt = async (name, act) => {
    try { told[name] = String(await act()); } catch (error) { told[name] = "failed"; }
  };
  const claims = base + "/api/v1/claims";
  for (const credentials of ["include", "omit"]) {
    await attempt("read " + credentials, async () =>
      (await fetch(base + "/api/v1/status", {credentials})).text());
    await attempt("json " + credentials, async () => (await fetch(claims,
      {method: "POST", credentials, body: text, headers: {"Content-Type": "application/json"}})).text());
    await attempt("simple " + credentials, async () => (await fetch(claims,
      {method: "POST", mode: "no-cors", credentials, body: text})).text());
  }
  await attempt("image", () => new Promise((done, fail) => {
    const image = new Image(); image.onload = () => done("loaded"); image.onerror = fail;
    image.src = base + "/api/v1/status"; }));
  await attempt("beacon", async () => {
    navigator.sendBeacon(claims, new Blob([text], {type: "text/plain"}));
    navigator.sendBeacon(claims, new Blob([text], {type: "application/json"})); return ""; });
  await attempt("frame", () => new Promise((done) => {
    const frame = document.createElement("iframe"); frame.src = base + "/api/v1/status";
    frame.onload = () => { let seen = "failed";
      try { seen = frame.contentDocument.body ? frame.contentDocument.body.innerText : seen; } catch (e) {}
      done(seen); };
    document.body.append(frame); }));
  await attempt("form", () => new Promise((done) => {
    const frame = document.createElement("iframe"); frame.name = "f"; document.body.append(frame);
    const form = document.createElement("form");
    form.action = claims; form.method = "POST"; form.enctype = "text/plain"; form.target = "f";
    const input = document.createElement("input");
    input.name = text.slice(0, -1) + ',"x":"'; input.value = '"}';
    form.append(input); document.body.append(form); frame.onload = () => done(""); form.submit(); }));
  await attempt("websocket", () => new Promise((done, fail) => {
    const link = new WebSocket(base.replace("http", "ws") + "/ws");
    link.onopen = () => done("opened"); link.onerror = fail; }));
  return told;
}
"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>another site</title><body></body>")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def other_port():
    site = ThreadingHTTPServer(("127.0.0.1", free_port()), _Page)
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    yield site.server_address[1]
    site.shutdown()
    thread.join()
    site.server_close()


@pytest.fixture(scope="module")
def page(server):
    """A page of a browser that is signed in; every name in .test is resolved to this machine."""
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP *.test 127.0.0.1"],
        )
        found = browser.new_page()
        found.goto(json.loads(server.dibs("token", "login", "--json").stdout)["url"])
        assert found.evaluate("async () => (await (await fetch('/')).json()).scope") == "admin"
        yield found
        browser.close()


def claimed(server, path):
    return path in server.dibs("status", "--json").stdout


@pytest.mark.parametrize("site", ["127.0.0.1", "localhost", "evil.test"])
def test_a_page_of_another_origin_can_neither_read_nor_write(server, page, other_port, site):
    path = f"by-{site.replace('.', '-')}.py"
    page.goto(f"http://{site}:{other_port}/")

    told = page.evaluate(ATTACKS, [server.url, path])

    harmless = {"failed", ""}
    assert {name: said for name, said in told.items() if said not in harmless} == {}
    assert len(told) == 11
    assert not claimed(server, path)


def test_a_name_that_is_rebound_to_this_machine_reaches_nothing(server, page):
    """The attacker's page and the server then have the same origin for the browser."""
    port = server.url.rpartition(":")[2]
    answer = page.goto(f"http://rebound.test:{port}/api/v1/status")
    assert answer.status == 421

    frame = """async (url) => { try { return (await fetch(url, {method: "POST", body: "{}"})).status; }
               catch (error) { return "failed"; } }"""
    assert page.evaluate(frame, f"http://rebound.test:{port}/api/v1/claims") in {421, "failed"}


def test_the_servers_own_page_can_read_and_write(server, page):
    """Otherwise the tests above would show nothing."""
    assert page.goto(f"{server.url}/api/v1/status").status == 200
    answer = page.request.post(
        f"{server.url}/api/v1/claims",
        data={"patterns": ["by-own-page.py"]},
        headers={"Origin": server.url},
    )
    assert answer.status == 201
    assert claimed(server, "by-own-page.py")
