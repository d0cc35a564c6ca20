# Everything that a crawl knows and decided is in one SQLite file, which you may read while it runs.
set -e
. ../fast.sh

scrapy replica crawl http://docs.pydoc.example/,http://mirror.library.example/ --job job --max-pages 200 $fast
python ask.py job/replica.sqlite
