"""docs/verify.md as it stands: what other programs say of a decision, and of its tampered twin."""

import doctest
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import rfc8785
from doors import Door
from packaging_commands import typed
from people import People

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "verify.md").read_text(encoding="utf-8")
NAMESPACE = "agent-release-decision@reviewer.dev"
COSIGN = {"cosign2": "cosign=2.5.0-2+b4", "cosign3": "cosign=3.1.1-2"}
SIGSTORE = ("@sigstore/verify@3.1.1", "@sigstore/bundle@4.0.0", "@sigstore/core@3.2.1")
pytestmark = pytest.mark.skipif(
    not shutil.which("ssh-keygen"), reason="one of the two signs with ssh-keygen"
)


def typed_blocks(name: str) -> list[tuple[str, str]]:
    """(command, what stands under it) of the blocks marked with a name."""
    blocks = re.findall(rf"^<!-- run: {name} -->\n```console\n(.*?)^```$", PAGE, re.M | re.S)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def run(name: str, folder: Path) -> None:
    same = doctest.OutputChecker().check_output
    found = typed_blocks(name)
    assert len(found) > 1, name
    for command, wanted in found:
        if command.startswith("cd "):
            continue
        got = typed(command, folder)
        assert same(wanted, got, doctest.ELLIPSIS), f"$ {command}\n{got}\nwanted:\n{wanted}"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, empty_template: Path) -> Path:
    """The folder that the page's first command makes."""
    folder = tmp_path_factory.mktemp("verify") / "desk"
    shutil.copytree(empty_template, folder)
    people = People(Door(folder))
    people.sign("alice")
    people.door.ok("decisions", "export", 1, folder / "first")
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", folder / "bob"]
    subprocess.run([*command, folder / "first" / "payload.pae"], check=True, capture_output=True)
    people.door.ok("sign", "--add", 1, "--signature", folder / "first" / "payload.pae.sig")
    run("start", folder)
    for name, text in re.findall(r"^<!-- file: (\S+) -->\n```js\n(.*?)^```$", PAGE, re.M | re.S):
        (folder / "out" / name).write_text(text)
    return folder / "out"


@pytest.mark.skipif(
    not (shutil.which("openssl") and shutil.which("jq")), reason="needs openssl and jq"
)
def test_openssl(exported: Path) -> None:
    run("openssl", exported)


def test_ssh_keygen(exported: Path) -> None:
    run("ssh-keygen", exported)


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_node(exported: Path) -> None:
    run("node", exported)


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("npm"), reason="needs npm")
def test_sigstore(exported: Path) -> None:
    """From the registry of npm, into a folder of its own."""
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(exported), *SIGSTORE]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"npm cannot install them here: {done.stderr[-200:]}")
    run("sigstore", exported)


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("apt-get"), reason="needs apt-get")
@pytest.mark.parametrize("name", COSIGN)
def test_cosign(
    exported: Path, name: str, cosigns: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    monkeypatch.setenv("PATH", f"{cosigns[name]}{os.pathsep}{os.environ['PATH']}")
    run(name, exported)


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("apt-get"), reason="needs apt-get")
@pytest.mark.parametrize("name", ["payload_changed_after_signing", "signed_by_a_stranger",
    "signed_as_another_type", "signed_the_bare_payload", "other_predicate", "subject_of_the_suite",
    "payload_type_case", "good"])  # fmt: skip
def test_cosign_refuses_what_we_refuse(cosigns: dict[str, Path], tmp_path: Path, name: str) -> None:
    """Of the corpus: what is wrong in signature, type or subject."""
    from reviewer.signing.signers import parse_signers

    corpus = Path(__file__).resolve().parents[1] / "attest" / "fail"
    folder = corpus / ("good_pass" if name == "good" else f"{name}_fail")
    key = parse_signers((corpus / "signers").read_text()).keys[0].key
    (tmp_path / "alice.pem").write_text(key.pem())
    body = json.loads((corpus / "candidate.json").read_bytes())
    (tmp_path / "candidate.json").write_bytes(rfc8785.dumps(body))
    command = [
        str(cosigns["cosign2"] / "cosign"), "verify-blob-attestation", "--key", "alice.pem",
        "--signature", str(folder / "decision.dsse.json"), "--insecure-ignore-tlog=true",
        "--type", "https://reviewer.dev/attestation/agent-release-decision/v0.1", "candidate.json",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == (name == "good"), done.stderr


@pytest.fixture(scope="module")
def cosigns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both versions out of Debian's packages, beside the system and not into it."""
    root = tmp_path_factory.mktemp("cosign")
    for folder in ("lists/partial", "cache/archives/partial", "etc"):
        (root / folder).mkdir(parents=True)
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (root / "etc" / "sources.list").write_text(
        "".join(
            f"deb [signed-by={key}] http://deb.debian.org/debian {release} main\n"
            for release in ("trixie", "sid")
        )
    )
    options = [
        f"-oDir::Etc::sourcelist={root}/etc/sources.list", "-oDir::Etc::sourceparts=/dev/null",
        f"-oDir::State::lists={root}/lists", f"-oDir::Cache={root}/cache",
        "-oAPT::Sandbox::User=root",
    ]  # fmt: skip
    if subprocess.run(["apt-get", *options, "update"], capture_output=True).returncode:
        pytest.skip("Debian's archive is not to be reached")
    found = {}
    for name, package in COSIGN.items():
        (root / name).mkdir()
        got = subprocess.run(
            ["apt-get", *options, "download", package], cwd=root / name, capture_output=True
        )
        if got.returncode:
            pytest.skip(f"{package} is not in Debian's archive any more")
        (deb,) = (root / name).glob("*.deb")
        subprocess.run(["dpkg", "-x", deb, root / name], check=True)
        found[name] = root / name / "usr" / "bin"
    return found
