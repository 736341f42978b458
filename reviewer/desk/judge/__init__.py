"""The model judge: its questions, its answers, and its agreement with people."""
