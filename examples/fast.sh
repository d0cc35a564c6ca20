# Settings for a web of your own: no delay, eight requests to a host at once.
fast="-s DOWNLOAD_DELAY=0 -s CONCURRENT_REQUESTS_PER_DOMAIN=8"
