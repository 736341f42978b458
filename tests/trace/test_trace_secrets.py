"""Secrets by form and by name, addresses and disguises: none of the corpus is left, nothing
harmless is found, and what the libraries of this trade find is found here."""

import json
import random

import phonenumbers
import pytest
import secret_corpus as corpus
from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.cloudant import CloudantDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.ibm_cloud_iam import IbmCloudIamDetector
from detect_secrets.plugins.ibm_cos_hmac import IbmCosHmacDetector
from detect_secrets.plugins.ip_public import IPPublicDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.softlayer import SoftlayerDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from reviewer.trace.detectors import spans
from reviewer.trace.redaction import Redactor, Rules
from reviewer.trace.rules import ADDED, BASIC, DETECTORS, SENSITIVE_KEYS

REDACTOR = Redactor()
A64 = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
W43 = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5hJ7kL9m"

ORACLE: list[tuple[type[RegexBasedDetector], str]] = [
    (ArtifactoryDetector, "key: AKCp5" + W43),
    (AWSKeyDetector, "ASIAIOSFODNN7EXAMPLE"),
    (AWSKeyDetector, "ABIAIOSFODNN7EXAMPLE"),
    (AWSKeyDetector, "aws_secret_key = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'"),
    (AzureStorageKeyDetector, f"AccountKey={W43}{W43}=="),
    (BasicAuthDetector, "https://bob:hunter2x@example.com/a"),
    (CloudantDetector, f"cloudant_password = '{A64}'"),
    (CloudantDetector, f"https://user:{A64}@user.cloudant.com"),
    (DiscordBotTokenDetector, f"MTA4NzY1NDMyMTA5ODc2NTQzMg.GaBcDe.{W43[:27]}"),
    (GitHubTokenDetector, f"ghu_{W43[:36]}"),
    (GitHubTokenDetector, f"ghs_{W43[:20]}_{W43[:20]}"),
    (GitLabTokenDetector, f"glsoat-{W43[:20]}"),
    (GitLabTokenDetector, f"GR1348941{W43[:20]}"),
    (GitLabTokenDetector, f"glcbt-1a_{W43[:20]}"),
    (GitLabTokenDetector, f"glagent-{W43}{W43[:7]}"),
    (GitLabTokenDetector, f"gloas-{A64}"),
    (IbmCloudIamDetector, f"ibm_cloud_iam_key = {W43}0"),
    (IbmCosHmacDetector, f"cos_hmac_secret_access_key = {A64[:48]}"),
    (IPPublicDetector, "connect to 93.184.216.34:8443"),
    (JwtTokenDetector, f"eyJhbGciOiJIUzI1NiJ9.e30.{W43}"),
    (MailchimpDetector, f"{A64[:32]}-us7"),
    (NpmDetector, f"//registry.npmjs.org/:_authToken=npm_{W43[:36]}"),
    (NpmDetector, "//registry.npmjs.org/:_authToken=345678ab-0123-4567-89ab-0123456789ab"),
    (OpenAIDetector, f"sk-{W43[:20]}T3BlbkFJ{W43[:20]}"),
    (PrivateKeyDetector, "-----BEGIN DSA PRIVATE KEY-----"),
    (PrivateKeyDetector, "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----"),
    (PrivateKeyDetector, "-----BEGIN PGP PRIVATE KEY BLOCK-----"),
    (PrivateKeyDetector, "PuTTY-User-Key-File-2: ssh-rsa"),
    (PypiTokenDetector, f"pypi-AgEIcHlwaS5vcmc{A64}{A64}"),
    (PypiTokenDetector, f"pypi-AgENdGVzdC5weXBpLm9yZw{A64}{A64}"),
    (SendGridDetector, f"SG.{W43[:22]}.{W43}"),
    (SlackDetector, "xoxp-523423-234243-234233-e039d02840a0b9379c"),
    (
        SlackDetector,
        "https://hooks.slack.com/services/Txxxxxxxx/Bxxxxxxxx/xxxxxxxxxxxxxxxxxxxxxxxx",
    ),
    (SoftlayerDetector, f"softlayer_api_key = {A64}"),
    (SoftlayerDetector, f"https://api.softlayer.com/soap/v3/{A64}"),
    (SquareOAuthDetector, f"sq0csp-{W43}"),
    (StripeDetector, f"rk_live_{W43[:24]}"),
    (TelegramBotTokenDetector, f"110201543:{W43[:35]}"),
    (TwilioKeyDetector, f"SK{A64[:32]}"),
    (TwilioKeyDetector, f"AC{A64[:32]}"),
]


