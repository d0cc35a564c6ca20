"""What the crawl knows of hosts: replicas, both schemes of one host, names that pages give themselves."""
