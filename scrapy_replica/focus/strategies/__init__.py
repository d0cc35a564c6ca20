"""One visiting strategy a module."""
