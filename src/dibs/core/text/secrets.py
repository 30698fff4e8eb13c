"""Mask secrets in text that is about to be stored or shown.

Pure. Three rules find them: the token formats of issuers, words that precede a secret (``password=``,
``Bearer``), and long random text. A secret becomes ``[masked github token]``, so a reader still sees what was
there. A plain word used as a password in a sentence looks like prose and is not masked.

Most texts contain no secrets. Each rule names what a text must contain before its expression is compiled, so
a short ordinary text costs a few microseconds.
"""

from __future__ import annotations

from dibs.core.text.random_text import RANDOM_MIN, is_random, regularity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Match
    from typing import Any


#: No shorter word can be an issuer's token.
_SHORTEST = 16

_PASSWORD = r"pass(?:word|wd|phrase)|pwd"  # noqa: S105 - an expression
_SECRET = (
    _PASSWORD + r"|secret|token|credentials?|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|account[_-]?key|auth[_-]?key|encryption[_-]?key|signing[_-]?key|client[_-]?key|authorization"
)
_UNMASKED = r"(?!\[masked)"
_QUOTED = r""""(?:[^"\\\n]|\\.)+"|'(?:[^'\\\n]|\\.)+'"""
_BARE = r"(?![=>])[^\s,;\"'`)\]}&]+"

#: Certain: the group ``secret`` is always masked.
_BLOCK = (
    r"-----?[ ]?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?[ ]?-----?"
    r"(?s:.*?)(?:-----?[ ]?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?[ ]?-----?|\Z)"
)
_PUTTY = r"(?i)(?<=private-lines:)(?s:.*?)(?=private-mac:|\Z)"
_URL = rf"(?<=://)(?P<user>[^\s/:@]*):{_UNMASKED}(?P<secret>[^\s/]+)(?=@)"
_ENTRY = (
    rf"(?im)^[ \t]*[\w.-]{{0,60}}(?:{_PASSWORD}):[ \t]+{_UNMASKED}(?P<secret>[^\s\[{{]\S*)[ \t]*$"
)

#: The user and the password in a call of curl, mysql, and others, in .netrc, and in settings of programs.
_LOGIN = (
    rf"(?i)(?:\bcurl\b[^\n]{{0,400}}?[ ](?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{{1,80}}:"
    rf"|\b(?:mysql\w*|mariadb[\w-]*)[ ](?:[^\n]{{0,400}}?[ ])?(?-i:-p)"
    rf"|\b(?:sshpass[ ]|(?:docker|podman)[ ]login[ ](?:[^\n;&|]{{0,200}}?[ ])?)(?-i:-p)[ ]?[\"']?"
    rf"|\bredis-cli[ ](?:[^\n;&|]{{0,200}}?[ ])?(?-i:-a)[ ]"
    rf"|\blogin[ ]+\S{{1,80}}[ \n]+password[ ]+|key=\"[\w.]{{0,40}}password\"[ ]+value=\""
    rf"|\"(?:_?auth|identitytoken)\"[ ]*:[ ]*\"|//[^\s:]{{1,200}}/:_(?:auth|password)=)"
    rf"{_UNMASKED}(?![$<%{{*])(?P<secret>[^\s\"'<>]{{3,}})"
)
#: Services whose keys are plain hexadecimal or alphanumeric text.
_ISSUERS = (
    "adafruit", "airtable", "algolia", "alibaba", "asana", "beamer", "bitbucket", "bittrex", "cloudflare",
    "codecov", "cohere", "coinbase", "confluent", "contentful", "datadog", "discord", "droneci", "dropbox",
    "etsy", "fastly", "finicity", "finnhub", "flickr", "freshbooks", "gitter", "heroku", "hubspot",
    "intercom", "jfrog", "kraken", "kucoin", "launchdarkly", "linkedin", "looker", "mailchimp", "mailgun",
    "mattermost", "meraki", "messagebird", "netlify", "nytimes", "okta", "plaid", "rapidapi", "sendbird",
    "sentry", "snyk", "sonar", "squarespace", "sumo", "telegram", "travis", "trello", "twitch", "twilio",
    "twitter", "yandex", "zendesk",
)  # fmt: skip
#: The regularity from which such a value consists of words and numbers.
_WORDS = 6.0
#: The rest of such a name, and the key; a release or an id is often a commit.
_ISSUED = (
    r"(?i)(?:{})(?![\w.-]{{0,20}}(?:sha|commit|release|version|build|hash|digest|[_-]id|ref|rev)\b)"
    r"(?:[ _.-](?:api|auth|access|admin|app|client|oauth|global|key|login|private|user|pat|sid)){{0,3}}"
    r"[\"']?[ ]{{0,3}}(?::=|=>|=|:)[ ]{{0,3}}[\"'`]?(?P<secret>[A-Za-z0-9_=-]{{15,}})"
)

