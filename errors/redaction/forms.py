"""Recognises secrets by their format alone. The rows come from gitleaks: see tools/token_forms.py."""

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from errors.redaction.written import Span


class Form(NamedTuple):
    """`words`, in lower case: a text without any of them is not searched."""

    id: str
    words: tuple[str, ...]
    pattern: str


# Well-known formats that the gitleaks rules lack, or define more narrowly.
_OURS: Final = (
    Form("private-key", ("private key",), r"-----BEGIN [A-Z0-9 ]{,40}PRIVATE KEY[A-Z ]{,10}-----"
         r"(?:.*?-----END [A-Z0-9 ]{,40}PRIVATE KEY[A-Z ]{,10}-----|.*)"),
    # Start of such a key, or of a registry's logins, in base64. A certificate starts differently.
    Form("private-key-base64", ("ls0tls1crudjti",), r"\bLS0tLS1CRUdJTi(?!BDRVJU|BQVUJM|BYNTA5|BUUlV)[\w+/-]{20,}={,2}"),
    Form("registry-logins-base64", ("eyjhdxrocy", "eyaiyxv0ahmi", "ewogicjhdxrocy"),
         r"\b(?:eyJhdXRocy|eyAiYXV0aHMi|ewogICJhdXRocy|ewogICAgImF1dGhz)[\w+/-]{8,}={,2}"),
    Form("jwt", ("eyj",), r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){,3}"),
    Form("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
         r"\b(?:gh[pousr]_|github_pat_)\w{10,300}"),
    Form("gitlab", ("glpat-",), r"\bglpat-[\w.-]{10,300}"),
    Form("slack", ("xox",), r"\bxox[abeoprs]-[\w-]{10,300}"),
    Form("huggingface", ("hf_", "api_org_"), r"\b(?:hf|api_org)_(?=\w*[A-Z0-9])[A-Za-z0-9]{20,100}\b"),
    Form("openai", ("sk-",), r"\bsk-(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{16,300}"),
    Form("nvidia", ("nvapi-",), r"\bnvapi-[\w-]{20,200}"),
    Form("google-oauth", ("ya29.", "gocspx-"), r"\b(?:ya29\.|GOCSPX-)[\w-]{20,2000}"),
    Form("docker-hub", ("dckr_",), r"\bdckr_(?:pat|oat)_[\w-]{20,100}"),
    Form("pulumi", ("pul-",), r"\bpul-[0-9a-f]{30,64}\b"),
    Form("tailscale", ("tskey-",), r"\btskey-(?:[a-z]+-)?\w{6,}-?\w{10,}"),
    Form("atlassian", ("atatt3", "atbb", "atctt3"), r"\bAT(?:ATT3|BB|CTT3)[\w=-]{20,400}"),
    Form("mailgun", ("key-",), r"\bkey-[0-9a-f]{32}\b"),
    Form("sendgrid", ("sg.",), r"\bSG\.[\w-]{16,30}\.[\w-]{30,60}"),
    Form("telegram", (":aa",), r"\b\d{8,10}:AA[\w-]{33}"),
    Form("discord", ("/api/webhooks/",), r"(?<=/api/webhooks/)\d+/[\w-]{30,100}"),
    Form("slack-webhook", ("hooks.slack.com",), r"(?<=hooks\.slack\.com/)\w+/[\w/-]{8,200}"),
    Form("signed-address", ("signature=", "sig=", "security-token=", "credential="),
         r"(?i:(?<=[?&;]sig=)|(?<=signature=)|(?<=security-token=)|(?<=x-amz-credential=))[\w%.~+/=-]{8,2000}"),
    Form("password-hash", ("$2", "$5$", "$6$", "$y$", "$apr1$", "$argon2"),
         r"\$(?:2[abxy]?\$\d\d\$[./\w]{53}|(?:[56y]|apr1|7)\$[\w./=,$-]{20,200}|argon2\w*\$[\w+/=,$-]{20,200})"),
    Form("bootstrap-token", (".",), r"(?<![\w./-])[a-z0-9]{6}\.(?=[a-z0-9]{0,15}\d)[a-z0-9]{16}(?!\.?[\w/-])"),
    Form("database-address", ("@tcp(", "@unix("), r"(?<=:)[^\s:@'\"]+(?=@(?:tcp|unix)\()"),
    # After the name of a scheme; a word without a digit is prose: basic authentication.
    Form("authorisation", ("bearer", "basic", "negotiate"),
         r"(?i:(?<=bearer )|(?<=basic )|(?<=negotiate ))(?=[\w.~+/=-]*[0-9=])[\w.~+/-]{8,4000}=*"),
    # User and password in an address: both, since the user may be a token. git@ is no secret.
    Form("address", ("://",), r"(?<=://)(?!git@)[^\s/\"'<>`]{1,500}(?=@)"),
    Form("address-with-slash", ("://",),
         r"(?<=://)[^\s/:@\"'<>`]{,100}:(?!\d{1,5}(?:[/?#\s\"'<>`]|$))[^\s\"'<>`@]{1,300}(?=@)"),
)  # fmt: skip


_REFERENCE: Final = re.compile(r"\$(?:[A-Z_]+|\{[^{}]*\}|\([\w.-]*\))|\{\{.*\}\}")  # https://bob:${PASSWORD}@…


@cache
def _forms() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    with (Path(__file__).parent / "forms.csv").open(newline="", encoding="utf-8") as file:
        rows = [Form(row["id"], tuple(row["words"].split()), row["pattern"]) for row in csv.DictReader(file)]
    return tuple((form.words, _compiled(form.pattern)) for form in (*_OURS, *rows))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def known_spans(text: str) -> Iterator[Span]:
    """Spans of tokens, keys and logins of known form."""
    low = text.lower()
    for words, pattern in _forms():
        if any(word in low for word in words):
            for match in pattern.finditer(text):
                number = 1 if pattern.groups and match[1] else 0
                if not _REFERENCE.fullmatch(match[number].rpartition(":")[2]):
                    yield match.span(number)
