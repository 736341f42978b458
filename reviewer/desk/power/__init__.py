"""How often the policy of a suite is wrong."""
