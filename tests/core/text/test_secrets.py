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
    *(
        draw(count, alphabet, 5)
        for count in (24, 32, 40, 64, 88)
        for alphabet in (ALNUM, BASE64, URLSAFE)
    ),
    draw(86, BASE64) + "==",
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

ANNOUNCED = [
    ("curl -u admin:{} https://x", "swordfish"),
    ('curl --user "bob:{}" https://x', "open-sesame"),
    ("mysql -uroot -p{} shop", "swordfish"),
    ("mysqldump -h db -p{} shop", "swordfish"),
    ("sshpass -p '{}' ssh host", "swordfish"),
    ("docker login -u bob -p {} r.io", "swordfish"),
    ("redis-cli -h cache -p 6379 -a {} ping", "swordfish"),
    ("machine x login bob password {}", "swordfish"),
    ('<add key="ClearTextPassword" value="{}" />', "33f!!lloppa"),
    ('{{"auths": {{"r.io": {{"auth": "{}"}}}}}}', "Ym9iOnN3b3JkZmlzaA"),
    ("//registry.example/:_auth={}", "Ym9iOnN3b3JkZmlzaA"),
    ("CLOUDFLARE_GLOBAL={}", draw(37, HEX)),
    ("HEROKU={}", UUID),
    ('datadog: "{}"', draw(40, HEX)),
    ("sonar.login={}", draw(40, HEX)),
    ("algolia admin key: {}", draw(32, HEX)),
    ("TRELLO_KEY={}", draw(32, HEX)),
    ("SENTRY_AUTH={}", draw(64, HEX)),
    ("squarespace_key={}", UUID),
    ("TWILIO_AUTH={}", draw(32, HEX)),
    ("okta = '{}'", "00" + draw(40, URLSAFE)),
    ("https://user:{}@example.org/x", "hunter2"),
    ("postgres://app:{}@db/main", "plainword"),
    ("redis://:{}@cache:6379/0", "p@ss:w0rd"),
    ("git clone https://oauth2:{}@host/r.git", draw(20)),
    ("Authorization: Bearer {}", draw(20)),
    ("authorization: basic {}", "dXNlcjpwYXNz"),
    ('curl -H "Authorization: token {}" x', draw(20)),
    ("used Bearer {} for it", draw(12)),
    ("password={}", "hunter2"),
    ("password={}", "swordfish"),
    ("PASSWORD = {}", "Tr0ub4dor&3"),
    ('{{"password": "{}"}}', "swordfish"),
    ("password: {}", "swordfish"),
    ("db:\n  password: {}\n  host: x", "swordfish"),
    ("set passwd:{} now", "hunter2"),
    ("pwd={};server=x", "s3cret"),
    ("my passphrase is {}.", "corr3ct-horse"),
    ("mysql --password {} -u root", "hunter2"),
    ("tool --api-key={}", "abcdef123"),
    ("AWS_SECRET_ACCESS_KEY={}", draw(40, BASE64)),
    ("aws_secret_access_key = {}", draw(40, BASE64)),
    ("HEROKU_API_KEY={}", "01234567-89ab-cdef-0123-456789abcdef"),
    ("AccountKey={};EndpointSuffix=x", draw(86, BASE64) + "=="),
    ("SharedAccessKey={}", draw(43, BASE64) + "="),
    ("https://x.blob/y?sv=1&sig={}", draw(44, ALNUM + "%")),
    ("client_secret: '{}'", "a b c d"),
    ("export API_KEY={}", "abc123def"),
    ("token={}", draw(10)),
    ("GITHUB_TOKEN={}", draw(10)),
    ("SECRET_KEY_BASE={}", draw(32, HEX)),
    ('secret := "{}"', "opensesame"),
    ("credentials: {}", "admin/4dm1n"),
    ("x_auth_key: {}", draw(37, HEX)),
    ("the token is {}", draw(16)),
]

