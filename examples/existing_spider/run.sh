# A spider that is there already, with the add-on and without.
set -e

# Without: the line in library/settings.py is switched off for this once.
scrapy crawl modules -s 'ADDONS={}' -s CLOSESPIDER_PAGECOUNT=300 -O without.jsonl -L ERROR

# With: 300 pages of the same spider. The folder keeps the crawl; the same command goes on with it.
scrapy crawl modules -s JOBDIR=jobs/modules -s CLOSESPIDER_PAGECOUNT=300 -O with.jsonl -L ERROR

echo "different titles without the add-on, and with it:"
for items in without.jsonl with.jsonl; do
    python -c "import json, sys; print(len({json.loads(line)['title'].casefold() for line in sys.stdin}))" <$items
done
scrapy replica status jobs/modules --hosts 4
