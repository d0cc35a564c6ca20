"""How the add-on speaks: text that was crawled, numbers and tables, sentences."""
