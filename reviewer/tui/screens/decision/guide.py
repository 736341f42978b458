"""The way to a signature: a key, whether it may sign, then the signature itself. It begins at the
first of these that is missing, and each step says what to do."""

from collections.abc import Sequence
from typing import Protocol

from textual.app import App

from reviewer.desk.decisions.api import Choice, DecisionView, Pending
from reviewer.desk.views import KeyInfo, SignedDecision
from reviewer.tui.screens.decision.lines import may_sign
from reviewer.tui.shell.shell import Shell


class Decider(Protocol):
    """The screen on which the decision is made."""

    suite_id: str
    candidate_id: str

    @property
    def app(self) -> App[object]: ...
    @property
    def shell(self) -> Shell: ...
    def keys_found(self, keys: list[KeyInfo]) -> None: ...
    def signed(self, signed: SignedDecision | None) -> None: ...
    def action_export(self) -> None: ...


class SigningGuide:
    """One signature at a time, starting at the first missing step."""

    def __init__(self, screen: Decider) -> None:
        self._screen = screen
        self._keys: list[KeyInfo] = []
        self._found: DecisionView | None = None
        self._choice: Choice | None = None
        self._guided = False

    def begin(self, found: DecisionView, choice: Choice, keys: Sequence[KeyInfo]) -> None:
        """Open the first step that is missing for this choice."""
        self._found, self._choice, self._keys = found, choice, list(keys)
        self._guided = not any(map(may_sign, keys))
        if self._screen.shell.desk.role is not None:
            self._sign_elsewhere()
        elif not keys:
            self._ask_for_key("1 of 3: a key")
        elif self._guided:
            self._ask_for_trust()
        else:
            self._sign()

    def leave(self) -> None:
        """Close the open dialog, unless something is being signed."""
        from reviewer.tui.screens.decision.key import KeyScreen
        from reviewer.tui.screens.decision.own_key import OwnKeyScreen
        from reviewer.tui.screens.decision.sign import SignScreen
        from reviewer.tui.screens.decision.trust import TrustScreen

        top = self._screen.app.screen
        if isinstance(top, KeyScreen | TrustScreen | OwnKeyScreen) or (
            isinstance(top, SignScreen) and top.dismissible
        ):
            top.dismiss(None)

    # the steps ---------------------------------------------------------------------------------

    def _ask_for_key(self, step: str) -> None:
        from reviewer.tui.screens.decision.key import KeyScreen

        assert self._found is not None
        assert self._choice is not None
        self._screen.app.push_screen(
            KeyScreen(self._found, self._choice.decision, step, self._keys), self._took_key
        )

    def _took_key(self, key: KeyInfo | None) -> None:
        if key is None:
            self._screen.signed(None)
            return
        self._guided = True
        others = [each for each in self._keys if each.fingerprint != key.fingerprint]
        self._keys = [key, *others]
        self._screen.keys_found(self._keys)
        if may_sign(key):
            self._sign()
        else:
            self._ask_for_trust()

    def _ask_for_trust(self) -> None:
        from reviewer.tui.screens.decision.trust import TrustScreen

        assert self._found is not None
        assert self._choice is not None
        self._screen.app.push_screen(
            TrustScreen(self._found, self._choice.decision, self._keys), self._trusted
        )

    def _trusted(self, key: KeyInfo | str | None) -> None:
        if key is None:
            self._screen.signed(None)
        elif isinstance(key, str):
            self._ask_for_key("another key")
        else:
            others = [each for each in self._keys if each.fingerprint != key.fingerprint]
            self._keys = [key, *others]
            self._screen.keys_found(self._keys)
            self._sign()

    def _sign(self) -> None:
        from reviewer.tui.screens.decision.sign import SignScreen

        assert self._found is not None
        assert self._choice is not None
        pending: Pending | None = self._found.pending if self._choice.adds is not None else None
        dialog = SignScreen(
            self._found, self._choice.decision, self._keys, pending, guided=self._guided
        )
        self._screen.app.push_screen(dialog, self._done)

    def _sign_elsewhere(self) -> None:
        """Open the signature with a key on the person's own machine, which is the only way to sign
        on a page that is served to someone."""
        from reviewer.tui.screens.decision.own_key import OwnKeyScreen

        assert self._found is not None
        assert self._choice is not None
        pending = self._found.pending if self._choice.adds is not None else None
        dialog = OwnKeyScreen(self._found, self._choice.decision, pending)
        self._screen.app.push_screen(dialog, self._screen.signed)

    def _done(self, ended: SignedDecision | KeyInfo | None) -> None:
        if isinstance(ended, KeyInfo):  # a key was chosen that may not sign yet
            self._keys = [ended, *(k for k in self._keys if k.fingerprint != ended.fingerprint)]
            self._guided = True
            self._ask_for_trust()
            return
        self._screen.signed(ended)
