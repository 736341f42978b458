"""An MCP server as an attempt's world: the child that starts it, our client of its protocol, what
its answers mean, and the world."""
