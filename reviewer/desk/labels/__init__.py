"""Labels that people give: what to label next, saving, the queue, agreement, and label files."""
