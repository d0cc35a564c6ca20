"""What a person orders about claims: hosts that are copies or are none, rules that act or do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapy_replica.claim import Why
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.orders import Orders
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawldb.orders import ALLOW, BLOCK, DIFFERENT, DISABLE_RULE, RULE
from scrapy_replica.urls.rule import Rule


class ByHand:
    """Carries out orders about claims."""

    def __init__(
        self, replicas: Replicas, rules: CrawlRules, scope: CrawlScope, claims: Claims, orders: Orders
    ) -> None:
        self._replicas, self._rules, self._scope, self._claims = replicas, rules, scope, claims
        orders.add(BLOCK, self._block, host=str, canonical=str)
        orders.add(ALLOW, self._allow, host=str)
        orders.add(DIFFERENT, self._keep_apart, host=str, other=str)
        orders.add(RULE, self._impose, rule=dict)
        orders.add(DISABLE_RULE, self._disable, id=int)

    def _block(self, what: Mapping[str, Any]) -> None:
        prefixes = what.get("copy_prefix", ""), what.get("canonical_prefix", "")
        self._claims.lift_mirrors(self._replicas.block(what["host"], what["canonical"], *prefixes))
        self._scope.open_to(what["canonical"])  # which is to bring what the other has

    def _allow(self, what: Mapping[str, Any]) -> None:
        self._claims.lift_mirrors(self._replicas.allow(what["host"]))

    def _keep_apart(self, what: Mapping[str, Any]) -> None:
        self._claims.lift_mirrors(self._replicas.keep_apart(what["host"], what["other"]))

    def _impose(self, what: Mapping[str, Any]) -> str:
        return f"rule {self._rules.impose(Rule.from_dict(what['rule']))}"

    def _disable(self, what: Mapping[str, Any]) -> None:
        self._claims.restore_after_rule(self._rules.disable(what["id"]), Why.ENDED)
