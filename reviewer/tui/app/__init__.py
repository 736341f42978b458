"""The Textual application: places, the watch on the store, jobs that outlive a screen, the tour."""
