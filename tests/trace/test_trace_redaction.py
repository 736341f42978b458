"""What counts as an identifier, what does not, where it is said to stand, and how it is masked."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_spelling import IDENTIFIERS, spelled, texts, values

from reviewer.trace import strictjson
from reviewer.trace.redaction import Redactor, Rules
from reviewer.trace.strictjson import RepeatedMembers, embedded

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
        ("call +14155550132", "phone"),
        ("+49.30 901820", "phone"),
        ("+4930-1234567/", "phone"),
        ("from +37.7749-122.4194 call +442079460958", "phone"),
        ("legit@github.com/a", "email"),
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
        *("+1.2345678", "+12345678.90 USD", "lat +48.856613, lon +2.352222", "+1.23456789e10"),
        *("+37.7749-122.4194", "+37.774929-122.419416-12.5/", "+401213.1-0750015.1/"),
        *("+4012-07500/", "+37.7749 -122.4194", "+48.8566131 2.3522220", "+48.85+002.35/"),
        *("ssh://git@github.com/a/b", "ssh://git@github.com:22/a/b"),
        *("4111.1111.1111.1112", "1.4111.1111.1111.1111", "4111.1111.1111.1111.1"),
        *("4111\n1111\n1111\n1111\n1111", "1111\n4111\n1111\n1111\n1111"),
        *("4111  1111  1111  1111  2222", "4111\t1111\t1111\n1111", "4111111111111111-a4b2"),
        *("Authorization: Basic information", "basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        *("api_key=get_the_key_from_vault2(x)", "api_key=settings_production_v2.KEY"),
        *("access_token=/var/run/secrets/token1234", "api_key=your_key_goes_here"),
        *("api_key=[REDACTED:secret]", "{'password': 'redacted'}", "{'password': None}"),
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


@pytest.mark.parametrize(
    ("schema", "is_hit"),
    [
        ({"type": "string", "description": "YYYY-MM-DD", "format": "date"}, False),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, False),
        ({"type": "string", "default": "Jane"}, True),
        ({"type": "string", "enum": ["Jane"]}, True),
        ({"type": "mobile", "description": "Jane"}, True),
        ({"type": ["string"]}, True),
        ({"description": "Jane"}, True),
        ({"type": "string", "number": 1}, True),
    ],
)
def test_in_a_text_the_schema_of_a_member_is_no_value_of_it(
    schema: dict[str, Any], is_hit: bool
) -> None:
    tool = {"name": "find", "parameters": {"properties": {"birth_date": schema}}}
    text = f"Your tools: [{json.dumps(tool)}]"
    assert bool(kinds(text)) is is_hit
    assert (REDACTOR.mask(text) == text) is not is_hit
    assert kinds(tool), "a record's own member holds what it holds"
    assert REDACTOR.mask(tool) != tool
    assert kinds('{"email": {"type": "string", "description": "as jane@b.example"}}') == ["email"]
    assert kinds('{"email": {"type": "x", "type": "string"}}') == ["email"]


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


JANE = '{"customer_name": "Jane Roe"}'


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(JANE),
        json.dumps(json.dumps(JANE)),
        " \ufeff" + json.dumps(JANE),
        "\ufeff" + JANE,
        '{"customer_name":"Jane Roe","customer_name":""}',
        json.dumps('[{"a": [{"customer_name":"Jane Roe","customer_name":""}]}]'),
        f"Here it is:\n```json\n{json.dumps(json.loads(JANE), indent=2)}\n```\n",
        f'{{"n": 1}}\n{JANE}\n{{"n": 2}}\n',
        f"result: {JANE}",
        f"result: {json.dumps(JANE)}",
        f"result: {json.dumps([[JANE]])}",
        f'a 5" screen, [INFO] [2024-01-01] {JANE}',
        f'{{"items": [{JANE}, {{"cut": "of',
        f'{{"long": "{"x" * 2000}"}} {JANE}',
        f'{{"long": "{"x" * 2000}", "note": {JANE}, "a": 1}}',
        f"{'[' * 70}{JANE}{']' * 70}",
        '{"customer_name": "Jane Roe", "half": "\\ud800"}',
        f'{{"n": {"9" * 5000}, "note": {JANE}}}',
    ],
)
def test_json_in_a_text_is_opened_however_it_stands_there(text: str) -> None:
    record = {"events": [{"observation": text}]}
    (hit,) = REDACTOR.findings({"observation": text})
    assert hit.path.startswith("observation")
    assert (hit.kind, hit.masked, hit.by_key) == ("customer_name", "xxxx xxx", True)
    assert [found.kind for found, _ in REDACTOR.findings_in_record(record)] == ["customer_name"]
    assert REDACTOR.suspect(json.dumps(record).encode())
    masked = REDACTOR.mask(text)
    assert "Jane" not in masked
    assert masked.encode()
    assert REDACTOR.findings(masked) == []


def test_depth_within_depth_hides_nothing_and_exhausts_no_stack() -> None:
    inner: Any = JANE
    for opening in range(3):
        for _ in range(31):
            inner = {"a": [inner]}
        if opening < 2:
            inner = json.dumps(inner)
    assert kinds(inner) == ["customer_name"]
    assert REDACTOR.suspect(json.dumps(inner).encode())
    masked = REDACTOR.mask(inner)
    assert "Jane" not in json.dumps(masked)
    assert kinds(masked) == []


def test_beside_what_is_opened_the_text_itself_is_read() -> None:
    text = f"ask a@b.example: {JANE} (415) 555-0132"
    assert [(hit.path, hit.kind) for hit in REDACTOR.findings({"note": text})] == [
        *(("note.customer_name", "customer_name"), ("note", "email"), ("note", "phone"))
    ]
    assert REDACTOR.mask(text) == (
        'ask [REDACTED:email]: {"customer_name": "[REDACTED:customer_name]"} [REDACTED:phone]'
    )


def test_a_mask_touches_nothing_but_what_was_found() -> None:
    text = f'[1,2] {{"a":1}}\n{JANE}\n{{"b":  [ 2]}}'
    masked = '{"customer_name": "[REDACTED:customer_name]"}'
    assert REDACTOR.mask(text) == text.replace(JANE, masked)


@pytest.mark.parametrize(
    "broken",
    [
        *("[", "[1x", '["', '{"a":', '["a\\', '"{\\"', "[" * 900 + "]" * 900),
        *("[" + 300 * "0,", '{"a":"' + 600 * "x" + '","b":', '["' + 600 * "x" + "\\"),
    ],
)
def test_what_is_almost_json_costs_linear_time(broken: str) -> None:
    characters = 0
    read_value = strictjson.read_value

    def counted(text: str, start: int) -> tuple[Any, int]:
        nonlocal characters
        try:
            value, end = read_value(text, start)
        except json.JSONDecodeError as error:
            characters += 1 + error.pos  # it counted the lines up to there
            raise
        except RecursionError:
            characters += 1000
            raise
        characters += end - start
        return value, end

    def cost(length: int) -> int:
        nonlocal characters
        characters = 0
        embedded(broken * (length // len(broken)))
        return characters

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reviewer.trace.strictjson.read_value", counted)
        assert 0 < cost(80_000) < 2.5 * cost(40_000)


@pytest.mark.parametrize("number", [4111111111111111, 4111111111111111.0, -4111111111111111.0])
def test_a_card_as_a_number(number: float) -> None:
    assert kinds([number]) == ["card"]
    assert REDACTOR.mask([number]) == ["[REDACTED:card]"]


@pytest.mark.parametrize(
    "spelled",
    [
        *(
            "4111111111111111.0",
            "4111111111111111.00",
            "4.111111111111111e15",
            "-4.111111111111111E+15",
        ),
        *("41111111111111110e-1", "411111111111111.10e1", "0.4111111111111111e16"),
    ],
)
def test_a_card_as_a_number_in_any_spelling_is_suspect(spelled: str) -> None:
    for text in (spelled, f'{{"a":{spelled}}}', f"[1,{spelled}]", f'{{"a":\n{spelled}\n}}'):
        assert kinds(json.loads(text)) == ["card"]
        assert REDACTOR.suspect(text.encode())
        assert REDACTOR.suspect(json.dumps(text).encode()) or not kinds(text)


@pytest.mark.parametrize(
    "number",
    [4300000000000.0, 1700000000000.0, 1732147200123456.0, 0.4111111111111111, 4111111111111111e3],
)
def test_amounts_and_times_are_no_cards(number: float) -> None:
    assert kinds(number) == []


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


def exactly(value: Any) -> Any:
    """Mask by the walk that skips nothing, as beside a member that is there twice."""
    held = RepeatedMembers(v=value)
    held.shadowed = (("v", None),)
    return REDACTOR.mask(held)["v"]


ADDRESS = {"type": "git", "origin": "git@github.com:example/agents.git"}
"""Looks like an address of a person, and is none."""
PARTS = st.recursive(
    st.one_of(values(), st.just(ADDRESS), st.sampled_from(IDENTIFIERS)),
    lambda inner: st.dictionaries(st.sampled_from(("a", "run", "email")), inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=4))
def test_what_was_looked_through_before_is_masked_as_the_first_time(parts: list[Any]) -> None:
    redactor = Redactor()
    for part in [*parts, {"again": parts}, *parts]:
        assert json.dumps(redactor.mask(part)) == json.dumps(exactly(part))


def test_what_holds_nothing_is_still_not_looked_into_too_deep() -> None:
    redactor, held = Redactor(), nested(ADDRESS, 60)
    assert redactor.suspect(json.dumps(ADDRESS).encode())
    assert redactor.mask(held) == held
    assert "[REDACTED:too_deep]" in json.dumps(redactor.mask(nested(held, 100)))


def nested(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value
