"""Forty ways in which people write spiders, each crawled plain and with the add-on in each mode."""
