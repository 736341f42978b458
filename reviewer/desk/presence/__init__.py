"""Who is at a workspace now."""
