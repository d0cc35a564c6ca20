"""The laboratory: what measures the add-on, what it is held against, and what trains the models that ship.

No crawl imports any of this.
"""
