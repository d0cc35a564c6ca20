"""Models of relevance, measured."""
