"""The tables of the crawl database."""

from __future__ import annotations

from scrapy_replica.crawldb.contract import State

VERSION = 24
"""Number of this layout; a database of another number is refused."""

KEYS = "host12-sha1"
"""Name of what URLs are keyed by; a database keyed otherwise is refused."""

APPLICATION_ID = 0x5245504C  # "REPL"

STATES = (State.WAITING, State.LEASED, State.DONE, State.DROPPED)
"""The states of a URL, by the number that stands for each in the table."""

WAITING, LEASED, DONE, DROPPED = range(4)

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE hosts (                  -- a row for each host and download slot
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,               -- with the port where it is not the scheme's own
    slot TEXT NOT NULL,               -- download slot: the name without port, or what the user chose
    ip TEXT,
    UNIQUE (name, slot)
);
CREATE TABLE urls (
    id INTEGER PRIMARY KEY,
    host INTEGER NOT NULL,
    url TEXT NOT NULL,
    key INTEGER UNIQUE,               -- 64 bits of the request fingerprint; NULL for dont_filter requests
    state INTEGER NOT NULL,           -- 0 waiting, 1 being fetched, 2 done, 3 dropped
    is_demoted INTEGER NOT NULL,      -- waits behind everything that is not
    priority INTEGER NOT NULL,        -- the user's
    score REAL NOT NULL,              -- the strategy's; infinite where the URL is to decide something
    depth INTEGER NOT NULL,
    parent INTEGER,                   -- id of the page that it was found on
    payload BLOB,                     -- the request where it is more than a plain GET
    permission INTEGER NOT NULL           -- 0 to 3: what a decision may do to it, ever less
);
CREATE INDEX waiting ON urls (host, is_demoted, priority DESC, score DESC, id, state) WHERE state = 0;
CREATE INDEX dropped ON urls (host, state) WHERE state = 3;
CREATE INDEX leased ON urls (id) WHERE state = 1;
CREATE INDEX with_payload ON urls (id) WHERE state = 0 AND payload IS NOT NULL;
CREATE TABLE suppressed (             -- URLs that were dropped, rewritten or demoted
    url INTEGER NOT NULL,             -- urls.id
    claim TEXT NOT NULL,              -- name of the claim that did so
    representative INTEGER,           -- urls.key of the URL that is fetched in its place
    PRIMARY KEY (url, claim)
) WITHOUT ROWID;
CREATE INDEX suppressed_by ON suppressed (claim);
CREATE INDEX suppressed_for ON suppressed (representative, claim) WHERE representative IS NOT NULL;
CREATE TABLE claims (                 -- how claims stand that are neither verdicts nor rules; others are in force
    claim TEXT PRIMARY KEY,
    standing TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE work (                   -- begun and not ended
    id INTEGER PRIMARY KEY,
    work TEXT NOT NULL UNIQUE
);
CREATE TABLE pages (
    url INTEGER PRIMARY KEY,          -- urls.id
    host INTEGER NOT NULL,            -- hosts.id
    status INTEGER,                   -- HTTP status; NULL where no response came
    error TEXT,                       -- why not
    fetched_at REAL NOT NULL,         -- seconds since the epoch
    signature BLOB,
    simhash INTEGER,                  -- two's complement of the unsigned 64-bit simhash
    size INTEGER,                     -- bytes of the body as they came over the network
    words INTEGER,
    title TEXT,
    relevance REAL,
    mark BLOB,                        -- traces by which pages of two hosts are compared
    neighbours TEXT,                  -- JSON: hosts that the page speaks of, and URLs that led to it
    novelty TEXT,                     -- novel, exact-duplicate, near-duplicate or unknown
    twin INTEGER,                     -- urls.id of the page that it repeats
    is_news INTEGER,                  -- worth a fetch for the budgets; NULL: its text is too short to tell
    content INTEGER,                  -- hash of title, language version and words, in whatever order
    cluster INTEGER,                  -- content of the first page on the host that is the same page
    aliases TEXT,                     -- JSON: other URLs of the page on its host, by redirect or rel=canonical
    leads BLOB,                       -- 8 bytes for each place that it was the first on its host to lead to
    beside INTEGER,                   -- hash of what it says beside its main text; NULL: nothing
    statements TEXT,                  -- JSON: [source, value] of what its site says may be done with it
    leads_to TEXT                     -- host and path that it redirects to
);
CREATE TABLE items (                  -- what callbacks made of pages
    url INTEGER PRIMARY KEY,          -- urls.id
    sketch BLOB NOT NULL              -- the 64 least hashes of its items, 8 bytes each
);
CREATE TABLE brought (                -- what requests brought that callbacks made up of pages
    url INTEGER PRIMARY KEY,          -- urls.id of the page
    sketch BLOB NOT NULL              -- as in items
);
CREATE TABLE seen_items (             -- the first 100,000 items of the crawl
    hash INTEGER PRIMARY KEY
);
CREATE TABLE unrequested (            -- URLs that are fetched for the add-on's sake, and that nothing asked for
    url INTEGER PRIMARY KEY,          -- urls.id
    is_beyond INTEGER NOT NULL        -- whether it is one that only pages of these lead to instead
);
CREATE TABLE names (                  -- other URLs that pages say are theirs
    key INTEGER PRIMARY KEY,          -- urls.key of that URL, which may not be known
    url INTEGER NOT NULL,             -- urls.id of the page; 0 where several say so
    callback TEXT NOT NULL            -- name of the callback that got the page; empty for the spider's parse
);
CREATE TABLE checks (                 -- URLs that waited and were drawn at random
    id INTEGER PRIMARY KEY,
    url INTEGER NOT NULL,             -- urls.id
    end INTEGER NOT NULL              -- number of the time that nothing new came any more; 0: before it
);
CREATE INDEX ends ON checks (end, id);
CREATE TABLE item_filter (            -- a Bloom filter of those after them
    block INTEGER PRIMARY KEY,
    bits BLOB NOT NULL
);
CREATE INDEX signatures ON pages (signature, fetched_at) WHERE signature IS NOT NULL;
CREATE INDEX simhashes ON pages (simhash, fetched_at) WHERE simhash IS NOT NULL;
CREATE INDEX texts_of_host ON pages (simhash, host) WHERE simhash IS NOT NULL;
CREATE INDEX pages_of_host ON pages (host, fetched_at, status, novelty, relevance, size);
CREATE TABLE revisits (               -- what asking for a URL showed, and for it again
    url INTEGER PRIMARY KEY,          -- urls.id
    host INTEGER NOT NULL,            -- hosts.id
    payload BLOB,                     -- the request where it is more than a plain GET
    etag TEXT,                        -- what it can be asked for with if it changed
    last_modified TEXT,
    body INTEGER,                     -- hash of the body last sent
    content BLOB,                     -- of what counts of it: main text, or where it redirects to
    size INTEGER NOT NULL,            -- bytes of that body, as sent
    visits INTEGER NOT NULL,          -- that brought it, or word that it is as it was
    changes INTEGER NOT NULL,         -- visits that found it changed
    first_at REAL NOT NULL,           -- seconds since the epoch
    seen_at REAL NOT NULL,            -- its body was sent last
    checked_at REAL NOT NULL,         -- it was visited last
    believed INTEGER NOT NULL,        -- visits since the last body, all answered by 304
    unchanged_s REAL NOT NULL,        -- sum of the times between visits that found no change
    changed BLOB NOT NULL,            -- times between visits that found one, the last 16, 4 bytes each
    misses INTEGER NOT NULL,          -- visits in a row that brought nothing
    absences INTEGER NOT NULL,        -- those of them that said that there is no page: 404 or 410
    gone_at REAL,                     -- since when there is no page
    callback_fingerprint INTEGER,     -- hash of spider and scope with which a callback was through with that body
    kept BLOB,                        -- captures.digest of that body
    page INTEGER,                     -- hash of what its last page said and of its URL without session ids
    items BLOB NOT NULL               -- hashes of the items that the callback gave of that page, 8 bytes each
);
CREATE INDEX visits_of_page ON revisits (page) WHERE page IS NOT NULL;
CREATE INDEX believed ON revisits (host, checked_at, believed) WHERE believed > 0;
CREATE TABLE doubted (                -- hosts of which a page changed and its ETag and Last-Modified did not
    host TEXT PRIMARY KEY
) WITHOUT ROWID;
CREATE TABLE visits (                 -- what the strategy was shown since its checkpoint, in this order
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL,
    relevance REAL,                   -- NULL: more links of the page before, or none
    body BLOB NOT NULL                -- zlib of JSON: terms, their counts, URL and text of each link in turn;
                                      -- empty where the fetch brought nothing new
);
CREATE TABLE checkpoints (            -- the state of the strategy in pieces; meta tells which of them are one
    id INTEGER PRIMARY KEY,
    piece BLOB NOT NULL               -- zlib of NPZ
);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    url INTEGER NOT NULL,             -- urls.id
    action TEXT NOT NULL,
    wanted TEXT NOT NULL,
    reason TEXT NOT NULL,
    probability REAL NOT NULL,
    evidence TEXT NOT NULL,           -- JSON
    is_sampled INTEGER NOT NULL
);
CREATE INDEX decided ON decisions (url, id, action, reason);
CREATE INDEX decided_because ON decisions (reason, action, url);
CREATE TABLE samples (                -- URLs that a claim would suppress and that are fetched all the same
    url INTEGER NOT NULL,             -- urls.id
    claim TEXT NOT NULL,              -- as in suppressed
    -- What makes the key comes first: the check of SQLite 3.40 takes a table for damaged where it does not.
    pass INTEGER NOT NULL DEFAULT 0,  -- number of the pass that began a new test; 0: it counts for the present one
    reason TEXT,                      -- set for one of the claims of a URL, by which samples are counted
    representative INTEGER,           -- urls.key of the URL that it is held against
    stratum TEXT NOT NULL,            -- part of the site that it lies in
    weight REAL NOT NULL,             -- URLs that it stands for: one over the probability that it was drawn with
    outcome TEXT,                     -- same, other, unknown, failed or unread; NULL: not known yet
    PRIMARY KEY (url, claim, pass)
) WITHOUT ROWID;
CREATE INDEX samples_of ON samples (claim, pass);
CREATE INDEX awaiting ON samples (representative) WHERE outcome IS NULL AND representative IS NOT NULL;
CREATE TABLE verdicts (
    id INTEGER PRIMARY KEY,
    copy TEXT NOT NULL,
    canonical TEXT NOT NULL,
    copy_prefix TEXT NOT NULL,        -- path below which the site lies on the copy, and on the canonical
    canonical_prefix TEXT NOT NULL,
    score REAL NOT NULL,
    n_aligned INTEGER NOT NULL,       -- comparable pages
    evidence TEXT NOT NULL,           -- JSON: feature -> value
    at REAL NOT NULL,
    expires_at REAL,                  -- NULL for a block by hand
    standing TEXT NOT NULL DEFAULT 'in force' -- or suspended by its age, refuted by samples, disabled by a person
);
CREATE INDEX verdicts_of ON verdicts (copy);
CREATE INDEX holding ON verdicts (expires_at) WHERE standing = 'in force';
CREATE INDEX refuted ON verdicts (id) WHERE standing = 'refuted';
CREATE TABLE uncertain_pairs (        -- hosts that may be one site, for a person to decide
    pair TEXT PRIMARY KEY,            -- both hosts, in their order
    copy TEXT NOT NULL,               -- as in verdicts, which it would be one of
    canonical TEXT NOT NULL,
    copy_prefix TEXT NOT NULL,
    canonical_prefix TEXT NOT NULL,
    score REAL NOT NULL,
    n_aligned INTEGER NOT NULL,
    evidence TEXT NOT NULL,           -- JSON: feature -> value
    wanted REAL NOT NULL,             -- score that a verdict takes
    doubt TEXT NOT NULL,              -- what is missing: score, unshared, untried, items or conflict
    pages TEXT NOT NULL               -- JSON: URLs, titles and beginnings of text at some equal places
) WITHOUT ROWID;
CREATE TABLE orders (                 -- what a person told the crawl to do, and what became of it
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,                 -- seconds since the epoch
    kind TEXT NOT NULL,               -- block, allow, rule, disable-rule and so on
    what TEXT NOT NULL,               -- JSON: an object
    done_at REAL,                     -- NULL: the crawl has not seen it yet
    answer TEXT                       -- what the crawl says to it; "not done: " and why it could not be carried out
);
CREATE INDEX open_orders ON orders (id) WHERE done_at IS NULL;
CREATE INDEX orders_of_kind ON orders (kind, id);
CREATE TABLE rules (
    id INTEGER PRIMARY KEY,
    rule TEXT NOT NULL,               -- JSON
    host TEXT NOT NULL,               -- host (and port) that it is for; empty or .domain for many
    state TEXT NOT NULL,              -- candidate, in force, refuted or disabled
    is_manual INTEGER NOT NULL,       -- a person gave it
    at REAL NOT NULL,
    right_pairs INTEGER NOT NULL DEFAULT 0,
    wrong_pairs INTEGER NOT NULL DEFAULT 0,
    images INTEGER NOT NULL DEFAULT 0, -- images that were the page of their URL, less twice those that do not exist
    proofs TEXT NOT NULL DEFAULT '[]' -- JSON: [image, URLs fetched on purpose for it] of each pair that was to prove it
);
CREATE INDEX rules_of_host ON rules (host);
CREATE INDEX rules_in_force ON rules (id) WHERE state = 'in force';
CREATE TABLE forms (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,               -- that the form is sent to
    action TEXT NOT NULL,             -- URL
    method TEXT NOT NULL,             -- get or post
    fields TEXT NOT NULL,             -- JSON: name, label and values of each
    is_login INTEGER NOT NULL         -- it asks for a password; nothing that is sent to it is kept
);
CREATE INDEX forms_of_host ON forms (host);
CREATE TABLE query_terms (            -- the domain query of a host: terms of labels and of what was sent to its forms
    host TEXT NOT NULL,
    term TEXT NOT NULL,
    PRIMARY KEY (host, term)
) WITHOUT ROWID;
CREATE TABLE seed_hosts (             -- on which the crawl begins: hosts of the seeds and of what they redirect to
    host TEXT PRIMARY KEY
) WITHOUT ROWID;
CREATE TABLE texts (                  -- of pages that a person may be asked about, at most 1,000
    url INTEGER PRIMARY KEY,          -- urls.id
    worth REAL NOT NULL,              -- how unsure the relevance model is of it, 0..1; the least go first
    excerpt TEXT NOT NULL,            -- beginning of the main text
    terms BLOB NOT NULL               -- zlib of JSON: stem -> count
);
CREATE TABLE marks (                  -- what a person said of pages: on the topic or not
    url INTEGER PRIMARY KEY,          -- urls.id
    is_relevant INTEGER NOT NULL,
    terms BLOB NOT NULL               -- as in texts
);
CREATE TABLE blocks (
    host TEXT PRIMARY KEY,
    state BLOB NOT NULL               -- hashes of its blocks of main text, and how many pages were counted
) WITHOUT ROWID;
CREATE TABLE captures (               -- payloads that are kept in WARC files
    digest BLOB PRIMARY KEY,          -- SHA-1
    url TEXT NOT NULL,
    date TEXT NOT NULL,               -- WARC-Date of the record
    file TEXT NOT NULL                -- its WARC file
) WITHOUT ROWID;
CREATE INDEX captures_of ON captures (url, date);
"""
