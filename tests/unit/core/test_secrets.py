"""Which secrets are taken out, which look-alikes stay, and that no text takes long.

Every token is put together here, so that nothing in this file looks like a live credential.
"""

import base64
import json
import random
import string
import sys

import pytest

from mempal.core.secrets import Redacted, Redaction, redact

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"
DRAW = random.Random(30)


def pick(length: int, alphabet: str = ALNUM) -> str:
    return "".join(DRAW.choice(alphabet) for _ in range(length))


JWT = "ey" + "J" + pick(20) + "." + "ey" + "J" + pick(40) + "." + pick(43)
TOKENS = [
    ("openai-key", "s" + "k-proj-" + pick(48)),
    ("openai-key", "s" + "k-" + pick(48)),
    ("anthropic-key", "s" + "k-ant-api03-" + pick(80)),
    *(("github-token", f"gh{use}" + "_" + pick(36)) for use in "pousr"),
    ("github-token", "github" + "_pat_" + pick(22) + "_" + pick(59)),
    ("gitlab-token", "gl" + "pat-" + pick(20)),
    ("slack-token", "xo" + "xb-" + pick(11, string.digits) + "-" + pick(24)),
    ("slack-token", "xa" + "pp-1-" + pick(11, HEX.upper()) + "-" + pick(13) + "-" + pick(40, HEX)),
    ("aws-access-key-id", "AK" + "IA" + pick(16, string.ascii_uppercase + string.digits)),
    ("aws-access-key-id", "AS" + "IA" + pick(16, string.ascii_uppercase + string.digits)),
    ("google-api-key", "AI" + "za" + pick(35)),
    ("google-oauth-token", "ya" + "29." + pick(60)),
    ("google-oauth-secret", "GOC" + "SPX-" + pick(28)),
    ("stripe-key", "sk" + "_live_" + pick(24)),
    ("stripe-key", "rk" + "_test_" + pick(24)),
    ("npm-token", "np" + "m_" + pick(36)),
    ("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc" + pick(80)),
    ("huggingface-token", "h" + "f_" + pick(34)),
    ("sendgrid-key", "S" + "G." + pick(22) + "." + pick(43)),
    ("twilio-key", "S" + "K" + pick(32, HEX)),
    ("telegram-token", pick(9, "123456789") + ":A" + "A" + pick(33)),
    ("discord-token", "M" + pick(23) + "." + pick(6) + "." + pick(27)),
    ("digitalocean-token", "do" + "p_v1_" + pick(64, HEX)),
    ("databricks-token", "da" + "pi" + pick(32, HEX)),
    ("vault-token", "hv" + "s." + pick(24)),
    ("age-key", "AGE-SECRET" + "-KEY-1" + pick(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    ("jwt", JWT),
]
SURROUNDINGS = [
    "{}",
    "- the value is {} for now",
    'key = "{}"',
    "`{}`, and so on.",
    "({})",
    "https://api.example.invalid/v1?value={}&page=2",
    "first line\\n{}\\nlast line",  # an escape, as in JSON
    '{{\\"value\\":\\"{}\\"}}',
    "value%3D{}",
    "\x1b[31m{}\x1b[0m",
    "決定は{}です",
    "\ud800{}\x00",
]
PASSWORDS = ["hunter2" + "xyz9!", "Tr0ub4dor" + "&3", "S3cure" + "Pass!2024", pick(16), pick(24)]
PASSWORD_FORMS = [
    "password: {}",
    "PASSWORD={}",
    'export DB_PASSWORD="{}"',
    "password = '{}'",
    '"password": "{}"',
    '{{\\"password\\":\\"{}\\"}}',
    '{{\\\\\\"password\\\\\\":\\\\\\"{}\\\\\\"}}',
    "tool --password {} --verbose",
    "tool --password={}",
    "mysql_pwd={}",
    '  db_password: "{}"  # for the tests',
    "**Password:** {}",
    "- Password: `{}`",
    "<password>{}</password>",
    'connect(user="x", password="{}")',
    'const password: string = "{}";',
    'os.environ["DB_PASSWORD"] = "{}"',
    "spring.datasource.password={}",
    "ADMIN_PASS={}",
    "login bob password {}",
    "curl -u me:{} https://example.invalid",
    "sshpass -p {} ssh example.invalid",
    "redis://:{}@cache.example.invalid:6379/0",
    "postgres://svc:{}@db.example.invalid:5432/app",
]
KEYS = [pick(24), pick(40), pick(32, HEX), pick(43) + "="]
KEY_FORMS = [
    "API_KEY={}",
    'api_key = "{}"',
    '"client_secret": "{}"',
    '"clientSecret":"{}"',
    '\\"access_token\\":\\"{}\\"',
    "GENERIC_TOKEN={}",
    "x-api-key: {}",
    'set_header("X-Api-Key", "{}")',
    "Authorization: Bearer {}",
    "curl -H 'Authorization: Bearer {}' https://example.invalid",
    '"Authorization": "token {}"',
    "https://example.invalid/p?token={}&page=1",
    "SECRET_KEY = '{}'",
    "//registry.example.invalid/:_authToken={}",
    "tool --api-key {}",
    "aws_secret_access_key = {}",
    "DefaultEndpointsProtocol=https;AccountKey={};EndpointSuffix=x",
    "API key: {}",
    "OPENAI_KEY={}",
    "FIRST=1\\nMY_TOKEN={}\\nLAST=2",
    "set-cookie: session={}; Path=/",
]
KEPT = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixed it",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    f'"integrity": "sha512-{pick(86, BASE64)}=="',
    f"ssh-rsa AAAAB3NzaC1yc2E{pick(200, BASE64)} bob@example.invalid",
    f'src="data:image/png;base64,{pick(400, BASE64)}"',
    f"-----BEGIN PUBLIC KEY-----\n{pick(64, BASE64)}\n-----END PUBLIC KEY-----",
    f"-----BEGIN CERTIFICATE-----\n{pick(64, BASE64)}\n-----END CERTIFICATE-----",
    'if line == "-----BEGIN PRIVATE' + ' KEY-----" or line == "-----END PRIVATE KEY-----": return',
    "It begins with -----BEGIN RSA PRIVATE" + " KEY----- and ends somewhere.",
    "token = os.environ['MY_TOKEN']",
    "password = getpass()",
    "password=${DB_PASSWORD}",
    "password={{ vault_db_password_2 }}",
    "PASSWORD=$(cat /run/secrets/pw1)",
    "password: changeme123",
    "token: config.token",
    "api_key: <your-token>",
    "API_KEY=" + "x" * 24,
    "AWS_SECRET_ACCESS_KEY=${{ secrets.AWS_SECRET_ACCESS_KEY }}",
    'def connect(password: str = "", token: str | None = None) -> None:',
    "token = self.get_access_token2(request)",
    "token=tokens1[3]",
    'token: "abcdefghijklmnopqrstuvwxyz"',
    "password1 = forms.CharField(label='Password')",
    'secret_name = "projects/12/secrets/db-password/versions/3"',
    "password_file: /run/secrets/db_password_1",
    '"secret": "V1SecretVolumeSource",',
    "access_token: response.data.access_token",
    'token: "kubernetes.io/service-account-token"',
    'primary_key = "9fceb02d0ae598e95dc970b74767f19372d61af8"',
    "key_id: 123e4567-e89b-12d3-a456-426614174000",
    'nextPageToken: "CAUQAAIaBggBEAEYAQk3j9x8q2"',
    "test_password_reset_token_expires",
    "the password prompt appeared twice",
    "Password: required field",
    "password: at least 8-characters with 1 digit",
    "Das Passwort: bitte mindestens 8 Zeichen",
    "mot de passe : obligatoire, contraseña: al menos ocho caracteres",
    "the secret of good bread is time",
    "pip install scikit-learn, not sk-learn",
    'class="sk-loading-spinner-container-large sk-fade-in-circle-wrapper"',
    "task-management-system-for-distributed-work-queues-v2",
    "https://example.invalid/a/very/long/path/segment-with-dashes-0123456789",
    "http://localhost:8080/path@there",
    "http://user:password@example.invalid/",
    "ssh://git@example.invalid:22/x",
    "Bearer of good news and authentication-required",
    "var a=function(t,e){for(var n=t.key,r=e.token;n<r;n++)if(n.pass==r)return n.secret}",
]


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
@pytest.mark.parametrize(("kind", "token"), TOKENS)
def test_a_token_is_known_by_its_shape(kind, token, surrounding):
    text = surrounding.format(token)

    result = redact(text)

    assert result.text == surrounding.format(f"[redacted:{kind}]")
    assert result.counts() == {kind: 1}


@pytest.mark.parametrize(("kind", "token"), TOKENS)
def test_a_part_of_a_longer_word_is_no_token(kind, token):
    assert redact(f"x{token}").counts().get(kind, 0) == 0


@pytest.mark.parametrize("form", PASSWORD_FORMS)
@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_is_known_by_its_name_or_place(password, form):
    kind = "url-password" if "://" in form and "curl" not in form else "password"

    assert redact(form.format(password)).text == form.format(f"[redacted:{kind}]")


@pytest.mark.parametrize("form", KEY_FORMS)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_known_by_its_name(key, form):
    result = redact(form.format(key))

    before, after = form.split("{}")
    assert key not in result.text
    assert result.text.startswith(f"{before}[redacted:")
    assert result.text.endswith(f"]{after}")


@pytest.mark.parametrize("line", KEPT)
def test_look_alikes_stay(line):
    assert redact(line).text is line


def test_look_alikes_stay_side_by_side():
    text = "\n".join(KEPT)

    assert redact(text).text is text


@pytest.mark.parametrize(
    "line",
    ["Authorization: Basic {}", '"Authorization": "Basic {}"', "-H 'authorization: basic {}'"],
)
def test_basic_credentials_are_what_they_encode(line):
    sent = base64.b64encode(f"user:{PASSWORDS[0]}".encode()).decode()

    assert redact(line.format(sent)).text == line.format("[redacted:basic-credentials]")
    assert not redact(line.format("requirements")).redactions


@pytest.mark.parametrize("password", ["hunter2", "p%40ss" + "w0rd99", "p@ss" + "w0rd99!", "sup3r"])
def test_a_url_keeps_user_and_host(password):
    text = f"see mongodb+srv://adm:{password}@c.example.invalid/x?y=1 for more"

    assert redact(text).text == (
        "see mongodb+srv://adm:[redacted:url-password]@c.example.invalid/x?y=1 for more"
    )


def test_a_web_hook_keeps_its_host():
    path = "T" + pick(8).upper() + "/B" + pick(8).upper() + "/" + pick(24)

    assert redact(f"https://hooks.slack.com/services/{path} posts").text == (
        "https://hooks.slack.com/services/[redacted:slack-webhook] posts"
    )


def test_a_folded_value_is_one_secret_on_its_first_line():
    text = f'token = "{pick(20)}\\\n    {pick(20)}"\nnext = 1\n'

    result = redact(text)

    assert result.text == 'token = "[redacted:token]\n"\nnext = 1\n'
    assert result.counts() == {"token": 1}


LABELS = [
    f"{flavour}PRIVATE KEY" for flavour in ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ")
] + ["PGP PRIVATE KEY BLOCK"]
BODY = [*(pick(64, BASE64) for _ in range(5)), pick(22, BASE64) + "=="]


def number(text: str, mark: str) -> str:
    return "\n".join(f"{at:6}{mark}{line}" for at, line in enumerate(text.split("\n"), 1))


def lead(text: str, mark: str) -> str:
    return "\n".join(mark + line for line in text.split("\n"))


WRITTEN = {
    "plain": str,
    "windows": lambda text: text.replace("\n", "\r\n"),
    "json": json.dumps,
    "json in json": lambda text: json.dumps(json.dumps(text)),
    "environment": lambda text: 'KEY="' + text.replace("\n", "\\n") + '"',
    "environment, windows": lambda text: 'KEY="' + text.replace("\n", "\\r\\n") + '"',
    "one line": lambda text: text.replace("\n", " "),
    "indented": lambda text: text.replace("\n", "\n    "),
    "strings": lambda text: "\n".join(f'    "{line}\\n" +' for line in text.split("\n")),
    "numbered": lambda text: number(text, "\t"),
    "listed": lambda text: number(text, "→"),
    "searched": lambda text: number(text, ":").replace("     ", "id_rsa:"),
    "added": lambda text: lead(text, "+"),
    "removed": lambda text: lead(text, "-"),
    "comment": lambda text: lead(text, "# "),
    "quotation": lambda text: lead(text, "> "),
    "without end": lambda text: text.partition("-----END")[0] + "\nprose goes on with words",
    "cut": lambda text: text[:240],
}


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("written", WRITTEN)
def test_the_body_of_a_private_key_goes_and_its_lines_stay(label, written):
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123ABCD\n\n" if "RSA" in label else ""
    text = WRITTEN[written](
        f"-----BEGIN {label}-----\n{headers}" + "\n".join(BODY) + f"\n-----END {label}-----"
    )

    result = redact(text)

    assert not [line for line in BODY if line[:16] in result.text]
    assert result.counts() == {"private-key": 1}
    assert result.text.count("\n") == text.count("\n")
    assert f"-----BEGIN {label}-----" in result.text
    assert (f"-----END {label}-----" in result.text) == (f"-----END {label}-----" in text)
    assert ("prose goes on with words" in result.text) == ("prose goes on with words" in text)
    assert redact(result.text).text is result.text


def test_offsets_lead_back_to_the_original():
    token = TOKENS[0][1]
    text = f"one {token}\ntwo {JWT} three"

    result = redact(text)

    first = result.text.index("[redacted")
    end = result.text.index("]") + 1
    assert [result.original_offset(at) for at in (0, first, first + 5, end)] == [
        0, text.index(token), text.index(token), text.index("\n"),
    ]  # fmt: skip
    assert result.original_offset(result.text.index("three")) == text.index("three")
    assert result.original_offset(len(result.text)) == len(text)


def test_offsets_of_a_text_without_secrets_are_its_own():
    result = redact("nothing to see")

    assert result == Redacted("nothing to see")
    assert [result.original_offset(at) for at in (0, 7, 14)] == [0, 7, 14]


def test_redactions_name_range_kind_and_replacement():
    token = TOKENS[0][1]

    assert redact(f"a {token} b").redactions == (
        Redaction(2, 2 + len(token), "openai-key", "[redacted:openai-key]"),
    )


def test_what_a_placeholder_uncovers_is_read_again():
    text = f"password=[redacted:jwt] {TOKENS[0][1]} [redacted:nonsense"

    result = redact(text)

    assert result.text == "password=[redacted:jwt] [redacted:openai-key] [redacted:nonsense"
    assert result.counts() == {"openai-key": 1}


def test_lower_case_keeps_every_place():
    text = "".join(map(chr, range(sys.maxunicode + 1))).replace("\u0130", "i")

    assert len(text.lower()) == len(text)
    assert redact(f"İİİ password={PASSWORDS[0]} İ").text == "İİİ password=[redacted:password] İ"


ADVERSARIAL = [
    "a", "\\", '"', "\n", "\x00", "\ud800", "İ", "-----BEGIN ",
    "-----BEGIN " + "PRIVATE KEY-----\n",
    "eyJ", " eyJhbGciOi.eyJhbGciOi", "password=", 'password="', "password: ", "password=\\\n",
    "password='" + 'password="', 'password="a\\\n', "password:*", "secret_key_token_password=",
    "key: str = ", "pass" + " " * 19, "token=a1B2c3D4e5F6g7H8i9J0", "://a:", "://:@", "://a:b@c ",
    "curl ", "curl -u a:b3cdef ", "authorization: bearer ", "Bearer a1B2c3D4e5F6g7H8", "cookie: ",
    "--key ", "cookie: a=a1B2c3D4e5F6g7H8;", "sk-", "xoxb-", "glpat-", "ghp" + "_aaaaaaaaa", "AKIA",
    "SG.", "_", "0123456789:AA", "login a password ", "[redacted:", "password=[redacted:x]",
]  # fmt: skip


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_no_text_takes_more_than_its_length(unit):
    text = unit * (200_000 // len(unit))

    result = redact(text)

    assert result.text.count("\n") == text.count("\n")
    assert redact(result.text).text is result.text