def masked(text: str) -> str:
    shown: str = REDACTOR.mask(text)
    return shown


def test_nothing_of_the_corpus_is_left() -> None:
    held = list(corpus.texts())
    assert len(held) >= 500
    left = [(one.kind, one.text) for one in held if any(raw in masked(one.text) for raw in one.raw)]
    assert left == []


@pytest.mark.parametrize("text", corpus.HARMLESS)
def test_nothing_is_found_where_nothing_is(text: str) -> None:
    assert REDACTOR.findings(text) == []
    assert masked(text) == text
    assert masked(json.dumps({"note": text})) == json.dumps({"note": text})


@pytest.mark.parametrize(("plugin", "text"), ORACLE)
def test_what_a_plugin_of_detect_secrets_finds_is_masked(
    plugin: type[RegexBasedDetector], text: str
) -> None:
    found = list(plugin().analyze_string(text))
    assert found, "the plug-in finds its own example"
    assert masked(text) != text
    for secret in found:
        whole = secret if isinstance(secret, str) else secret[-1]
        assert whole.strip(' =:"') not in masked(text)


@pytest.mark.parametrize("before", ["\\n", "\\r\\n", "\\t", "\\u0020"])
def test_a_token_behind_an_escape_that_a_program_printed_is_masked(before: str) -> None:
    rng = random.Random(7)
    for name, make in corpus.TOKENS.items():
        token = make(rng)
        if REDACTOR.mask(f"seen {token} here") == f"seen {token} here":
            continue  # what is found by its surroundings
        masked = REDACTOR.mask(f"'seen{before}{token}{before}here'")
        assert token not in str(masked), name
    for harmless in (
        f"C:{before}ew{before}task-2026-11-28-run-000123", "desk-2026-11-28-run-000123",
        f"a{before}sk-learn-contrib-something-long", f"a{before}npm_install_of_everything",
    ):  # fmt: skip
        assert REDACTOR.mask(harmless) == harmless


def test_what_detect_secrets_finds_in_the_corpus_is_masked() -> None:
    plugins = [plugin() for plugin in {plugin for plugin, _ in ORACLE} - {BasicAuthDetector}]
    for one in corpus.texts(seed=4, rounds=1):
        for plugin in plugins:
            for secret in plugin.analyze_string(one.text):
                assert secret not in masked(one.text), (plugin.secret_type, one.text)


