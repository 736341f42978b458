"""What counts as an identifier, what does not, where it is said to stand, and how it is masked."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_spelling import IDENTIFIERS, spelled, texts, values

from reviewer.trace.redaction import Redactor, Rules

REDACTOR = Redactor()


def kinds(value: Any) -> list[str]:
    return [hit.kind for hit in REDACTOR.findings(value)]


def paths(value: Any, redactor: Redactor = REDACTOR) -> list[str]:
    return [hit.path for hit in redactor.findings(value)]


@pytest.mark.parametrize("text", IDENTIFIERS)
def test_every_identifier_is_found_and_masked_within_a_sentence(text: str) -> None:
    sentence = f"I noted {text} for you."
    assert len(kinds(sentence)) == 1
    masked = REDACTOR.mask(sentence)
    assert masked.startswith("I noted ")
    assert masked.endswith(" for you.")
    assert "[REDACTED:" in masked
    assert REDACTOR.suspect(json.dumps(sentence).encode())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("mail a@b.example", "email"),
        ("b\u200bob@exa\u200bmple.com", "email"),
        ("ｂｏｂ＠ｅｘａｍｐｌｅ．ｃｏｍ", "email"),
        ("415\u2011555\u20110132", "phone"),
        ("+49\u00a030\u00a0901820", "phone"),
        ("5500 0000 0000 0004 123", "card"),
        ("6011-0009-9013-9424", "card"),
        ("please pay DE89 3704 0044 0532 0130 00 TODAY", "iban"),
        ("DB_PASSWORD=s3cr3t!", "secret"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----", "secret"),
    ],
)
def test_disguises(text: str, kind: str) -> None:
    assert kinds(text) == [kind]


@pytest.mark.parametrize(
    "text",
    [
        *("ord_redacted_014", "1700000000000", "1732147200123456789", "2026-01-05T10:00:00.123Z"),
        *("550e8400-e29b-41d4-a716-446655440000", "6ba7b810-9dad-4111-8180-00c04fd430c8"),
        *("d41d8cd98f00b204e9800998ecf8427e", "0.4111111111111111", "-4.111111111111111"),
        *("4111 1111 1111 1112", "9111111111111111", "41111111111111111111", "v1.2.3.4567"),
        *("192.168.100.200", "10.0.0.1:8080", "2024-01-15 10:00:00", "2 + 12345", "1e+10"),
        *("git@github.com:org/repo.git", "icon@2x.png", "lodash@4.17.21", "pkg@1.0.0-beta.alpha"),
        *("@pytest.fixture", "a @ b.T", "user@localhost", "DE00 3704 0044 0532 0130 00"),
        *(
            "000-12-3456",
            "666-12-3456",
            "912-12-3456",
            "123-00-4567",
            "123-45-0000",
            "1123-45-6789",
        ),
        *("task-abcdefghijklmnopqrstuvw1", "sk-learn-contrib-something-long", "AKIA", "eyJhbGciOi"),
        *(
            "PWD=/srv/app",
            "password=None",
            "password: string",
            "password=password",
            "bearer of news",
        ),
        *("https://example.com/a:b@c", "+00:00", "4155550132", "555-0132", "142-555-0132"),
    ],
)
def test_what_only_looks_like_one_is_left_alone(text: str) -> None:
    assert kinds(text) == []
    assert REDACTOR.mask(text) == text


@pytest.mark.parametrize(
    "name",
    [
        *("email", "Email", "E-Mail", "e_mail", "mail address", "customerEmail", "userEmail"),
        *("emailAddress", "contactEmail", "customer_name", "orderId", "ORDER-ID", "phoneNumber"),
        *(
            "Set-Cookie",
            "x-api-key",
            "http.request.header.authorization",
            "accessToken",
            "dateOfBirth",
        ),
        *("passwd", "api_key", "refresh_token", "card number", "cvv", "iban", "ssn", "secret"),
        *("ｅｍａｉｌ", "e\u200bmail", "pa\u017fsword", "user.email."),
    ],
)
def test_sensitive_names_in_any_spelling(name: str) -> None:
    assert [hit.by_key for hit in REDACTOR.findings({name: "x"})] == [True]
    assert REDACTOR.suspect(json.dumps({name: "x"}).encode())


@pytest.mark.parametrize(
    "name",
    [
        "input_tokens",
        "max_tokens",
        "order_token",
        "secretary",
        "token",
        "emailed",
        "cookies_ok",
        "name",
    ],
)
def test_harmless_names(name: str) -> None:
    assert kinds({name: "x"}) == []
    assert not REDACTOR.suspect(json.dumps({name: "x"}).encode())


@pytest.mark.parametrize(
    ("value", "is_hit"),
    [
        *(("x", True), (1, True), (0, True), (False, True), ({"a": None}, True), ([None], True)),
        *((None, False), ("", False), (" ", False), ({}, False), ([], False)),
        *(("[REDACTED]", False), ("[redacted_email]", False), ("***", False), ("<EMAIL>", False)),
        *(("{{x}}", False), ("REDACTED", False), (" [REDACTED:email] ", False)),
        *(("[email\u00a0protected]", True), ("[REDACTED] Bob", True), ("ord_redacted_014", True)),
    ],
)
def test_only_a_value_makes_a_sensitive_name_a_hit(value: Any, is_hit: bool) -> None:
    assert bool(kinds({"email": value})) is is_hit
    if is_hit:
        assert REDACTOR.mask({"email": value}) == {"email": "[REDACTED:email]"}


def test_well_redacted_records_stay_on_the_fast_path() -> None:
    record = {"email": "[REDACTED]", "phone": None, "order_id": "[REDACTED:order_id]", "ssn": ""}
    assert not REDACTOR.suspect(json.dumps(record).encode())
    assert not REDACTOR.suspect(json.dumps({"body": json.dumps(record)}).encode())
    for text in ("it\u2019s 5\u00a0€ — naïve 漢字 😀", "tab\tand\nline \u001b[31mred", "1️⃣ ⚠️"):
        assert not REDACTOR.suspect(json.dumps(text).encode())
        assert not REDACTOR.suspect(json.dumps(text, ensure_ascii=False).encode())


def test_paths() -> None:
    value = {
        "customer": {"email": "x"},
        "items": [{"n": 1}, {"phone": 5}],
        "body": '{"order": {"customerName": "Ann"}}',
        "a@b.example": "note",
        "cc": 4111111111111111,
    }
    assert paths(value) == [
        *("customer.email", "items[1].phone", "body.order.customerName", "[REDACTED:email]", "cc")
    ]
    assert [hit.path for hit in REDACTOR.findings(["a@b.example"], "observation")] == [
        "observation[0]"
    ]


def test_paths_of_a_record() -> None:
    record = {
        "episode_id": "a@b.example",
        "events": [
            {
                "tool": "t",
                "arguments": {"customer": {"email": "x"}},
                "observation": {"a": ["+442079460958"]},
            },
            {"seq": 7, "message": "call (415) 555-0132", "approval": {"user_email": "x"}},
            "a@b.example",
        ],
        "final_message": "bye a@b.example",
        "final_state": {"note": "123-45-6789"},
        "source": {"path": "/home/a@b.example"},
    }
    assert [(hit.path, seq) for hit, seq in REDACTOR.findings_in_record(record)] == [
        ("approval.user_email", 7),
        ("customer.email", 1),
        ("episode_id", None),
        ("events[2]", 3),
        ("final_state.note", None),
        ("message", 7),
        ("message", None),
        ("observation.a[0]", 1),
        ("source.path", None),
    ]


def test_a_finding_shows_the_form_and_never_the_value() -> None:
    (hit,) = REDACTOR.findings({"note": "write to zoë.quill@mail.example now"})
    assert hit.masked == "xxx.xxxxx@xxxx.xxxxxxx"
    (hit,) = REDACTOR.findings({"password": "Tr0ub4dor&3"})
    assert hit.masked == "xx9xx9xxx&9"


def test_rules_add_and_remove_names_and_detectors() -> None:
    rules = Rules(keys=("patient.nickname",), allow_keys=("e-mail",), detectors=("ssn",))
    own = Redactor(rules)
    value = {"nick_name": "B", "Email": "a@b.example", "order_id": 1, "x": "123-45-6789"}
    assert paths(value, own) == ["nick_name", "x"]
    assert own.mask({"NickName": "B"}) == {"NickName": "[REDACTED:patient.nickname]"}
    assert not own.suspect(b'{"Email": "a@b.example", "order_id": 1}')
    with pytest.raises(ValueError, match="e-mail"):
        Rules(detectors=("e-mail",))


def test_masks_keep_two_masked_names_apart() -> None:
    masked = REDACTOR.mask({"a@b.example": 1, "c@d.example": 2, "n": [4111111111111111]})
    assert masked == {"[REDACTED:email]": 1, "[REDACTED:email]#2": 2, "n": ["[REDACTED:card]"]}


def test_free_text_is_masked_also_within_json() -> None:
    assert REDACTOR.masked("/runs/bob@example.com/1.json") == "/runs/[REDACTED:email]/1.json"
    assert json.loads(REDACTOR.masked('{"email": "Bob", "n": 1}')) == {
        "email": "[REDACTED:email]",
        "n": 1,
    }


def test_hostile_depth_is_one_hit_and_no_crash() -> None:
    value: Any = "x"
    for _ in range(5000):
        value = [value]
    assert kinds(value) == ["too_deep"]
    assert kinds(REDACTOR.mask(value)) == []
    assert REDACTOR.masked("[" * 5000) == "[" * 5000


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_an_exact_finding_is_always_suspect_however_it_is_spelled(data: st.DataObject) -> None:
    value = data.draw(values())
    raw = data.draw(spelled(value))
    if REDACTOR.findings(value):
        assert REDACTOR.suspect(raw)


@settings(max_examples=100, deadline=None)
@given(values())
def test_what_is_masked_has_no_findings_and_masks_to_itself(value: Any) -> None:
    masked = REDACTOR.mask(value)
    assert REDACTOR.findings(masked) == []
    assert REDACTOR.mask(masked) == masked
    if not REDACTOR.findings(value):
        assert masked == value


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from(("a", "email", "note")), values(), max_size=3))
def test_stepping_over_clean_parts_loses_nothing(record: dict[str, Any]) -> None:
    stepped = [hit for hit, _ in REDACTOR.findings_in_record(record)]
    assert sorted(stepped) == sorted(REDACTOR.findings(record))


@settings(max_examples=80, deadline=None)
@given(st.one_of(texts(), st.text(st.characters())))
def test_free_text_never_raises_and_never_keeps_an_identifier(text: str) -> None:
    assert REDACTOR.findings(REDACTOR.masked(text)) == []
