"""Broken input of every kind that the add-on reads: nothing raises, nothing takes long."""
