"""Masking secrets. The samples are assembled at run time, so that scanners do not report this file."""

from __future__ import annotations

import json
import random
import re
import string
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.text import secret_formats
from dibs.core.text.secret_formats import FORMATS
from dibs.core.text.secrets import mask, mask_value

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def draw(count, alphabet=ALNUM, seed=1):
    """Return random text with at least one digit and one capital, always the same."""
    rng = random.Random(f"{count}{alphabet}{seed}")
    while True:
        text = "".join(rng.choices(alphabet, k=count))
        if any(c.isdigit() for c in text) and any(c.isalpha() for c in text):
            return text


URLSAFE = ALNUM + "-_"
UPPER = string.ascii_uppercase + string.digits
BASE64 = ALNUM + "+/"

#: The text around, with {} for the secret, and the secret itself.
TOKENS = [
    *(f"{start}{draw(16, UPPER)}" for start in ("AKIA", "ASIA", "ABIA", "ACCA", "A3TX")),
    *(f"gh{kind}_{draw(36)}" for kind in "pousr"),
    "github" + "_pat_" + draw(22) + "_" + draw(59),
    *(f"gl{kind}-{draw(20, URLSAFE, 9)}" for kind in ("pat", "rt", "ptt", "soat", "agent")),
    *(f"xox{kind}-{draw(11, '0123456789a')}-{draw(24)}" for kind in "abprs"),
    "xapp" + "-1-" + draw(11, UPPER) + "-" + draw(40, HEX),
    "https://hooks.slack" + ".com/services/" + f"T{draw(8, UPPER)}/B{draw(8, UPPER)}/{draw(24)}",
    *(f"{kind}k_{mode}_{draw(24)}" for kind in "sr" for mode in ("live", "test")),
    "wh" + "sec_" + draw(32),
    "sk-" + "ant-api03-" + draw(93, URLSAFE),
    *(f"sk-{kind}{draw(48)}" for kind in ("", "proj-", "svcacct-", "admin-")),
    "sk-" + draw(32, HEX),
    "AI" + "za" + draw(35, URLSAFE),
    "ya" + "29." + draw(60, URLSAFE),
    "GOC" + "SPX-" + draw(28, URLSAFE),
    "1/" + "/0" + draw(60, URLSAFE),
    "np" + "m_" + draw(36),
    "py" + "pi-AgEIcHlwaS5vcmc" + draw(60, URLSAFE),
    "ey" + f"J{draw(20)}.eyJ{draw(40, URLSAFE)}.{draw(43, URLSAFE)}",
    "S" + f"G.{draw(22, URLSAFE)}.{draw(43, URLSAFE)}",
    *(f"{kind}{draw(32, HEX)}" for kind in ("AC", "SK")),
    f"{draw(9, '123456789a').replace('a', '5')}:A" + f"A{draw(33, URLSAFE)}",
    f"M{draw(23)}.{draw(6)}.{draw(27, URLSAFE)}",
    "h" + "f_" + draw(34),
    *(f"do{kind}_v1_{draw(64, HEX)}" for kind in "opr"),
    "HR" + "KU-" + draw(60, URLSAFE),
    f"{draw(3)}8Q" + f"~{draw(34, ALNUM)}",
    *(f"shp{kind}_{draw(32, HEX)}" for kind in ("at", "ca", "pa", "ss")),
    "sq" + "0atp-" + draw(22, URLSAFE),
    "ke" + "y-" + draw(32, HEX),
    f"{draw(32, HEX)}-us" + "12",
    "da" + "pi" + draw(32, HEX),
    "NR" + "AK-" + draw(27, UPPER),
    "li" + "n_api_" + draw(40),
    "hv" + "s." + draw(90, URLSAFE),
    "dck" + "r_pat_" + draw(27, URLSAFE),
    "sb" + "p_" + draw(40, HEX),
    "gs" + "k_" + draw(52),
    "xa" + "i-" + draw(80),
    "r" + "8_" + draw(37),
    "PM" + f"AK-{draw(24, HEX)}-{draw(34, HEX)}",
    "gl" + f"sa_{draw(32)}_{draw(8, HEX)}",
    f"{draw(14)}.atlas" + f"v1.{draw(60, URLSAFE)}",
    "AGE-SEC" + "RET-KEY-1" + draw(58, UPPER),
]

