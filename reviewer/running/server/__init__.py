"""An MCP server as an attempt's world: the child that starts it, the client of its protocol, the
meaning of its answers, and the world."""
