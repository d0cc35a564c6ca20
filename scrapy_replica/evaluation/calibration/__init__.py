"""The picture of document 004: simhash held against the legacy fingerprint over millions of page pairs."""
