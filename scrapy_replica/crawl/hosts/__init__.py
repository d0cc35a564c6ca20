"""What the crawl knows of hosts: replicas, and the samples that test verdicts."""
