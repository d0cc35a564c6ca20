"""Webs that somebody made, or let grow, so that a crawler loses pages: each is crawled with the add-on and without."""
