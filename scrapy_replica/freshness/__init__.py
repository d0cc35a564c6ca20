"""How often pages change, and what servers say about it."""
