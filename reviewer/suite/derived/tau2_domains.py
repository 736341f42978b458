"""Which tools of tau2-bench's own domains change the database, and which are its simulated user's
(sierra-research/tau2-bench, MIT).

Task files do not say this; the benchmark's code does. A task whose reference trajectory changes
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
"""Of the agent's tools, by domain; the agent may not call the simulated user's."""

USER_TOOLS: dict[str, tuple[str, ...]] = {
    "telecom": (
        "can_send_mms",
        "check_apn_settings",
        "check_app_permissions",
        "check_app_status",
        "check_data_restriction_status",
        "check_installed_apps",
        "check_network_mode_preference",
        "check_network_status",
        "check_payment_request",
        "check_sim_status",
        "check_status_bar",
        "check_vpn_status",
        "check_wifi_calling_status",
        "check_wifi_status",
        "connect_vpn",
        "disconnect_vpn",
        "grant_app_permission",
        "make_payment",
        "reboot_device",
        "reseat_sim_card",
        "reset_apn_settings",
        "run_speed_test",
        "set_apn_settings",
        "set_network_mode_preference",
        "toggle_airplane_mode",
        "toggle_data",
        "toggle_data_saver_mode",
        "toggle_roaming",
        "toggle_wifi",
        "toggle_wifi_calling",
    ),
    "banking_knowledge": (
        "apply_for_credit_card",
        "call_discoverable_user_tool",
        "deposit_check_3847",
        "get_card_last_4_digits",
        "get_referral_link",
        "list_discoverable_user_tools",
        "request_human_agent_transfer",
        "submit_cash_back_dispute_0589",
        "submit_referral",
        "submit_transaction",
    ),
    "mock": (
        "check_notifications",
        "dismiss_notification",
    ),
}
"""Tools of the simulated user, by domain; a domain without any is left out."""


def writes_of(domain: str) -> frozenset[str] | None:
    """Return the tools that write, None for a domain that is not the benchmark's own."""
    base = _base(domain)
    return frozenset(WRITES[base]) if base in WRITES else None


def users_of(domain: str) -> frozenset[str]:
    """Return the tools of the simulated user, none for a domain that is not the benchmark's own."""
    return frozenset(USER_TOOLS.get(_base(domain), ()))


def _base(domain: str) -> str:
    return domain if domain in WRITES else domain.partition("-")[0]  # telecom-workflow
