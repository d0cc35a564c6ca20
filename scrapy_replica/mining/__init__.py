"""The judgement of a crawl over a finished collection: hosts that are one, URLs that are one page."""
