"""Which tools of tau2-bench's own domains change the database (sierra-research/tau2-bench, MIT).

Task files do not say it; the benchmark's code does. A task whose reference trajectory changes
nothing is passed only by an agent that changes nothing either.
"""

WRITES: dict[str, tuple[str, ...]] = {
    "airline": (
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    ),
    "retail": (
        "cancel_pending_order",
        "exchange_delivered_order_items",
        "modify_pending_order_address",
        "modify_pending_order_items",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
    ),
    "telecom": (
        "disable_roaming",
        "enable_roaming",
        "refuel_data",
        "resume_line",
        "send_payment_request",
        "suspend_line",
    ),
    "banking_knowledge": (
        "call_discoverable_agent_tool",
        "change_user_email",
        "give_discoverable_user_tool",
        "log_verification",
        "unlock_discoverable_agent_tool",
    ),
    "mock": ("create_task", "update_task_status"),
}
"""Of the agent's tools, by domain; the simulated user's are not the agent's to call."""


def writes_of(domain: str) -> frozenset[str] | None:
    """Return the tools that write, None for a domain that is not the benchmark's own."""
    base = domain if domain in WRITES else domain.partition("-")[0]  # telecom-workflow
    return frozenset(WRITES[base]) if base in WRITES else None
