"""The direct archive: a read-only collection on the disk, small and fast to read (Orlandi 2007, chapter 3)."""

from scrapy_replica.lab.archives.batch import Batch
from scrapy_replica.lab.archives.direct.archive import DirectArchive
from scrapy_replica.lab.archives.direct.cut import Cut, opened
from scrapy_replica.lab.archives.direct.writer import Writer

__all__ = ["Batch", "Cut", "DirectArchive", "Writer", "opened"]
