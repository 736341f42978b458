"""Building the report of a candidate from one reading of the store, and writing it out."""
