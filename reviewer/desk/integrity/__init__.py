"""Whether the store is whole and its signatures hold: doctor, trust file, witness, backups."""
