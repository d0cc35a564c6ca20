"""A crawl as a page for people: figures, words and charts. The page of the report is one file without network.

Needs the extra ``report``. What comes from crawled pages is text wherever it stands, never markup.
"""
