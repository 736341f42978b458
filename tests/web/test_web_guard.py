"""Who is let in to a served workstation, as texts of a request."""

from hypothesis import given
from hypothesis import strategies as st

from reviewer.web.guard import Guest, guard_for, new_token

TOKEN = new_token()
NOBODY = Guest()
GUARD = guard_for({TOKEN: NOBODY}, loopback=True)
OPEN = guard_for({TOKEN: NOBODY}, loopback=False, names=["Desk.example"])
PORTS = st.integers(0, 65535)
OURS = st.sampled_from(["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.9.9.9"])
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}(\.[a-z]{2,8}){0,2}", fullmatch=True)


@given(OURS, PORTS)
def test_whoever_has_the_address_is_let_in(host: str, port: int) -> None:
    at = f"{host}:{port}"
    for path in (f"/{TOKEN}/", f"/{TOKEN}/static/js/textual.js"):
        assert GUARD.admits(path, at, None, drives=False) == NOBODY
        assert GUARD.admits(path, at, f"http://{at}", drives=False) == NOBODY
    assert GUARD.admits(f"/{TOKEN}/ws", at, f"http://{at}", drives=True) == NOBODY
    assert GUARD.admits(f"/{TOKEN}/", host, None, drives=False) == NOBODY, "port 80 is not said"


@given(st.text(max_size=60), st.booleans())
def test_no_other_path_is_served(path: str, drives: bool) -> None:
    at = "127.0.0.1:8000"
    if path.removeprefix("/").partition("/")[0] != TOKEN:
        assert GUARD.admits(path, at, f"http://{at}", drives) is None


@given(NAMES.filter(lambda name: name != "localhost"), PORTS)
def test_a_name_that_points_here_is_not_ours(name: str, port: int) -> None:
    """DNS rebinding: the page's own name, resolved to this machine once it has loaded."""
    at = f"{name}:{port}"
    for guard in (GUARD, OPEN):
        assert guard.admits(f"/{TOKEN}/", at, None, drives=False) is None
        assert guard.admits(f"/{TOKEN}/ws", at, f"http://{at}", drives=True) is None


@given(
    st.sampled_from(["127.0.0.1:8000", "localhost:8000", "[::1]:8000"]),
    st.one_of(
        st.text(max_size=40),
        st.sampled_from(
            [
                "null", "http://localhost:3000", "https://127.0.0.1:8000", "http://127.0.0.1",
                "http://127.0.0.1:8000.evil.example", "http://evil.example", "file://", "",
                "http://127.0.0.1:80000", "http://127.0.0.1:8000/", "http://x@127.0.0.1:8000",
            ]
        ),
    ),
)  # fmt: skip
def test_no_page_from_elsewhere_is_let_in(host: str, origin: str) -> None:
    if origin != f"http://{host}":
        assert GUARD.admits(f"/{TOKEN}/", host, origin, drives=False) is None
        assert GUARD.admits(f"/{TOKEN}/ws", host, origin, drives=True) is None


@given(st.lists(NAMES, min_size=2, max_size=6, unique=True), st.text(max_size=40))
def test_each_token_is_one_persons(names: list[str], other: str) -> None:
    tokens = {new_token(): Guest(name, "view", name) for name in names}
    guard = guard_for(tokens, loopback=True)
    for token, guest in tokens.items():
        assert guard.admits(f"/{token}/ws", "localhost", "http://localhost", drives=True) == guest
        assert guard.admits(f"/{token}x/", "localhost", None, drives=False) is None
        assert guard.admits(f"/{token[:-1]}/", "localhost", None, drives=False) is None
    if other.partition("/")[0] not in tokens:
        assert guard.admits(f"/{other}/", "localhost", None, drives=False) is None


def test_what_drives_must_say_where_it_is_from() -> None:
    assert GUARD.admits(f"/{TOKEN}/ws", "127.0.0.1:8000", None, drives=True) is None


@given(
    st.one_of(
        st.none(),
        st.text(max_size=30),
        st.sampled_from(
            [
                "", ":8000", "127.0.0.1:8000:9", "localhost.", "127.0.0.1@evil.example",
                "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1:8000", "0.0.0.0:8000",
                "[::]:8000", "::1", "[fe80::1]:8000", "127.0.0.1:8000, evil.example", "2130706433",
                "127.0.0.1:8000\r\nX: y", "⑴27.0.0.1", "127.1", "0x7f.1", "localhost:８0",
            ]
        ),
    )
)  # fmt: skip
def test_an_odd_name_is_none_of_ours(host: str | None) -> None:
    ours = {"localhost", "127.0.0.1", "[::1]"}
    if host is None or (host.rpartition(":")[0].lower() not in ours and host.lower() not in ours):
        assert GUARD.admits(f"/{TOKEN}/", host, None, drives=False) is None


def test_beyond_this_machine_its_addresses_and_its_name_are_known() -> None:
    for host in ("10.0.0.1:8000", "[fe80::1]:8000", "desk.example:8000", "localhost:8000"):
        assert OPEN.admits(f"/{TOKEN}/", host, None, drives=False) == NOBODY
    assert OPEN.admits(f"/{TOKEN}/", "other.example:8000", None, drives=False) is None
    assert OPEN.admits(f"/{TOKEN}/ws", "10.0.0.1:8000", "http://10.0.0.2:8000", drives=True) is None


def test_each_start_has_a_token_of_its_own_that_stands_in_an_address() -> None:
    made = {new_token() for _ in range(1000)}
    assert len(made) == 1000
    assert all(len(token) == 32 and token.replace("-", "").replace("_", "").isalnum()
               for token in made)  # fmt: skip