#: Likely: the group ``secret`` is masked unless it is a plain word or code.
_HEADER = rf"(?i)\b(?:bearer|basic)[ ]+{_UNMASKED}(?P<secret>[A-Za-z0-9._~+/=-]{{6,}})"
_ASSIGNED = (
    rf"(?i)(?P<key>{_SECRET})(?P<rest>[\w-]{{0,40}})[\"']?\s*(?P<sign>:=|=>|==?|:)\s*"
    rf"(?:(?:bearer|basic|token|digest)[ ]+)?+(?P<secret>{_QUOTED}|{_BARE})"
)
_SAID = rf"(?i)(?P<key>{_SECRET})(?:[ ]+(?:is|was)[ ]+|[ ]+)[\"'`]?{_UNMASKED}(?P<secret>{_BARE})"

_ANNOUNCING = (
    *("pass", "pwd", "secret", "token", "credential", "key", "bearer", "basic", "authorization"),
)
#: Each text with a login contains one of these.
_LOGGING_IN = (
    *("curl", "mysql", "mariadb", "sshpass", "docker", "podman", "redis-cli"),
    *("password ", "value=", 'auth"', "/:_", "identitytoken"),
)


def storable(text: str, field: str = "text") -> str:
    """Return ``text`` for storage: secrets masked, and invalid Unicode escaped; refuse a NUL character.

    PostgreSQL cannot store one, so a store that contains one could not be migrated.
    """
    if "\0" in text:
        from dibs.errors import BadInput

        raise BadInput(f"the {field} contains a NUL character", code="TEXT_NUL", field=field)
    return mask(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def mask(text: str) -> str:
    """Return ``text`` with secrets replaced; masking the result again changes nothing."""
    lowered = text.lower()
    longest = max(map(len, lowered.split()), default=0)
    if longest >= _SHORTEST:
        text = _mask_issued(text, lowered, longest)
    if "private" in lowered:
        text = _replace(_BLOCK, "[masked private key]", text)
        text = _replace(_PUTTY, " [masked private key]\n", text)
    if "://" in lowered and "@" in lowered:
        text = _replace(_URL, r"\g<user>:[masked password]", text)
    if any(word in lowered for word in _LOGGING_IN):
        text = _mask_each(_LOGIN, text)
    if any(word in lowered for word in _ANNOUNCING):
        text = _mask_announced(text)
    if longest >= RANDOM_MIN:
        text = _mask_random(text)
    return text


def _mask_issued(text: str, lowered: str, longest: int) -> str:
    """Mask the tokens of issuers: those with a format of their own, and those after an issuer's name."""
    from dibs.core.text.secret_formats import FORMATS

    for each in FORMATS:
        if longest >= each.least and any(mark in lowered for mark in each.marks):
            text = _replace(each.expression, f"[masked {each.kind}]", text)
    named = [name for name in _ISSUERS if name in lowered]
    return _mask_each(_ISSUED.format("|".join(named)), text, _is_key) if named else text


def _replace(expression: str, replacement: str, text: str) -> str:
    import re

    return re.sub(expression, replacement, text)


def _mask_each(expression: str, text: str, judge: Callable[[str], bool] = bool) -> str:
    """Mask the group ``secret`` of each match, if ``judge`` says that it is one."""
    import re

    return re.sub(
        expression,
        lambda match: _without(match, "credentials") if judge(match["secret"]) else match[0],
        text,
    )


def _is_key(value: str) -> bool:
    """Return whether a value is random text, as a key is: many digits, and no words."""
    digits = sum(character.isdigit() for character in value)
    return digits * 8 >= len(value) and regularity(value) < _WORDS and not _is_code(value)


def _mask_announced(text: str) -> str:
    import re

    text = re.sub(_ENTRY, lambda match: _without(match, "password"), text)
    text = re.sub(_HEADER, _mask_header, text)
    text = re.sub(_ASSIGNED, _mask_assigned, text)
    return re.sub(_SAID, _mask_said, text)


def _without(match: Match[str], kind: str) -> str:
    start, end = match.span("secret")
    whole = match.string
    return f"{whole[match.start() : start]}[masked {kind}]{whole[end : match.end()]}"


def _mask_header(match: Match[str]) -> str:
    return match[0] if _is_prose(match["secret"]) else _without(match, "credentials")


def _mask_assigned(match: Match[str]) -> str:
    value, key = match["secret"].strip("\"'"), match["key"].lower()
    quoted = value != match["secret"]
    if _is_code(value) or (key == "token" and value.isdigit()):
        return match[0]
    if not quoted and _is_prose(value) and (match["sign"] == ":" or match["rest"].startswith("s")):
        return match[0]
    return _without(match, _kind(key))


def _mask_said(match: Match[str]) -> str:
    value = match["secret"].rstrip(".:!?")
    # In prose, only a mix of letters and digits counts.
    if len(value) < 6 or not _mixed(value) or _is_code(value) or "/" in value:  # noqa: PLR2004
        return match[0]
    return _without(match, _kind(match["key"].lower()))


def _kind(key: str) -> str:
    if key.startswith(("pass", "pwd")):
        return "password"
    return key.replace("_", " ").replace("-", " ")


def _mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_prose(value: str) -> bool:
    """Return whether a value is a word or a short number, such as ``Required.``, not a password."""
    word = value.strip(".:!?*_<>()-")
    return not word or (word.isalpha() and word[1:].islower()) or (len(word) < 4 and word.isalnum())  # noqa: PLR2004


def _is_code(value: str) -> bool:
    """Return whether a value is a name, a call, a placeholder, or a constant, not a literal."""
    if value[:1] in "$<*%({[" or value in ("None", "null", "True", "False", "true", "false", "..."):
        return True
    head, opened, _ = value.replace("[", "(").partition("(")
    names = head.split(".")
    if opened:
        return all(name.isidentifier() for name in names)
    if any(not name.replace("_", "a").replace("-", "a").isalpha() for name in names):
        return False
    return (
        len(names) > 1 or head.startswith("--") or "_" in head.strip("_") or head.lower() in _NAMES
    )


#: Placeholders for secrets in code, and their types.
_NAMES = ("str", "string", "password", "token", "secret")


def _mask_random(text: str) -> str:
    import re

    return re.sub(
        r"(?i:sha\d{1,3}(?:[-:]|[ ]?=[ ]?\"?)|\bh1:|data:(?:image|font|audio|video)/[\w.+-]{1,40};base64,)?"
        r"[A-Za-z0-9+/_-]{22,}={0,2}",
        lambda match: "[masked token]" if is_random(match[0]) else match[0],
        text,
    )


_SECRET_KEYS = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials"),
    *("api_key", "apikey", "access_key", "private_key", "account_key", "authorization", "cookie"),
)


def mask_value(value: Any) -> Any:
    """Return a JSON value with secrets masked in its texts and under keys that name secrets.

    A number under a key such as ``token`` stays: it is a fencing token, or a count.
    """
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {
            mask(key) if isinstance(key, str) else key: _mask_entry(key, inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [mask_value(inner) for inner in value]
    return value


def _mask_entry(key: object, value: Any) -> Any:
    name = str(key).lower().replace("-", "_").replace(" ", "_")
    if not name.endswith(_SECRET_KEYS):
        return mask_value(value)
    number = isinstance(value, int | float) or (isinstance(value, str) and value.isdigit())
    if value in (None, "", True, False) or (number and name.endswith("token")):
        return value
    if isinstance(value, dict | list | tuple):
        return mask_value(value)
    return f"[masked {_kind(next(end for end in _SECRET_KEYS if name.endswith(end)))}]"
