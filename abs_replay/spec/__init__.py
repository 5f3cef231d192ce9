"""ABS documents: what an author wrote, checked, expanded, and resolved for one trace."""
