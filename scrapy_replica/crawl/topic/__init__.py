"""What is relevant: the model of a crawl, what a person said of pages, and which pages to ask about."""
