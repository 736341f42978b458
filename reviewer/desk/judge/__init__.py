"""The model judge: what it was asked, what it answered, how well it agrees with people."""
