"""Likeness of two texts by a static embedding model on this machine. An extra: the library is
imported when a model is named and there is something to compare, and nothing is ever downloaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode
from reviewer.suite.canonical import canonical_bytes, sha256_hex
from reviewer.suite.model import RedactionRules

FILES = ("config.json", "model.safetensors", "tokenizer.json")
UNNAMED = (
    "no embedding model is named: "
    "--embedding-model DIR, with pip install release-reviewer[embeddings]"
)
UNINSTALLED = "the extra is not installed: pip install release-reviewer[embeddings]"
DIGITS = 4
"""Of a likeness: the last bits of a vector are the processor's own."""


class NotInstalled(Exception):
    """The extra is not there; the text says the way out."""


class Model(NamedTuple):
    """A static model. `sha256` is that of the digests of its files."""

    name: str
    sha256: str
    encode: Any

    def likeness(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Cosine of each pair, clipped to 0 to 1; None where a text holds no word that the model
        knows."""
        import numpy as np

        places = {
            text: n for n, text in enumerate(dict.fromkeys(t for pair in pairs for t in pair))
        }
        if not places:
            return []
        rows = np.asarray(self.encode(list(places), max_length=None), dtype=np.float64)
        norms = np.linalg.norm(rows, axis=1)
        found: list[float | None] = []
        for a, b in ((places[a], places[b]) for a, b in pairs):
            if not (norms[a] and norms[b]):
                found.append(None)
                continue
            cosine = float(rows[a] @ rows[b] / (norms[a] * norms[b]))
            found.append(round(min(1.0, max(0.0, cosine)), DIGITS))
        return found


def open_model(path: str) -> Model:
    """The model in a folder of this machine. Raises NotInstalled, and DeskError for a folder that
    holds no such model."""
    folder = Path(path).expanduser()
    absent = [name for name in FILES if not (folder / name).is_file()]
    if absent:
        raise DeskError(
            f"--embedding-model {path}: no static model is in this folder: {absent[0]} is missing",
            "a model2vec model saved to a folder, such as potion-base-8M",
            exit_code=ExitCode.USAGE,
        )
    try:
        from model2vec import StaticModel
    except ImportError:
        raise NotInstalled(UNINSTALLED) from None
    digests = {name: sha256_hex((folder / name).read_bytes()) for name in FILES}
    try:
        model = StaticModel.from_pretrained(folder)
    except Exception as error:  # whatever a library makes of a damaged file
        raise DeskError(
            f"--embedding-model {path}: cannot be read as a static model ({type(error).__name__})"
        ) from error
    from reviewer.importing.catalogue import redactor_of

    name = redactor_of(RedactionRules()).masked(folder.resolve().name)
    return Model(name, sha256_hex(canonical_bytes(digests)), model.encode)
