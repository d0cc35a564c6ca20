"""Collections of captured pages, read again and again."""
