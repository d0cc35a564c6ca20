# Copies of hosts: those that the crawl finds, and those that you know.
set -e
. ../fast.sh

cat >seeds.txt <<END
http://docs.pydoc.example/
http://mirror.library.example/
http://archive.other.example/python/docs/
END
scrapy replica crawl seeds.txt --job job --max-pages 150 $fast

# What was found, with the evidence; and as a file for another crawler.
scrapy replica hosts --job job
scrapy replica hosts --job job --export nutch >host-urlnormalizer.txt

# You know better: these two are one site, and that one is fetched whatever it resembles.
scrapy replica steer block www.docs.pydoc.example --as docs.pydoc.example --job job
scrapy replica steer allow mirror.library.example --job job

# The crawl obeys when it goes on; one that runs obeys within a second.
scrapy replica crawl seeds.txt --job job --max-pages 100 $fast
scrapy replica explain mirror.library.example --job job
scrapy replica status job --hosts 4