INNOCENT = [
    "",
    "docker run -u 1000:1000 image",
    "docker run -p 8080:80 nginx",
    "docker login && docker run -p 8080:80 nginx",
    "redis-cli -h cache -p 6379",
    "sshpass -p $PASSWORD ssh -p 2222 host",
    'sha256 = "0sjjj9z1dhilhpc8pq4154czrb79z9cm044jvn75kxcjv6v5l2m5";',
    "codecov: coverage-report-2024-11-19",
    "snyk: SNYK-JS-LODASH-1018905",
    "trello key concepts: boards and lists",
    "login page with a password field",
    "curl -u $USER:$PASSWORD https://x",
    "mysql -uroot -p shop -P3306",
    "tokens: --md-sys-color-on-primary-container",
    "example.com/x v1.2.3 h1:Xq2Bv7ZkT9wLr4NcJ8sYdF0aHgU5mEoPiK3xQ1tWzVb=",
    "address 0x52908400098527886E0F7030069857D2E4169EE7",
    "curl -sSf https://example.org/install.sh | sh",
    "SENTRY_RELEASE=da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "netlify-build: da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "heroku: my-application-for-production",
    "discord_channel_id=123456789012345678",
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
    "resolved https://registry.npmjs.org/lodash/-/lodash-4.17.21.tgz",
    'checksum = "d4a3f2bd1d2b8e4b1e8e0f1a6c7b5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c"',
    "$HOME/.config and $1 and $(date) and ${NAME}",
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
    "getHTTPResponseCodeForURLAndRetry",
    "convertSetCCLogicToBitwiseLogic",
    "xmlSecTransformHmacSha224GetKlass",
    "initializeStackSafetyGlobalInfoWrapperPass",
    "VERY_LONG_CONSTANT_NAME_WITH_MANY_WORDS_2",
    "test_a_claim_cannot_be_renewed_on_its_deadline",
    "feature/2024-01-15-user-login-v2-with-oauth2",
    "amdgcn_mfma_f32_16x16x16f16",
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "=" * 60,
    "-" * 60,
    "_" * 30,
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "00000000000000000000000000000000",
    "1234567890123456789012345678901234567890",
    "https://example.org/path/to/page?query=1&page=2#section",
    "http://localhost:8000/users/@me",
    "ssh://git@github.com/owner/repository.git",
    "git@github.com:owner/repository.git",
    "mail alice@example.org about it",
    "sqlite:///home/alice/project/.git/dibs/dibs.db",
    "postgres://db.internal:5432/main",
    "redis://cache:6379/0",
    "token 57 is stale",
    "token=57",
    "token: 57",
    "fencing token: the number of a grant",
    "the token is checked at the gate",
    "tokens: 12000 of 200000 used",
    "max_tokens=4096",
    "tokenize(text) and tokenizer_v2",
    "Add password field to the form",
    "password: required field of the form",
    "the password is required",
    "the secret is out",
    "secret: see the manual for it",
    'password="\'"',
    "password=None",
    "password=self.password",
    "password = getpass()",
    "password=os.environ['DB_PASSWORD']",
    "password=$DB_PASSWORD",
    "password=${DB_PASSWORD}",
    "password=<your password>",
    "password=***",
    "token=get_token()",
    "token=settings.api_token",
    "token: str",
    "api_key: str | None = None",
    "secret_name = vault_path",
    "def login(username, password): pass",
    "bearer authentication for the API",
    "a basic understanding of Basic auth",
    "basic types and Bearer tokens",
    "authorization: rework the checks",
    "reset password flow",
    "rotate the api key tomorrow",
    "public key cryptography",
    "BEGIN the PRIVATE KEY handling",
    "sort by key: ascending",
    "key=value",
    "keyboard shortcuts; monkey patching; keys()",
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
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "com.example.project.module.AbstractSingletonProxyFactoryBean",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk",
    "日本語のテキストもそのまま残ります",
    "passes all tests; bypass: none; compass",
    "pass",
    "--token is deprecated",
    "--password option is gone",
    "[masked github token]",
    "password=[masked password]",
    "https://user:[masked password]@example.org/",
]


def test_there_are_a_hundred_of_each():
    assert len({*TOKENS, *SHAPED, *prefixed()}) + len(ANNOUNCED) >= 200
    assert len(INNOCENT) >= 130
    assert len(FORMATS) >= 130


