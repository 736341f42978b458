"""Who is working in a workspace now."""
