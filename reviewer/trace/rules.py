"""Rules of redaction: which member names must not carry a value, and which values are
placeholders."""

import re
from collections.abc import Iterable

from msgspec import Struct

from reviewer.trace import late
from reviewer.trace.disguises import fold_key
from reviewer.trace.strictjson import RepeatedMembers

BASIC = ("email", "card", "iban", "phone", "secret", "ssn")
"""The value detectors that are on in a suite that names none. A frozen suite keeps its verdicts, so
no further one may come in here."""
ADDED = ("token", "credential", "ip", "disguised")
"""Detectors that judge only where a suite names them, and mask everywhere."""
DETECTORS = BASIC + ADDED
"""Every value detector."""


class Rules(Struct, frozen=True):
    """A suite's changes to the built-in rules.

    `keys` are more sensitive member names, `allow_keys` names declared harmless, which wins (both
    in any spelling), `detectors` the value detectors that are on, out of DETECTORS.
    Stored data is masked by `masking`, whichever detectors judge.
    Raises ValueError for a detector that does not exist.
    """

    keys: tuple[str, ...] = ("customer_name", "order_id")
    allow_keys: tuple[str, ...] = ()
    detectors: tuple[str, ...] = DETECTORS

    def __post_init__(self) -> None:
        for name in self.detectors:
            if name not in DETECTORS:
                raise ValueError(
                    f"no redaction detector is named {name!r}; there are {', '.join(DETECTORS)}"
                )

    @property
    def masking(self) -> tuple[str, ...]:
        """The detectors that mask: those that judge, and every added one."""
        return (*(name for name in self.detectors if name not in ADDED), *ADDED)


SENSITIVE_KEYS = (
    # contact
    *("email", "emails", "email_address", "email_addresses", "mail_address", "e_mail_address"),
    *("customer_email", "user_email", "contact_email", "client_email", "sender_email"),
    *("recipient_email", "billing_email", "work_email", "personal_email", "primary_email"),
    *("phone", "phones", "phone_number", "phone_numbers", "customer_phone", "user_phone"),
    *("contact_phone", "mobile", "mobile_phone", "mobile_number", "cell_phone", "home_phone"),
    *("work_phone", "telephone", "telephone_number", "fax_number"),
    *("home_address", "street_address", "postal_address", "mailing_address", "billing_address"),
    "shipping_address",
    # person
    *("ssn", "social_security_number", "national_id", "tax_id", "passport_number"),
    *("drivers_license", "driver_license_number", "date_of_birth", "birth_date", "dob"),
    # money
    *("card_number", "credit_card", "credit_card_number", "debit_card_number", "cardholder_name"),
    *("cvv", "cvv2", "cvc", "card_cvv", "iban", "bank_account", "bank_account_number"),
    # credentials
    *("password", "passwd", "passphrase", "user_password", "db_password", "secret"),
    *("client_secret", "secret_key", "secret_access_key", "aws_secret_access_key", "private_key"),
    *("api_key", "x_api_key", "openai_api_key", "anthropic_api_key", "authorization"),
    *("proxy_authorization", "cookie", "cookies", "set_cookie", "session_cookie"),
    *("access_token", "refresh_token", "id_token", "auth_token", "bearer_token"),
    *("session_token", "api_token"),
)
"""Built-in names. Whole names only: `secretary`, `max_tokens` and `order_token` are harmless."""

_PLACEHOLDER = late(
    r"\[redacted[\w:.\- ]*\]|redacted|\[(?:masked|hidden|removed|filtered)\]|\*{3,}|\{\{[^{}]*\}\}"
    r"|<(?:redacted|masked|hidden|removed|email|phone|name|token|secret|password)>"
    r"|(?-i:<[A-Z][A-Z0-9_ -]*>)",
    re.IGNORECASE | re.ASCII,
)


def sensitive_names(rules: Rules) -> dict[str, str]:
    """Return folded name → printed name, of every member that must not carry a value.

    The printed name is used inside `[REDACTED:…]`, so it contains only what a placeholder may.
    """

    def folded(names: Iterable[str]) -> dict[str, str]:
        return {fold_key(name): re.sub(r"[^A-Za-z0-9_.-]", "_", name) for name in names}

    names = folded(SENSITIVE_KEYS) | folded(rules.keys)
    for harmless in ("", *folded(rules.allow_keys)):
        names.pop(harmless, None)
    return names


def is_placeholder(text: str) -> bool:
    """Return whether the whole value is a placeholder for one that was removed: `[REDACTED]`,
    `***`, `<EMAIL>`…"""
    text = text.strip()
    return not text or _PLACEHOLDER.fullmatch(text) is not None


_SCHEMA_TYPES = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
_SCHEMA_WORDS = frozenset(
    (
        *("type", "title", "description", "format", "pattern", "nullable", "deprecated"),
        *("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "uniqueItems"),
        *("items", "properties", "required", "additionalProperties", "readOnly", "writeOnly"),
    )
)


def _describes(value: dict[object, object]) -> bool:
    """Return whether this is the JSON Schema of a member, as prompts list the arguments of a tool.

    Not where it may show one (`default`, `enum`, `examples`).
    """
    kind = value.get("type")
    return isinstance(kind, str) and kind in _SCHEMA_TYPES and _SCHEMA_WORDS.issuperset(value)


def carries_value(value: object, in_text: bool = False) -> bool:
    """Return whether a sensitive member really holds something. Within a text (a prompt) it may be
    the schema of a member; the record's own members are no schemas."""
    if value is None:
        return False
    if isinstance(value, str):
        return not is_placeholder(value)
    if isinstance(value, dict):
        described = in_text and not isinstance(value, RepeatedMembers) and _describes(value)
        return bool(value) and not described
    if isinstance(value, (list, tuple)):
        return bool(value)
    return True