@pytest.mark.parametrize(
    "around", ["{}", "leaked {} here", 'x = "{}"', "({}),", "url?k={}&b=1", "a\n{}\nb"]
)
@pytest.mark.parametrize("token", TOKENS, ids=range(len(TOKENS)))
def test_no_token_survives(token, around):
    masked = mask(around.replace("{}", token))

    assert token not in masked
    assert token[-12:] not in masked
    assert "[masked " in masked


@pytest.mark.parametrize("around", ["{}", "leaked {} here", 'x = "{}"', "a\n{}\nb"])
def test_no_format_of_an_issuer_survives(around):
    tokens = [*SHAPED, *prefixed()]

    masked = {token: mask(around.replace("{}", token)) for token in tokens}

    assert [token for token, text in masked.items() if token[-9:] in text] == []


def test_each_format_in_the_table_is_tested_and_compiles():
    texts = [*TOKENS, *SHAPED, *prefixed(), *(text.replace("{}", key) for text, key in ANNOUNCED)]

    untested = [
        each for each in FORMATS if not any(re.search(each.expression, text) for text in texts)
    ]

    assert [form.kind for form in untested] == []


@pytest.mark.parametrize(("around", "secret"), ANNOUNCED, ids=range(len(ANNOUNCED)))
def test_no_labeled_secret_survives(around, secret):
    masked = mask(around.replace("{{", "{").replace("}}", "}").replace("{}", secret, 1))

    assert secret not in masked
    assert "[masked " in masked


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


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_is_not_masked(text):
    assert mask(text) == text


def test_text_around_a_secret_stays_with_the_kind_of_secret():
    token = f"gh{'p'}_{draw(36)}"

    assert mask(f"pushed with {token}, ok") == "pushed with [masked github token], ok"
    assert mask("postgres://app:pw1@db/x") == "postgres://app:[masked password]@db/x"
    assert mask("DB_PASSWORD=hunter2 make") == "DB_PASSWORD=[masked password] make"


@pytest.mark.parametrize("text", [*TOKENS, *(around.replace("{}", s) for around, s in ANNOUNCED)])
def test_masking_again_changes_nothing(text):
    assert mask(mask(text)) == mask(text)


@given(st.text())
def test_any_text_can_be_masked_and_stays_masked(text):
    assert mask(mask(text)) == mask(text)


LURES = (
    "token",
    "password",
    "=",
    ":",
    "'",
    '"',
    "[masked",
    "key",
    "Bearer",
    "://",
    "@",
    "a1",
    "{x",
)


@given(st.lists(st.sampled_from(LURES)), st.sampled_from(("", " ")))
def test_masking_is_stable_for_texts_that_look_like_secrets(pieces, between):
    once = mask(between.join(pieces))

    assert mask(once) == once


@pytest.mark.timeout(30)
def test_a_long_text_takes_linear_time():
    for piece in (
        "a",
        "password",
        "password ",
        "eyJ",
        "://a:",
        "token=",
        "A1b2",
        '"\\',
        "-----BEGIN PRIVATE KEY-----",
        "---- BEGIN ",
        "private-lines:",
        "curl -u a",
        "curl ",
        "login a password ",
        "heroku_api",
        "heroku=",
        "/:_auth=",
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


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "PASSWORD",
        "db_password",
        "client-secret",
        "token",
        "api_key",
        "apiKey",
        "Api Key",
        "authorization",
    ],
)
def test_the_value_of_a_secret_key_is_masked(key):
    assert mask_value({key: "plain"})[key].startswith("[masked ")


def test_a_number_under_password_is_masked_but_a_fencing_token_is_not():
    masked = mask_value(
        {"password": 1234, "token": 57, "max_token": "57", "secret": None, "api_key": ""}
    )

    assert masked == {
        "password": "[masked password]",
        "token": 57,
        "max_token": "57",
        "secret": None,
        "api_key": "",
    }


def test_values_nested_under_a_secret_key_are_masked():
    assert mask_value({"secret": {"password": "x", "count": 5}}) == {
        "secret": {"password": "[masked password]", "count": 5}
    }


def test_ordinary_text_is_masked_without_compiling_anything():
    code = (
        "import re; from dibs.core.text.secrets import mask; re.purge(); "
        "mask('fix the login page'); mask('edit src/a.py for the demo'); print(len(re._cache))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "0\n"
