"""The formats of issuers' tokens, as the issuers and the common scanners describe them.

Most are a prefix and random text of at least some length; ``_PREFIXED`` lists these. The others have an
expression. An expression must not need more than linear time, so each repetition is bounded or its own.
"""

from __future__ import annotations

from dibs.startup.records import Record


class SecretFormat(Record):
    """The format of one issuer's tokens."""

    kind: str
    #: Every such token contains one of these, in lower case.
    marks: tuple[str, ...]
    expression: str
    #: The shortest such token.
    least: int


_START = r"(?<![A-Za-z0-9])"
_WORD = r"[A-Za-z0-9_-]"

#: Kind; marks; least length; expression, where ``^`` is the start of a word and ``&`` one of its characters.
_SHAPED = r"""
aws key; akia asia abia acca a3t; 16; ^A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{16}
github token; ghp_ gho_ ghu_ ghs_ ghr_; 16; gh[pousr]_[A-Za-z0-9]{20,}
github token; github_pat_; 16; github_pat_\w{20,}
dibs token; dibs_; 16; dibs_[0-9a-f]{40,}
gitlab token; gl; 16; ^gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[\w-]{20,}(?:\.[0-9a-z]{9})?
gitlab token; gl; 16; ^gl[a-z]{1,6}-(?=[\w-]{0,99}\d)[\w-]{20,}
gitlab session; _gitlab_session=; 16; (?<=_gitlab_session=)[0-9a-z]{32}
slack token; xox xapp-; 16; (?:xoxe\.)?(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}
slack webhook; hooks.slack; 16; hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{20,}
discord webhook; /api/webhooks/; 16; (?<=/api/webhooks/)\d{15,21}/&{50,}
teams webhook; webhook.office.com; 16; webhook\.office\.com/[\w@/-]{60,}
zapier webhook; hooks.zapier; 16; hooks\.zapier\.com/hooks/catch/\d+/\w+
stripe key; _live_ _test_ _prod_; 16; ^[prs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}
payment key; live_ test_; 35; ^(?:live|test)_(?:pub_)?(?=[A-Za-z0-9]{0,60}\d)[A-Za-z0-9]{30,}
razorpay key; rzp_; 16; ^rzp_(?:live|test)_[A-Za-z0-9]{14}
braintree token; access_token$; 16; access_token\$\w+\$[a-z0-9$]{24,}
1password key; a3-; 30; ^A3(?:-[A-Z0-9]{5,11}){5,6}(?![A-Z0-9])
airtable token; pat; 80; ^pat[A-Za-z0-9]{14}\.[a-f0-9]{64}
asana token; :; 46; ^(?:[12]/)?\d{13,16}(?:/\d{13,16})?:[0-9a-f]{32}
amazon mws token; amzn.mws.; 16; amzn\.mws\.[0-9a-f-]{36}
cloudflare key; v1.0-; 16; ^v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}
doppler token; dp.; 44; ^dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{1,35}\.)?[A-Za-z0-9]{40,}
dropbox token; sl.; 100; ^sl\.(?:u\.)?&{100,}
dynatrace token; dt0; 80; ^dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{60,}
facebook token; |; 43; ^\d{15,16}\|&{27,40}
harness token; pat. sat.; 70; ^[ps]at\.&{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}
hubspot token; pat-; 40; ^pat-[a-z]{2,4}\d-[0-9a-f-]{36}
launchdarkly key; sdk- api- mob-; 40; ^(?:sdk|api|mob)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
plaid token; access-; 50; access-(?:sandbox|development|production)-[0-9a-f-]{36}
langsmith key; lsv2_; 50; ^lsv2_[a-z]{2}_[0-9a-f]{32}_[0-9a-f]{10}
mailgun key; -; 50; ^[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9a-f-])
mapbox token; k.eyj; 64; ^[pst]k\.eyJ&{40,}\.&{20,}
maxmind key; _mmk; 40; ^[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk
openshift token; sha256~; 50; sha256~&{43}
resend key; re_; 30; ^re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}
twitch token; oauth:; 36; (?<=oauth:)[a-z0-9]{30}(?![a-z0-9])
vault token; s.; 26; (?<![\w.])s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}(?![\w.])
password hash; $; 24; \$(?:2[aby]|[156y]|apr1|argon2(?:id?|d))\$[\w./$,=+]{20,}
webhook secret; whsec_; 16; whsec_[A-Za-z0-9+/=]{16,}
anthropic key; sk-ant-; 16; ^sk-ant-&{16,}
openai key; sk-; 16; ^sk-(?=&{0,99}\d)&{20,}
google key; aiza; 16; AIza&{30,}
google token; ya29. gocspx- 1//0; 16; (?:ya29\.|GOCSPX-|1//0)&{20,}
npm token; npm_; 16; ^npm_[A-Za-z0-9]{30,}
pypi token; pypi-; 16; pypi-(?=&{0,99}\d)(?=&{0,99}[A-Z])&{30,}
jwt; eyj; 16; (?<![\w-])eyJ&{8,}\.&{8,}(?:\.&*)?
sendgrid key; sg.; 16; ^SG\.&{16,}\.&{16,}
twilio key; ac sk; 34; ^(?:AC|SK)[0-9a-f]{32}(?![0-9a-f])
telegram token; :aa; 16; \d{8,10}:AA&{30,}
discord token; .; 58; ^[MNO]&{22,27}\.&{6}\.&{27,}
hugging face token; hf_; 16; ^hf_[A-Za-z0-9]{30,}
digitalocean token; _v1_; 16; do[opr]_v1_[a-f0-9]{40,}
heroku key; hrku-; 16; HRKU-&{30,}
azure secret; q~; 16; [A-Za-z0-9]{3}\dQ~[\w.~-]{31,}
azure signature; sig=; 16; (?<=sig=)[A-Za-z0-9%+/=]{40,}
shopify token; shp; 16; shp[a-z]{2}_[a-fA-F0-9]{32}
square token; sq0; 16; sq0[a-z]{3}-&{22,}
mailgun key; key-; 16; ^key-[0-9a-f]{32}
mailchimp key; -us; 16; [0-9a-f]{32}-us\d{1,2}
databricks token; dapi; 16; ^dapi[0-9a-f]{32}
new relic key; nrak-; 16; NRAK-[A-Z0-9]{20,}
linear key; lin_; 16; lin_(?:api|oauth)_[A-Za-z0-9]{30,}
vault token; hvs. hvb. hvr.; 16; ^hv[sbr]\.&{20,}
docker token; dckr_pat_; 16; dckr_pat_&{20,}
sourcegraph token; sgp_; 16; sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}
sidekiq credentials; sys__com=; 16; (?<=CONTRIBSYS__COM=)[0-9a-f]{8}:[0-9a-f]{8}
supabase token; sbp_; 16; sbp_[a-f0-9]{40}
groq key; gsk_; 16; gsk_[A-Za-z0-9]{30,}
xai key; xai-; 16; ^xai-[A-Za-z0-9]{30,}
replicate token; r8_; 16; ^r8_[A-Za-z0-9]{30,}
postman key; pmak-; 16; PMAK-[a-f0-9-]{40,}
grafana token; glsa_ glc_; 16; ^gl(?:sa|c)_[A-Za-z0-9+/=_]{30,}
terraform token; .atlasv1.; 16; [A-Za-z0-9]{10,40}\.atlasv1\.&{30,}
age key; age-secret-key-; 16; AGE-SECRET-KEY-1[A-Z0-9]{50,}
"""