@pytest.mark.parametrize("style", ["E164", "INTERNATIONAL", "RFC3966"])
def test_numbers_of_every_region_are_masked(style: str) -> None:
    form = getattr(phonenumbers.PhoneNumberFormat, style)
    left = []
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        number = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
        if number is not None:
            shown = phonenumbers.format_number(number, form)
            digits = sum(character.isdigit() for character in shown)
            if digits >= 8 and shown in masked(f"call {shown} now"):
                left.append((region, shown))
    assert left == []


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("curl -ualice:S3cr3tpass https://x", "S3cr3tpass"),
        ("curl https://x \\\n  -u alice:S3cr3tpass", "S3cr3tpass"),
        ("secret access key is wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
        ("secret_key_base: 0123456789abcdef0123456789abcdef", "0123456789abcdef"),
        ("passphrase='correct horse battery staple'", "battery staple"),
        ("TOKEN=AbCdEfGhIjKlMnOpQrSt", "AbCdEfGhIjKlMnOpQrSt"),
        ("token=12345678901234567890", "12345678901234567890"),
        ("client 1.2.3.4 connected", "1.2.3.4"),
        ("ssh root@5.9.12.7", "5.9.12.7"),
        ("ip=81.2.69.142", "81.2.69.142"),
        ("::ffff:81.2.69.142", "81.2.69.142"),
        ("X-Forwarded-For: 81.2.69.142, 10.0.0.1", "81.2.69.142"),
        ("_81.2.69.142_", "81.2.69.142"),
        ("x_415-555-0132_y", "415-555-0132"),
        ("iban_DE89370400440532013000_x", "DE89370400440532013000"),
        ("&#x2B;14155550132", "4155550132"),
        ("tel:%2B1-415-555-0132", "555-0132"),
        ("\x1b[31mbob@example.com\x1b[0m", "bob@example.com"),
        ("*123*-*45*-*6789*", "6789"),
        ("𝐛𝐨𝐛@example.com", "example.com"),
    ],
)
def test_further_ways_to_write_one(text: str, raw: str) -> None:
    for whole in (text, json.dumps({"o": text}), json.dumps({"b": json.dumps({"o": text})})):
        assert REDACTOR.suspect(json.dumps(whole).encode())
        assert raw not in masked(whole)
        assert json.dumps(raw)[1:-1] not in masked(whole)


@pytest.mark.parametrize("kind", ADDED)
def test_an_added_detector_masks_but_does_not_judge_where_it_is_not_named(kind: str) -> None:
    text = {
        "token": "use gsk_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijAB now",
        "credential": "token=9f8e7d6c5b4a3928",
        "ip": "from 93.184.216.34",
        "disguised": "card_4111111111111111_x",
    }[kind]
    before = Redactor(Rules(detectors=BASIC))
    assert before.findings(text) == []
    assert before.suspect(json.dumps(text).encode())
    assert before.maskable(text)
    assert f"[REDACTED:{kind}]" in before.mask(text)
    named = Redactor(Rules(detectors=(kind,)))
    assert [hit.kind for hit in named.findings(text)] == [kind]


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("token", "9f8e7d6c5b4a", True),
        ("AccountKey", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1", True),
        ("auth", "Ym9iOmh1bnRlcjI=", True),
        ("botToken", "a1b2c3d4e5f6", True),
        ("token", "Hello", False),
        ("next_token", "a1b2c3d4e5f6a7b8", False),
        ("max_tokens", "100000000", False),
        ("key", "abc123def456", False),
        ("sortKey", "a1b2c3d4e5f6", False),
        ("auth", "required", False),
    ],
)
def test_members(name: str, value: str, secret: bool) -> None:
    shown = "[REDACTED:credential]" if secret else value
    assert REDACTOR.mask({name: value}) == {name: shown}
    assert bool(REDACTOR.findings({"a": [{name: value}]})) is secret
    if secret:
        assert REDACTOR.suspect(json.dumps({name: value}).encode())


def test_every_detector_has_a_name_and_the_six_stay_as_they_were() -> None:
    assert BASIC == ("email", "card", "iban", "phone", "secret", "ssn")
    assert DETECTORS == BASIC + ADDED
    assert Rules(detectors=("secret",)).masking == ("secret", *ADDED)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("src=93.184.216.34 dst=10.0.0.1", "93.184.216.34"),
        ("from 8.8.4.4 port 22", "8.8.4.4"),
        ("1.2.3.4.5 then 93.184.216.35", "93.184.216.35"),
        ("pkg==99.2.3.4", None),
        ("pkg=1.2.3.4", None),
        ("version=93.184.216.34", None),
        ("12345.1.2.3", None),
    ],
)
def test_an_address_is_told_from_a_version(text: str, address: str | None) -> None:
    shown = text if address is None else text.replace(address, "[REDACTED:ip]")
    assert REDACTOR.mask(text) == shown
    assert address is None or REDACTOR.suspect(json.dumps(text).encode())


def test_no_built_in_name_holds_an_identifier() -> None:
    assert [name for name in SENSITIVE_KEYS if spans(name, DETECTORS)] == []
