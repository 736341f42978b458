"""Sessions of coding agents found on this machine: chosen, taken in, followed."""
