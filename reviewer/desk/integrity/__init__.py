"""Integrity of the store and its signed files: doctor, trust file, witness, backups."""
