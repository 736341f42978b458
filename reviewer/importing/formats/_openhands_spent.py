"""What the calls of an OpenHands run cost: out of its metrics, or off its events."""

from typing import Any

from reviewer.importing.draft import Draft, added, amount, measured, summed, tokens

NO_PRICE = "a cost of 0 beside counted tokens says that no price was known: not measured"


class Ledger:
    """Costs, tokens and latency per model response, each told once.

    `metrics` joins by response id. Where it holds costs alone, they belong to the calls in order,
    if there are as many. Files without it tell what was spent by then on each event.
    """

    def __init__(self, draft: Draft, metrics: Any) -> None:
        self._draft = draft
        self.metrics: dict[str, Any] = metrics if isinstance(metrics, dict) else {}
        usages, costs = _rows(self.metrics, "token_usages"), self.metrics.get("costs")
        self.costs = [_cost(one) for one in costs] if isinstance(costs, list) else []
        self._usages = {str(one.get("response_id")): one for one in usages}
        self._latency = {
            str(one.get("response_id")): one.get("latency")
            for one in _rows(self.metrics, "response_latencies")
        }
        self._priced = {}
        if len(usages) == len(self.costs) > 0:
            named = [str(one.get("response_id")) for one in usages]
            self._priced = dict(zip(named, self.costs, strict=True))
        self._told: set[str] = set()
        self._before = (0.0, 0, 0)
        self._running: list[dict[str, int]] = []
        self._priced_at_all = "accumulated_cost" in self.metrics

    @property
    def latency_ms(self) -> float | None:
        """Of all responses together, those that left no event among them."""
        total = added([amount(one) for one in self._latency.values()])
        return None if total is None else total * 1000

    def spent(self, response_id: Any, usage: Any, accumulated: Any) -> dict[str, Any]:
        """What one response cost, as event members; nothing when it was told before."""
        own = str(response_id) if response_id else ""
        if own and own in self._told:
            return {}
        self._told.add(own)
        step = self._step(accumulated)
        counted = self._usages.get(own) or (usage if isinstance(usage, dict) else None)
        seconds = measured(self._latency.get(own))
        used: dict[str, int] | None = _tokens(counted) if counted else step.get("tokens")
        if used is not None:
            self._running.append(used)
        found = {
            "tokens": used,
            "latency_ms": None if seconds is None else seconds * 1000,
            "cost_usd": self._priced.get(own, step.get("cost_usd")),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _step(self, accumulated: Any) -> dict[str, Any]:
        """What was added since the event before: these figures grow."""
        if not isinstance(accumulated, dict):
            return {}
        usage = accumulated.get("accumulated_token_usage")
        usage = usage if isinstance(usage, dict) else {}
        before = self._before
        self._priced_at_all = self._priced_at_all or "accumulated_cost" in accumulated
        now = (
            amount(accumulated.get("accumulated_cost")) or 0.0,
            int(amount(usage.get("prompt_tokens")) or 0),
            int(amount(usage.get("completion_tokens")) or 0),
        )
        self._before = now
        if any(new < old for new, old in zip(now, before, strict=True)):
            self._draft.note("accumulated figures fall: steps behind that are not measured")
            return {}
        sent, received = now[1] - before[1], now[2] - before[2]
        return {
            "cost_usd": measured(now[0] - before[0]),
            "tokens": tokens(input_tokens=sent, output_tokens=received) if sent else None,
        }

    def stated(self, uses: list[Any]) -> None:
        """What every use of a model has come to by now; the last word stands."""
        known = [one for one in uses if isinstance(one, dict)]
        counts = [one.get("accumulated_token_usage") for one in known]
        usages = [one for one in counts if isinstance(one, dict)]
        self._priced_at_all = bool(known)
        self._before = (
            sum(amount(one.get("accumulated_cost")) or 0.0 for one in known),
            sum(int(amount(one.get("prompt_tokens")) or 0) for one in usages),
            sum(int(amount(one.get("completion_tokens")) or 0) for one in usages),
        )

    def total(self) -> float | None:
        """USD of the whole run; None when nothing was priced."""
        stated = self.metrics.get("accumulated_cost") if self.metrics else self._before[0]
        cost = measured(stated)
        if cost is None and self._priced_at_all:
            self._draft.note(NO_PRICE)
        return cost

    def tokens(self, calls: int) -> dict[str, Any] | None:
        """Tokens of the whole run: its own total, else the last accumulated one, else the sum of
        its responses, a least where some of them have no count."""
        usage = self.metrics.get("accumulated_token_usage")
        if isinstance(usage, dict) and measured(usage.get("prompt_tokens")):
            return _tokens(usage)
        if self._usages:
            return summed([_tokens(one) for one in self._usages.values()])
        _, sent, received = self._before
        if sent:
            return tokens(input_tokens=sent, output_tokens=received)
        return summed(self._running, calls - len(self._running))

    def by_order(self, calls: list[dict[str, Any]]) -> None:
        """Costs without ids onto the events of the responses, where there are as many."""
        if self._priced or not self.costs:
            return
        if len(calls) != len(self.costs):
            self._draft.note("costs per call cannot be told apart: only the run's cost is known")
            return
        for event, cost in zip(calls, self.costs, strict=True):
            if cost is not None:
                event["cost_usd"] = cost


def _rows(metrics: dict[str, Any], name: str) -> list[dict[str, Any]]:
    rows = metrics.get(name)
    return [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []


def _cost(row: Any) -> float | None:
    return measured(row.get("cost") if isinstance(row, dict) else row)


def _tokens(usage: dict[str, Any]) -> dict[str, int] | None:
    """Counts under the metrics' own names, or those of a chat completion."""
    sent = measured(usage.get("prompt_tokens"))
    if sent is None:
        return None
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    read = usage.get("cache_read_tokens", usage.get("cache_read_input_tokens"))
    return tokens(
        input_tokens=sent,
        output_tokens=amount(usage.get("completion_tokens")),
        cached_tokens=amount(read) if read is not None else amount(details.get("cached_tokens")),
        cache_write_tokens=amount(
            usage.get("cache_write_tokens", usage.get("cache_creation_input_tokens"))
        ),
    )
