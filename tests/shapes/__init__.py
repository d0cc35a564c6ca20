"""Ordinary sites on which counting by text loses items, crawled with the add-on and without."""
