"""Simulated visits of a collection: which strategy finds the topic first."""
