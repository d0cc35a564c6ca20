# A crawl that comes back: what did not change costs no body.
set -e
. ../fast.sh

scrapy replica crawl http://topics.pydoc.example/ --scope hosts --job job -o first.jsonl $fast
scrapy replica status job --hosts 2

# The same job once more. Pages with an ETag are asked for with it, and answered with 304 while they are as they were.
scrapy replica crawl http://topics.pydoc.example/ --scope hosts --job job --revisit -o second.jsonl $fast
scrapy replica status job --hosts 2