#: The characters of random text: letters and digits, the same with ``_`` and ``-``, hexadecimal, base64, and
#: capitals and digits.
_ALPHABETS = {
    "w": "[A-Za-z0-9]",
    "u": _WORD,
    "x": "[0-9a-fA-F]",
    "b": "[A-Za-z0-9+/]",
    "c": "[A-Z0-9]",
}
#: Kind; prefixes; alphabet and least length of the rest. The shortest are as long as the issuer's own.
_PREFIXED = """
1password token; ops_eyJ; b100
adobe secret; p8e-; w32
alibaba key; LTAI; w12
artifactory key; AKCp; w60
artifactory token; cmVmdGtu; w50
atlassian token; ATATT3 ATCTT3; u100
bitbucket password; ATBB ATCTT; w28
aws bedrock key; ABSK bedrock-api-key-; b60
buildkite token; bkua_ bkct_ bkaj_ bkpt_; x40
cerebras key; csk-; w40
circleci token; CCIPAT_ CCIPRJ_; u30
clickhouse key; 4b1d; w38
clojars token; CLOJARS_; w60
cloudflare token; cfut_ cfat_ cfk_; u36
cockroach key; CCDB1_; u40
contentful token; CFPAT-; u40
context7 key; ctx7sk-; u32
crates token; cio; w32
cursor key; key_; x60
defined networking key; dnkey-; u60
docker token; dckr_oat_; u20
duffel token; duffel_test_ duffel_live_; u40
easypost key; EZAK EZTK; w50
elevenlabs key; sk_; x48
facebook token; EAAM EAAC EAAB EAAG; w90
figma token; figd_ figo_ figu_; u36
firecrawl key; fc-; x32
fireworks key; fw_; w22
flutterwave key; FLWSECK- FLWSECK_TEST- FLWPUBK_TEST-; w12
fly token; fo1_; u40
fly token; fm1a_ fm1r_ fm2_; b90
frame.io token; fio-u-; u60
gitlab token; GR1348941; u20
grafana key; eyJrIjoi; b60
hugging face token; api_org_; w30
infracost key; ico-; w32
intra42 secret; s-s4t2ud- s-s4t2af-; x64
mongodb secret; mdb_sa_sk_; u36
n8n key; n8n_api_; u40
neon key; napi_; w50
netlify token; nfp_; w36
new relic key; NRII- NRIQ- NRRA- NRSP- NRAA-; u27
new relic key; NRJS-; x19
notion token; ntn_; w40
notion token; secret_; w43
nuget key; oy2; w43
nvidia key; nvapi-; u60
octopus key; API-; c25
perplexity key; pplx-; w40
pinecone key; pcsk_; u50
planetscale token; pscale_tkn_ pscale_oauth_ pscale_pw_ pscale_app_; u32
posthog key; phc_ phx_ phs_; w40
prefect key; pnu_ pnb_; w36
pulumi token; pul-; x40
readme key; rdme_; w64
render key; rnd_; w20
rubygems key; rubygems_; x48
scalingo token; tk-us- tk-eu-; u40
sendinblue key; xkeysib- xsmtpsib-; x60
sentry token; sntryu_ sntrya_; x64
sentry token; sntrys_; b60
settlemint token; sm_aat_ sm_pat_ sm_sat_; w16
shippo token; shippo_live_ shippo_test_; x40
sonar token; sqp_ squ_ sqa_; x40
square token; EAAA; u55
supabase key; sb_secret_; u30
tailscale key; tskey-api- tskey-auth- tskey-client- tskey-scim- tskey-webhook-; u16
together key; tgp_v1_; u40
typeform token; tfp_; u50
vercel token; vercel_blob_rw_; u30
wandb key; wandb_v1_; u40
yandex key; AQVN; u35
yandex token; y0_ y1_ y2_ y3_; u50
"""


def _shaped(line: str) -> SecretFormat:
    kind, marks, least, expression = line.split("; ")
    plain = expression.replace("^", _START).replace("&", _WORD)
    return SecretFormat(kind, tuple(marks.split()), plain, int(least))


def _prefixed(line: str) -> SecretFormat:
    kind, starts, rest = line.split("; ")
    prefixes, least = starts.split(), int(rest[1:])
    # No prefix contains a special character except "-" and ".", which needs no escape here.
    expression = rf"{_START}(?:{'|'.join(prefixes)}){_ALPHABETS[rest[0]]}{{{least},}}={{0,3}}"
    shortest = min(map(len, prefixes)) + least
    return SecretFormat(kind, tuple(map(str.lower, prefixes)), expression, shortest)


FORMATS = (
    *map(_shaped, _SHAPED.strip().splitlines()),
    *map(_prefixed, _PREFIXED.strip().splitlines()),
)