UUID = f"{draw(8, HEX)}-{draw(4, HEX)}-{draw(4, HEX, 2)}-{draw(4, HEX, 3)}-{draw(12, HEX)}"
LOWER = string.ascii_lowercase + string.digits


def prefixed():
    """Yield a token for each prefix in the table: the shortest one of its issuer."""
    alphabets = {"w": ALNUM, "u": URLSAFE, "x": HEX, "b": BASE64, "c": UPPER}
    for line in secret_formats._PREFIXED.strip().splitlines():
        _, starts, rest = line.split("; ")
        for start in starts.split():
            yield start + draw(int(rest[1:]), alphabets[rest[0]], start)


#: Formats with parts; each also exists in the table of expressions.
SHAPED = [
    "https://x.blob/y?sv=1&sig=" + draw(44, ALNUM + "%"),
    f"dibs_{draw(48, HEX)}",
    f"https://hooks.zapier.com/hooks/catch/1234567/{draw(7, LOWER)}",
    *(
        f"gl{kind}-{'Abcdefgh' * 3}"
        for kind in ("pat", "dt", "rt", "cbt", "ft", "imt", "oas", "ffct")
    ),
    f"glpat-{draw(27, URLSAFE)}.01{draw(7, LOWER)}",
    f"_gitlab_session={draw(32, LOWER)}",
    "xoxe" + f".xoxp-1-{draw(163, UPPER)}",
    f"https://hooks.slack.com/triggers/T{draw(8, UPPER)}/{draw(13, '0123456789a')}/{draw(32, HEX)}",
    "https://discord.com" + f"/api/webhooks/{'123456789' * 2}/{draw(68, URLSAFE)}",
    f"https://x.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{draw(32, HEX)}/{UUID}",
    f"sk_prod_{draw(24)}",
    f"live_{draw(35, HEX)}",
    f"test_pub_{draw(31, HEX)}",
    f"rzp_live_{draw(14)}",
    f"access_token$production${draw(16, LOWER)}${draw(32, HEX)}",
    f"A3-{draw(6, UPPER)}-{draw(6, UPPER, 2)}-" + "-".join(draw(5, UPPER, n) for n in range(4)),
    f"pat{draw(14)}.{draw(64, HEX)}",
    f"1/{'1234567890123456'}:{draw(32, HEX)}",
    f"amzn.mws.{UUID}",
    f"v1.0-{draw(24, HEX)}-{draw(146, HEX)}",
    *(f"dp.{kind}.{draw(43)}" for kind in ("pt", "ct", "sa", "scim")),
    f"dp.st.dev.{draw(43)}",
    f"sl.{draw(135, URLSAFE)}",
    f"dt0c01.{draw(24, UPPER)}.{draw(64, UPPER)}",
    f"{'123456789012345'}|{draw(27, URLSAFE)}",
    f"pat.{draw(22, URLSAFE)}.{draw(24)}.{draw(20)}",
    f"pat-na1-{UUID}",
    f"sdk-{UUID}",
    f"access-production-{UUID}",
    f"lsv2_pt_{draw(32, HEX)}_{draw(10, HEX)}",
    f"{draw(32, HEX)}-{draw(8, HEX)}-{draw(8, HEX, 2)}",
    f"pk.eyJ{draw(60)}.{draw(22)}",
    f"{draw(6)}_{draw(29)}_mmk",
    f"sha256~{draw(43, URLSAFE)}",
    f"re_{draw(8)}_{draw(24)}",
    f"oauth:{draw(30, LOWER)}",
    f"s.{draw(24)}",
    f"sgp_{draw(16, HEX)}_{draw(40, HEX)}",
    f"sgp_local_{draw(40, HEX)}",
    f"CONTRIBSYS__COM={draw(8, HEX)}:{draw(8, HEX, 2)}",
    f"$2b$12${draw(53)}",
    f"$6$rounds=5000$salt${draw(86, ALNUM + './')}",
]

