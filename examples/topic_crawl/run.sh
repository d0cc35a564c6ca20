# A crawl for a topic, without a project: eight pages on networking say what is wanted.
set -e
. ../fast.sh

cat >seeds.txt <<END
http://docs.pydoc.example/
http://packages.pydoc.example/
http://topics.pydoc.example/
END
scrapy replica crawl seeds.txt --topic "${TOPIC:-/tmp/networking}" --job job -o pages.jsonl --max-pages 150 $fast

# How it went: pages, harvest, what was saved and what that cost.
scrapy replica status job --hosts 3

# Why a page was fetched when it was: the words that spoke for it, and what its score was made of.
scrapy replica explain docs.pydoc.example/pages/socket.html --job job

# A table of all pages with their relevance, for a spreadsheet or pandas.
scrapy replica export job pages --out pages.csv
head -n 3 pages.csv
