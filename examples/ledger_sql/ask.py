"""Ask the database of a crawl: ``python ask.py job/replica.sqlite``. The tables are described in docs/architecture."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

QUESTIONS = {
    "decisions by reason": """
        SELECT reason, action, COUNT(*) AS n FROM decisions GROUP BY reason, action ORDER BY n DESC""",
    "what was left out because of which host": """
        SELECT claim, COUNT(*) AS n FROM suppressed WHERE claim LIKE 'mirror %' GROUP BY claim ORDER BY n DESC""",
    "pages that repeat a page of another host": """
        SELECT copy.url, original.url FROM pages
        JOIN urls AS copy ON copy.id = pages.url JOIN urls AS original ON original.id = pages.twin
        WHERE original.host <> copy.host LIMIT 5""",
    "what waits, best first": """
        SELECT ROUND(score, 3), url FROM urls WHERE state = 0 AND NOT is_demoted ORDER BY score DESC, id LIMIT 5""",
}


def main() -> None:
    # Read-only: a crawl that runs is not disturbed.
    database = sqlite3.connect(f"{Path(sys.argv[1]).resolve().as_uri()}?mode=ro", uri=True)
    for question, query in QUESTIONS.items():
        print(question)
        for row in database.execute(query):
            print("  ", *row)


if __name__ == "__main__":
    main()