INNOCENT = [
    "",
    "address 0x52908400098527886E0F7030069857D2E4169EE7",
    "glob-stream-with-a-long-name-for-readable-streams",
    "glide-data-grid-with-custom-cells-and-more",
    "pat-a-cake and pat.match(text)",
    "live_reload_of_the_whole_development_server",
    "test_pub_sub_delivers_each_message_once_and_in_order",
    "re_compile_the_expression_only_once_per_process",
    "api-gateway-and-more-of-the-same-kind-of-thing",
    "sha256 of the file; sha512-integrity",
    "sl.append(x); s.lower(); dp.get(key)",
    "EAAAA and LTAIL and EZAKI are words",
    "cio_loop and ioctl; pul-request; ico-nography",
    "secret_santa_list_for_the_whole_company_party",
    "fw_version and fm2_radio and y0_axis_of_the_chart",
    "sqp_solver_for_nonlinear_problems_with_constraints",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "A3-sized paper, landscape",
    "-----BEGIN CERTIFICATE-----",
    "private-lines of the argument",
    "fix the login page",
    "Refactor the parser so that globs are linear",
    "see src/dibs/core/patterns/pattern.py and tests/core/patterns/test_pattern.py",
    "app/[id]/(marketing)/[...slug]/page.tsx",
    "src/**/*.{ts,tsx}",
    "packages/web-dashboard/src/components/AgentTimelineView/AgentTimelineView.test.tsx",
    "migrations/2024_01_15_120000_add_user_email_index.sql",
    "node_modules/@babel/plugin-proposal-nullish-coalescing-operator/package.json",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "C:\\Users\\alice\\Documents\\project\\file.txt",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 is empty",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "d41d8cd98f00b204e9800998ecf8427e",
    "123e4567-e89b-12d3-a456-426614174000",
    "task 01ARZ3NDEKTSV4RRFFQ69G5FAV is done",
    "sha512-" + draw(86, BASE64) + "==",
    "SHA256:" + draw(43, BASE64),
    "https://example.org/path/to/page?query=1&page=2#section",
    "http://localhost:8000/users/@me",
    "ssh://git@github.com/owner/repository.git",
    "git@github.com:owner/repository.git",
    "mail alice@example.org about it",
    "sqlite:///home/alice/project/.git/dibs/dibs.db",
    "postgres://db.internal:5432/main",
    "redis://cache:6379/0",
    "BEGIN the PRIVATE KEY handling",
    "task-42 and disk-1 and sk-learn",
    "task-management-with-many-words-2024-edition",
    "risk-assessment-of-the-whole-system-v2",
    "scikit-learn==1.4.2",
    "pypi-publish workflow",
    "npm_config_registry",
    "npm install --save-dev @types/node",
    "glob-parent and gl-matrix",
    "eyJ is how tokens start",
    "xoxo from the team",
    "shipped SG. and AC units",
    "agent-01.claude.session-3f2a",
    "alice-pts-3",
    "user_id=1234567890",
    "ttl=300 wait=0 mode=exclusive",
    "2024-01-15T12:00:00.123456+00:00",
    "0x7ffee4c0a8b0",
    "192.168.100.100:8080",
    "fe80:0000:0000:0000:0202:b3ff:fe1e:8329",
    "v1.2.3-beta.4+build.20240115",
    "日本語のテキストもそのまま残ります",
    "[masked github token]",
    "https://user:[masked password]@example.org/",
]


@pytest.mark.parametrize(
    "around", ["{}", "leaked {} here", 'x = "{}"', "({}),", "url?k={}&b=1", "a\n{}\nb"]
)
def test_no_token_survives(around):
    masked = {token: mask(around.replace("{}", token)) for token in (*TOKENS, *SHAPED, *prefixed())}

    assert [token for token, text in masked.items() if token[-9:] in text] == []
    assert [text for text in masked.values() if mask(text) != text] == []


