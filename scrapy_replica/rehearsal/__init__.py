"""Crawls from archives, without a network."""
