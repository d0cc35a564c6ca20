# A crawl is kept as WARC files and crawled again from them, without the web: the same pages for every strategy.
set -e
. ../fast.sh

scrapy replica crawl http://docs.pydoc.example/,http://mirror.library.example/ --job job --warc warcs --max-pages 150 $fast
ls warcs

for options in "--plain" "--strategy breadth-first"; do
    echo "with $options:"
    scrapy replica rehearse warcs/*.warc.gz --seeds http://docs.pydoc.example/ $options --max-pages 100
done
