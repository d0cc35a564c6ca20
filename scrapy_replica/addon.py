"""The add-on: one line in ``ADDONS`` sets everything up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

from scrapy_replica.components.downloadermiddleware import ReplicaDownloaderMiddleware
from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.fingerprinter import ReplicaFingerprinter
from scrapy_replica.components.scheduler import ReplicaScheduler
from scrapy_replica.components.spidermiddleware import ReplicaSpiderMiddleware
from scrapy_replica.config import Config

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

ADDON_PRIORITY = SETTINGS_PRIORITIES["addon"]

GATE_ORDER = 60
"""Before robots.txt (100), so that a URL that is not fetched asks for none; after the off-site filter (50)."""

OBSERVER_ORDER = 10
"""Nearest to the engine: it sees every response, error pages too, and requests as the other middlewares left them."""


class Addon:
    """Put it into ``ADDONS``: ``{"scrapy_replica.Addon": 500}``.

    Every setting is set at the priority of add-ons, so whatever the user set stays. A fingerprinter that was set
    before, by the user or by another add-on, is wrapped; another scheduler stays in use, and then the add-on decides
    and demotes through Scrapy's own hooks, without its frontier.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        config = Config.from_settings(settings)
        if not config.enabled:
            return
        previous = settings["REQUEST_FINGERPRINTER_CLASS"]
        if load_object(previous) is not ReplicaFingerprinter:
            settings.set("REPLICA_FALLBACK_REQUEST_FINGERPRINTER_CLASS", previous, "addon")
            priority = settings.getpriority("REQUEST_FINGERPRINTER_CLASS") or 0
            settings.set("REQUEST_FINGERPRINTER_CLASS", ReplicaFingerprinter, max(priority, ADDON_PRIORITY))
        if (settings.getpriority("SCHEDULER") or 0) < ADDON_PRIORITY:
            settings.set("SCHEDULER", ReplicaScheduler, "addon")
        settings.setdefault_in_component_priority_dict("EXTENSIONS", ReplicaExtension, 0)
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", ReplicaDownloaderMiddleware, GATE_ORDER
        )
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", ReplicaSpiderMiddleware, OBSERVER_ORDER)
