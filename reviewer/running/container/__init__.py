"""A container of docker or podman as an attempt's world: the engine's program, and the world."""
