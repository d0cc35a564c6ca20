"""A web of any size, made from a seed: hosts, pages, links and text by the laws of real collections, with its truth."""