def test_each_format_in_the_table_is_tested_and_compiles():
    texts = [*TOKENS, *SHAPED, *prefixed()]

    untested = [
        each for each in FORMATS if not any(re.search(each.expression, text) for text in texts)
    ]

    assert [form.kind for form in untested] == []


def test_a_private_key_is_masked_even_without_its_end():
    lines = "\n".join(draw(64, BASE64, seed) for seed in range(5))
    begin, end = (f"-----{word} RSA PRIVATE" + " KEY-----" for word in ("BEGIN", "END"))

    assert mask(f"a\n{begin}\n{lines}\n{end}\nb") == "a\n[masked private key]\nb"
    assert mask(f"a\n{begin}\n{lines}") == "a\n[masked private key]"


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("-----BEGIN PGP PRIVATE" + " KEY BLOCK-----", "-----END PGP PRIVATE" + " KEY BLOCK-----"),
        ("-----BEGIN OPENSSH PRIVATE" + " KEY-----", "-----END OPENSSH PRIVATE" + " KEY-----"),
        ("---- BEGIN SSH2 ENCRYPTED PRIVATE" + " KEY ----", "---- END SSH2 PRIVATE" + " KEY ----"),
        ("Private-Lines: 2", "Private-MAC: 0"),
    ],
)
def test_every_kind_of_private_key_is_masked(begin, end):
    lines = "\n".join(draw(64, BASE64, seed) for seed in range(5))

    masked = mask(f"a\n{begin}\n{lines}\n{end}\nb")

    assert "[masked private key]" in masked
    assert not any(line in masked for line in lines.splitlines())


def test_innocent_text_is_not_masked():
    assert list(map(mask, INNOCENT)) == INNOCENT


def test_text_around_a_secret_stays_with_the_kind_of_secret():
    token = f"gh{'p'}_{draw(36)}"

    assert mask(f"pushed with {token}, ok") == "pushed with [masked github token], ok"
    assert mask("postgres://app:pw1@db/x") == "postgres://app:[masked password]@db/x"


@given(st.text())
def test_any_text_can_be_masked_and_stays_masked(text):
    assert mask(mask(text)) == mask(text)


LURES = ("ghp_", "=", ":", "[masked", "://", "@", "a1", "-----BEGIN PRIVATE KEY-----", "glpat-")


@given(st.lists(st.sampled_from(LURES)), st.sampled_from(("", " ")))
def test_masking_is_stable_for_texts_that_look_like_secrets(pieces, between):
    once = mask(between.join(pieces))

    assert mask(once) == once


@pytest.mark.timeout(30)
def test_a_long_text_takes_linear_time():
    for piece in (
        "a",
        "password",
        "eyJ",
        "://a:",
        "A1b2",
        '"\\',
        "-----BEGIN PRIVATE KEY-----",
        "---- BEGIN ",
        "private-lines:",
        "glpat-",
        "dp.st.",
        "dp.st.a",
        "1234567890123456/",
        "A3-ABCDEF-",
        "$2b$",
        "sdk-01234567-",
        "live_",
        *(line.split("; ")[1].split()[0] for line in secret_formats._PREFIXED.strip().splitlines()),
    ):
        began = time.process_time()
        mask(piece * (200_000 // len(piece)))
        assert time.process_time() - began < 5.0, piece


def test_values_are_masked_at_any_depth():
    token = f"gh{'p'}_{draw(36)}"

    masked = mask_value({"a": [{"note": f"x {token}"}, 5, None, True], token: ("b", 1.5)})

    assert token not in json.dumps(masked)
    assert masked["a"][1:] == [5, None, True]
    assert masked["[masked github token]"] == ["b", 1.5]


def test_ordinary_text_is_masked_without_compiling_anything():
    code = (
        "import re; from dibs.core.text.secrets import mask; re.purge(); "
        "mask('fix the login page'); mask('edit src/a.py for the demo'); print(len(re._cache))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "0\n"
