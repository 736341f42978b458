"""Sessions of coding agents found on this machine: chosen, imported, followed."""
