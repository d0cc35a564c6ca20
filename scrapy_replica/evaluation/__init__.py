"""One module per question, each measuring scrapy-replica beside baselines on labelled data."""
