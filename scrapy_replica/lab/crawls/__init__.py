"""Whole crawls and passes over a site, measured."""
