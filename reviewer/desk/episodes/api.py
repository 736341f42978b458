"""`desk.episodes`: episodes made from traces, and their proof."""

from __future__ import annotations  # names used only in annotations are not imported

from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewer.desk.episodes.views import (
        EpisodeOrder,
        MadeAndProven,
        MadeFromTrace,
        MadeOfGolden,
        Proof,
    )


class EpisodesRoom(Room):
    """The API of `desk.episodes`."""

    def from_trace(self, order: EpisodeOrder) -> MadeFromTrace:
        """Make an episode from a trace, and write it with the scripts of its proof. Raises
        DeskError with the ways out, and then writes nothing."""
        from reviewer.desk.episodes.making import made_from_trace

        return made_from_trace(self._opened, order)

    def from_golden(
        self, file: Path, wanted: str = "", episode_id: str = "", into: str = "", out: str = ""
    ) -> MadeOfGolden:
        """Make an episode from a golden record, named by its number or id; its wordings are
        compared and never required. Raises DeskError, and then writes nothing."""
        from reviewer.desk.episodes.goldens import made_of_golden

        return made_of_golden(self._opened, file, wanted, episode_id, into, out)

    def prove(self, suite: str, episode_id: str) -> Proof:
        """Run the scripts of an episode's proof. `suite` is an id, or a folder. Raises DeskError
        for a suite that cannot be read and an episode without scripts."""
        from reviewer.desk.episodes.proving import proof_of
        from reviewer.desk.episodes.target import suite_folder

        return proof_of(suite_folder(self._opened.place.suites, suite), episode_id)

    def asked(self, trace_id: str) -> str:
        """Return the user's request in a trace of the store, on one line; empty if the trace does
        not state it. Raises DeskError."""
        from reviewer.desk.episodes.making import asked_in

        return " ".join(asked_in(self._opened, trace_id).split())

    def from_form(
        self, trace_id: str, typed: Mapping[str, str], replace: bool = False
    ) -> MadeAndProven:
        """Make an episode from a trace and the content of a form (`views.TYPED`), and prove it.
        Raises DeskError, and then writes nothing."""
        from reviewer.desk.episodes.views import EpisodeOrder, MadeAndProven, Marks

        def several(name: str) -> tuple[str, ...]:
            parts = typed.get(name, "").split(";")
            return tuple(part.strip() for part in parts if part.strip())

        def calls(name: str) -> tuple[str, ...]:
            """Split names at commas, too, except where arguments follow a name."""
            parts = (
                [part] if "{" in part else [one.strip() for one in part.split(",")]
                for part in several(name)
            )
            return tuple(one for some in parts for one in some if one)

        request = typed.get("request", "").strip()
        if request and request == self.asked(trace_id):
            request = ""  # use the request in the trace, with its line breaks
        made = self.from_trace(
            EpisodeOrder(
                source=trace_id,
                beside=several("with"),
                marks=Marks(
                    wrong=calls("wrong"),
                    required=calls("required"),
                    say=typed.get("say", "").strip(),
                    never_say=several("never say"),
                    confirm=calls("confirm"),
                ),
                episode_id=typed.get("id", "").strip(),
                into=typed.get("into", "").strip(),
                replace=replace,
                request=request,
            )
        )
        try:
            proof = self.prove(made.suite_id, made.episode_id)
        except DeskError as error:
            return MadeAndProven(made=made, proof=None, unproven=error.text)
        return MadeAndProven(made=made, proof=proof)
