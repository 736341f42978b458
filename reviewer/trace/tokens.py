"""Keys and tokens in the forms that their vendors publish.

Each form is a prefix and what follows it. `secret` (see `credentials`) has the forms that every
suite was frozen with; those added since are here. `prefilter` makes its looser pattern of the same
table.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator

from reviewer.trace import late

_HEX = "[0-9a-f]"
_ALNUM = "[A-Za-z0-9]"
_WORD = "[A-Za-z0-9_-]"
_UUID = rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}"

FORMS: tuple[tuple[str, str], ...] = (
    # clouds
    (r"A(?:3T[A-Z0-9]|BIA|CCA|KIA|SIA)", r"[A-Z0-9]{16}(?![0-9A-Za-z])"),
    (r"ABSK", r"[A-Za-z0-9+/]{60,}={0,2}"),
    (r"bedrock-api-key-", r"[A-Za-z0-9+/=]{20,}"),
    (r"LTAI", rf"{_ALNUM}{{12,30}}(?![0-9A-Za-z])"),
    (r"AKID", rf"{_ALNUM}{{32}}(?![0-9A-Za-z])"),
    (r"ya29\.", r"[A-Za-z0-9_.-]{20,}"),
    (r"1//0", rf"{_WORD}{{30,}}"),
    (r"GOCSPX-", rf"{_WORD}{{20,}}"),
    (r"GOOG", r"[A-Z0-9]{20,}"),
    (r"AQ\.", rf"{_WORD}{{40,}}"),
    (r"AAAA", r"[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{80,}"),
    (r"do[opr]_v1_", rf"{_HEX}{{64}}"),
    (r"HRKU-", rf"{_WORD}{{36,}}"),
    (r"fo1_", rf"{_WORD}{{43}}"),
    (r"fm[12][ar]?_", r"[A-Za-z0-9+/=_-]{80,}"),
    (r"nfp_", rf"{_ALNUM}{{36,}}"),
    (r"vc[pkiar]_", rf"{_ALNUM}{{24,}}"),
    (r"vercel_blob_rw_", rf"{_WORD}{{30,}}"),
    (r"cf(?:ut|k|at)_", rf"{_ALNUM}{{40,}}"),
    (r"v1\.0-", rf"{_HEX}{{24}}-{_HEX}{{100,}}"),
    (r"sbp_", rf"(?:v0_)?{_HEX}{{40}}"),
    (r"sb_secret_", rf"{_WORD}{{20,}}"),
    (r"pscale_(?:tkn|oauth|pw)_", r"[A-Za-z0-9_=.-]{32,}"),
    (r"rnd_", rf"{_ALNUM}{{28,}}"),
    (r"napi_", r"[a-z0-9]{60,}"),
    (r"mdb_sa_sk_", rf"{_WORD}{{30,}}"),
    (r"tskey-[a-z]{3,12}-", rf"{_WORD}{{10,}}"),
    (r"AQVN", rf"{_WORD}{{35,38}}"),
    (r"y0_", rf"{_WORD}{{50,}}"),
    (r"t1\.", rf"{_WORD}{{40,}}={{0,2}}\.{_WORD}{{86}}={{0,2}}"),
    # models
    (r"gsk_", rf"{_ALNUM}{{40,}}"),
    (r"xai-", rf"{_WORD}{{60,}}"),
    (r"pplx-", rf"{_ALNUM}{{40,}}"),
    (r"r8_", rf"{_ALNUM}{{36,}}"),
    (r"fw_", rf"{_ALNUM}{{22,}}"),
    (r"tgp_v1_", rf"{_WORD}{{40,}}"),
    (r"csk-", r"[a-z0-9]{40,}"),
    (r"nvapi-", rf"{_WORD}{{50,}}"),
    (r"lsv2_(?:pt|sk)_", rf"{_HEX}{{32}}_{_HEX}{{10}}"),
    (r"tvly-", rf"{_WORD}{{20,}}"),
    (r"pcsk_", r"[A-Za-z0-9_]{40,}"),
    (r"api_org_", r"[A-Za-z]{34}"),
    (r"wandb_v1_", r"[A-Za-z0-9_]{30,}"),
    (r"e2b_", rf"{_HEX}{{40}}"),
    (r"jina_", rf"{_WORD}{{40,}}"),
    (r"sess-", rf"{_ALNUM}{{40}}"),
    (r"sk_", rf"{_HEX}{{48}}"),
    (r"fc-", rf"{_HEX}{{32}}"),
    (r"rpa_", r"[A-Z0-9]{40,}"),
    (r"esecret_", rf"{_ALNUM}{{20,}}"),
    (r"phx_", rf"{_ALNUM}{{40,}}"),
    # code hosts, registries, builds
    (r"gh[opsur]_", r"[A-Za-z0-9_.-]{36,}"),
    (r"gl(?:pat|dt|ft|soat|rt|rtr|cbt|ptt|agent|oas|imt|ffct|wt)-", r"[A-Za-z0-9_.-]{20,}"),
    (r"GR1348941", rf"{_WORD}{{20,}}"),
    (r"AT[AC]TT3", r"[A-Za-z0-9_=-]{50,}"),
    (r"ATBB", r"[A-Za-z0-9_=-]{28,}"),
    (r"dckr_(?:pat|oat)_", rf"{_WORD}{{20,}}"),
    (r"pypi-", r"[A-Za-z0-9_-]{50,}"),
    (r"rubygems_", rf"{_HEX}{{48}}"),
    (r"cio", rf"{_ALNUM}{{32}}(?![0-9A-Za-z])"),
    (r"oy2", r"[a-z0-9]{43}(?![0-9A-Za-z])"),
    (r"CLOJARS_", r"[a-z0-9]{60}"),
    (r"npm_", rf"{_ALNUM}{{36}}"),
    (r"bk(?:ua|aj|ct)_", rf"{_HEX}{{40}}"),
    (r"CCIP(?:AT|RJ)_", rf"{_ALNUM}{{20,}}_{_HEX}{{40}}"),
    (r"(?<![+/])AKC", rf"(?=[A-Za-z]*[0-9]){_ALNUM}{{10,}}(?![0-9A-Za-z])"),
    (r"(?<![+/])AP[0-9A-F]", rf"(?=[A-Z0-9]*[a-z])(?=[A-Za-z]*[0-9]){_ALNUM}{{8,}}(?![0-9A-Za-z])"),
    (r"cmVmd", rf"{_ALNUM}{{59}}(?![0-9A-Za-z])"),
    (r"sgp_", rf"(?:{_HEX}{{16}}_|local_)?{_HEX}{{40}}"),
    (r"sq[upa]_", rf"{_HEX}{{40}}"),
    (r"snyk_(?:uat|sat)\.", r"[A-Za-z0-9_.-]{40,}"),
    (r"API-", r"[A-Z0-9]{26,}(?![0-9A-Za-z])"),
    (r"pnu_", rf"{_ALNUM}{{36}}"),
    (r"pul-", rf"{_HEX}{{40}}"),
    (r"sha256~", rf"{_WORD}{{43}}"),
    (r"ico-", rf"{_ALNUM}{{32}}(?![0-9A-Za-z])"),
    (r"(?:pat|sat)\.", rf"{_WORD}{{22}}\.{_ALNUM}{{24}}\.{_ALNUM}{{20}}"),
    # vaults
    (r"hv[bsr]\.", rf"{_WORD}{{24,}}"),
    (r"[bs]\.", rf"(?=[a-z0-9]*[A-Z])(?=[A-Za-z]*[0-9]){_ALNUM}{{24}}(?![0-9A-Za-z.(])"),
    (r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"[A-Za-z0-9_.-]{40,}"),
    (r"ops_eyJ", r"[A-Za-z0-9+/_=-]{50,}"),
    (r"A3-", r"[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}"),
    (r"AGE-SECRET-KEY-(?:PQ-)?1", r"[0-9A-Z]{40,}"),
    # messages, mail, webhooks
    (r"xox[a-z]-", r"[A-Za-z0-9%-]{10,}"),
    (r"xapp-[0-9]-", r"[A-Za-z0-9-]{16,}"),
    (r"xoxe\.xox[bp]-", r"[A-Za-z0-9-]{20,}"),
    (r"xwfp-", r"[A-Za-z0-9-]{20,}"),
    (r"hooks\.slack\.com/(?:services|workflows|triggers)/", r"[A-Za-z0-9+/_-]{20,}"),
    (r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/", r"[0-9]{15,20}/[A-Za-z0-9_-]{30,}"),
    (r"outlook\.office(?:365)?\.com/webhook/", r"[A-Za-z0-9@/_-]{40,}"),
    (r"chat\.googleapis\.com/v1/spaces/", r"[^\s\"'<>]{0,80}[?&]key=[^\s\"'<>]{20,}"),
    (r"hooks\.zapier\.com/hooks/catch/", r"[A-Za-z0-9/]{10,}"),
    (r"api\.softlayer\.com/soap/v3(?:\.1)?/", r"[a-z0-9]{64}"),
    (r"mfa\.", rf"{_WORD}{{60,}}"),
    (r"SG\.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    (r"x(?:key|smtp)sib-", rf"{_HEX}{{64}}-{_ALNUM}{{16}}"),
    (r"(?:pub)?key-", r"(?=[a-z]*[0-9])[0-9a-z]{32}(?![0-9A-Za-z])"),
    (r"(?:SK|AC)", r"(?=[a-z]*[0-9])[0-9a-z]{32}(?![0-9A-Za-z])"),
    (r"re_", rf"{_ALNUM}{{8}}_{_ALNUM}{{20,}}"),
    (r"whsec_", r"[A-Za-z0-9+/=]{24,}"),
    (r"oauth:", r"(?=[a-z]*[0-9])[a-z0-9]{30}(?![0-9A-Za-z])"),
    # money and shops
    (r"[rs]k_(?:live|test|prod)_", rf"{_ALNUM}{{10,}}"),
    (r"(?:live|test)_(?:pub_)?", r"(?=[A-Za-z-]*[0-9])[A-Za-z0-9=-]{30,}"),
    (r"shp(?:at|ca|pa|ss|tka|it|ua)_", r"[0-9A-Fa-f]{32}"),
    (r"sq0[a-z]{3}-", rf"{_WORD}{{22,}}"),
    (r"EAA", rf"{_ALNUM}{{60,}}"),
    (r"EAAA", rf"{_WORD}{{60,}}"),
    (r"EZ[AT]K", rf"{_ALNUM}{{54}}"),
    (r"FLW(?:SECK|PUBK)(?:_TEST)?-", rf"{_ALNUM}{{12,}}(?:-X)?"),
    (r"duffel_(?:test|live)_", r"[A-Za-z0-9_=-]{40,}"),
    (r"shippo_(?:live|test)_", r"[0-9A-Fa-f]{40}"),
    (r"rzp_(?:live|test)_", rf"{_ALNUM}{{14,}}"),
    (r"pdl_(?:live|sdbx)_apikey_", r"[A-Za-z0-9_]{30,}"),
    (r"access_token\$(?:production|sandbox)\$", rf"[0-9a-z]{{16}}\${_HEX}{{32}}"),
    (r"access-(?:sandbox|development|production)-", _UUID),
    (r"1000\.", rf"{_HEX}{{32}}\.{_HEX}{{32}}"),
    # people's services
    (r"A{20,24}", r"[A-Za-z0-9]{0,40}%[A-Za-z0-9%]{30,}"),
    (r"AQ[UVWX]", rf"{_WORD}{{100,}}"),
    (r"WPL_AP1\.", r"[A-Za-z0-9.=]{16,}"),
    (r"sl\.(?:u\.)?", r"[A-Za-z0-9_=-]{100,}"),
    (r"fig(?:d|or|our|oauth|u|r)?_", rf"{_WORD}{{40,}}"),
    (r"lin_(?:api|oauth)_", rf"{_ALNUM}{{32,}}"),
    (r"secret_", rf"(?=[A-Za-z]*[0-9]){_ALNUM}{{40,}}"),
    (r"ntn_", rf"{_ALNUM}{{40,}}"),
    (r"PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    (r"PMAT-", r"[0-9A-Z]{26}"),
    (r"pat-(?:na|eu|ap)[0-9]-", _UUID),
    (r"pat", rf"{_ALNUM}{{14}}\.{_HEX}{{64}}"),
    (r"NR(?:AK|JS|II|IQ|RA|BR|SP)-", r"[A-Za-z0-9_-]{19,}"),
    (r"dapi", rf"{_HEX}{{32}}(?:-[0-9])?"),
    (r"d(?:ose|kea|sap)", rf"{_HEX}{{32}}(?![0-9A-Za-z])"),
    (r"dt0[a-z][0-9]{2}\.", r"[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    (r"sntry[su]_", r"[A-Za-z0-9+/=_-]{40,}"),
    (r"glc_", r"[A-Za-z0-9+/=]{32,}"),
    (r"glsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    (r"eyJrIjoi", r"[A-Za-z0-9+/]{40,}={0,2}"),
    (r"CFPAT-", rf"{_WORD}{{40,}}"),
    (r"p8e-", r"[a-z0-9]{32}"),
    (r"dnkey-", r"[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}"),
    (r"dG9rO", r"[A-Za-z0-9+/=]{30,}"),
    (r"fio-u-", r"[A-Za-z0-9_=-]{60,}"),
    (r"rdme_", r"[a-z0-9]{70}"),
    (r"tfp_", r"[A-Za-z0-9_.=-]{40,}"),
    (r"tk-us-", rf"{_WORD}{{48}}"),
    (r"sm_[aps]at_", rf"{_ALNUM}{{16}}"),
    (
        r"(?:sc|ext|scauth|authress)_",
        r"[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,}",
    ),
    (r"4b1d", rf"{_ALNUM}{{38}}(?![0-9A-Za-z])"),
    (r"[sptu]k\.eyJ", r"[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    # hashes of passwords, as htpasswd and shadow files hold them
    (r"\$(?:2[abxy]|apr1|1|5|6|7|y|argon2(?:id?|d)|scrypt)\$", r"[./A-Za-z0-9$=,+]{20,}"),
    (r"pbkdf2_sha256\$", r"[0-9]+\$[./A-Za-z0-9+=$]{20,}"),
    (r"\{S?SHA(?:256|512)?\}", r"[A-Za-z0-9+/=]{20,}"),
    # a PEM in base64 that is neither a certificate nor a public key
    (r"LS0tLS1CRUdJTi", r"(?!BDRVJ|BQVUJM|BYNTA5|BUUlVTV)[A-Za-z0-9+/=]{30,}"),
)  # fmt: skip
"""(prefix, what follows), behind anything but a letter or digit."""

INNER: tuple[tuple[str, str], ...] = (
    (r"[a-z0-9-]+\.webhook\.office\.com/[A-Za-z0-9@/_-]{40,}", r"webhook\.office\.com\\*/"),
    (
        r"(?:bot)?[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![0-9A-Za-z_-])",
        r"[0-9]{8}(?::|%3[Aa])[A-Za-z0-9_-]{24}",
    ),
    (
        rf"[MNO]{_WORD}{{23,27}}\.{_WORD}{{6}}\.{_WORD}{{27,}}",
        r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{20}",
    ),
    (r"[0-9a-z]{32}-us[0-9]{1,2}(?![0-9A-Za-z])", r"[0-9a-z]-us[0-9]"),
    (
        rf"[0-9]{{15,16}}(?:\||%7C){_WORD}{{27,40}}(?![0-9A-Za-z_-])",
        r"[0-9](?:\||%7C)[A-Za-z0-9_-]{20}",
    ),
    (
        rf"[0-9]{{15,25}}-(?=[0-9a-z]*[A-Z])(?=[A-Za-z]*[0-9]){_ALNUM}{{40,}}",
        r"[0-9]-[A-Za-z0-9]{30}",
    ),
    (rf"[0-9]/[0-9]{{15,17}}(?:/[0-9]{{15,17}})?:{_HEX}{{32}}", r"[0-9]\\*/[0-9]{15}"),
)
"""Forms without a distinctive prefix: (the form, a distinctive part of it)."""

_ESCAPED = r"(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4})"
"""Behind a line feed or the like that a program wrote as its escape, in a text that is no JSON."""
_LEFT = rf"(?:(?<![0-9A-Za-z])|{_ESCAPED})"
_OF_SECRET = (
    *(r"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}", r"AIza[A-Za-z0-9_-]{30,}"),
    *(r"hf_[A-Za-z0-9]{30,}", r"npm_[A-Za-z0-9]{30,}", r"github_pat_[A-Za-z0-9_]{30,}"),
)
"""Forms that `secret` has and FORMS has not."""
_FORMS = late(
    f"{_LEFT}(?:"
    + "|".join((*(f"{prefix}{tail}" for prefix, tail in FORMS), *(form for form, _ in INNER)))
    + ")"
)

MARK = r"AZDO|APIM|ACDb|Az(?:Se|Fu|Ca)|\+A(?:Ba|MC|St|CR)|JQQJ9|NRAL|\.atlasv1\.|_mmk|[0-9]Q~"
"""Marks that vendors put inside keys to make them recognizable."""
_MARK = late(MARK)
_REST = late(r"[A-Za-z0-9_-]+")
_BEFORE = late(r"[A-Za-z0-9+/_~.-]*\Z")
_BEHIND = late(r"[A-Za-z0-9+/_~.-]*={0,2}")
_LONGEST = 200
_AROUND = {
    "AZDO": (70, 4), "APIM": (70, 5), "ACDb": (70, 5), "+ABa": (30, 5), "+AMC": (30, 5),
    "+ASt": (70, 5), "+ACR": (38, 5), "AzSe": (38, 5), "AzFu": (38, 5), "AzCa": (38, 5),
    "JQQJ9": (50, 20), "NRAL": (32, 0), ".atlasv1.": (14, 40), "_mmk": (30, 0),
}  # fmt: skip
"""Characters of a key before its mark and behind it, at least."""

_KEY_BLOCK = late(
    r"-{4,5} ?BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r"(?:[^-]*+(?:-(?!----?)[^-]*+)*+-{4,5} ?END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r"|(?:(?:\s|\\+[rn])*[A-Za-z0-9+/=]{16,})*)"
    r"|(?<![A-Za-z-])BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?![A-Za-z])"
    r"|PuTTY-User-Key-File-[0-9]:(?:[^{}\"'<>]{0,20000}?Private-MAC:\s*[0-9a-f]+|[^{}\"'<>]*)"
)
_SHOWN = late(f"(?:{_ESCAPED})(?:{'|'.join(_OF_SECRET)})")
_JWT = late(_LEFT + r"(e[yw][A-Za-z0-9_-]{8,})(?:\.[A-Za-z0-9_-]+){1,4}(?:\.(?![A-Za-z0-9]))?")


def tokens(text: str) -> Iterator[tuple[int, int]]:
    """Yield half-open spans of every token of a published form, in no order; they may overlap."""
    for found in _FORMS.finditer(text):
        rest = _REST.match(text, found.end())  # of a form that is longer than published
        yield found.start(), rest.end() if rest is not None else found.end()
    for mark in _MARK.finditer(text):
        before = _BEFORE.search(text, max(0, mark.start() - _LONGEST), mark.start())
        behind = _BEHIND.match(text, mark.end())
        assert before is not None
        assert behind is not None  # both match nothing, too
        long = mark.start() - before.start(), len(behind.group().rstrip("="))
        if mark.group().endswith("Q~"):
            if long[0] >= 3 and 31 <= long[1] <= 40:
                yield mark.start() - 3, behind.end()
            continue
        least = _AROUND[mark.group()]
        if long[0] >= least[0] and long[1] >= least[1]:
            yield before.start(), behind.end()
    for pattern in (_SHOWN, _KEY_BLOCK):
        for found in pattern.finditer(text):
            yield found.span()
    for found in _JWT.finditer(text):
        if _is_header(found.group(1)):
            yield found.span()


def _is_header(base64: str) -> bool:
    """Return whether this is the header of a signed or encrypted JSON token (RFC 7515, RFC
    7516)."""
    try:
        header = json.loads(urlsafe_b64decode(base64 + "=" * (-len(base64) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and not {"alg", "typ", "enc", "kid"}.isdisjoint(header)
