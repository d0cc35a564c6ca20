# ruff: noqa: E501 - data
"""Sound input of each kind, and what means something in it."""

from __future__ import annotations

import gzip

from web import page, record, text

HEADERS = [
    (
        b"Content-Type: text/html; charset=utf-8\r\nContent-Usage: train-ai=n, search=y\r\nX-Robots-Tag: noai, bot: noindex\r\n"
        b'Link: </l>; rel="license", <http://b.example/>; rel=canonical\r\nETag: W/"abc-gzip"\r\n'
    ),
    (
        b"Content-Type: text/html\r\nLast-Modified: Mon, 15 Jan 2024 00:00:00 GMT\r\nTDM-Reservation: 1\r\n"
        b"Content-Signal: search=yes, ai-train=no\r\nRetry-After: 120\r\nLocation: /moved?x=1#y\r\n"
    ),
    (
        b"Content-Type: application/xhtml+xml; charset=iso-8859-1\r\nRetry-After: Mon, 15 Jan 2024 00:00:00 GMT\r\n"
        b'Content-Usage: train-ai;a=1;b="\\"x", x=(1 2.5 ?1);q, y=:aGk=:, z=@1659578233, w=%"c%c3%a9"\r\n'
    ),
    b"",
]
HEADER_TOKENS = [
    *(
        b"train-ai=n",
        b"train-ai=y",
        b", ",
        b"=",
        b";",
        b'"',
        b"(",
        b")",
        b"?1",
        b":",
        b"noindex",
        b"unavailable_after: ",
    ),
    *(b"rel=license", b"<", b">", b"W/", b"Content-Usage: ", b"X-Robots-Tag: ", b"Link: ", b"Retry-After: ", b"GMT"),
    *(
        b"charset=utf-16",
        b"charset=klingon",
        b"Content-Type: ",
        b"text/plain",
        b"Location: ",
        b"http://[",
        b"//",
        b"\xff",
    ),
]

HTML = [
    page(["/1", "/2?a=1&b=2", "http://b.example/"], seed=1, title="Title").encode(),
    f"""<!DOCTYPE html><html lang="pt-BR"><head><base href="/base/"><meta charset=utf-8><title>Shop &amp; more</title>
    <meta name=robots content="noai,max-snippet:0"><meta name=description content="What it sells: 12 things">
    <link rel=canonical href="?id=1"><link rel=alternate hreflang=de href=/de><link rel=license href=mit>
    <script type="application/ld+json">{{"@type": "Product", "offers": [{{"price": "12.50", "a": {{"b": [1, null]}}}}]}}</script>
    <script>window.__STATE__ = {{"items": [1, 2, {{"name": "x"}}], "csrf": "abc"}};</script></head><body>
    <nav><a href=/a>A</a> <a href="b#c" rel=nofollow>B</a></nav><h1>Heading</h1><p>{text(2)} 12.50 EUR, in stock</p>
    <table><tr><th>k<td>1,024<tr><td colspan=2>v</table><ul><li>one<li>two <b>bold <i>it</b>alic</i></ul>
    <form action=/search method=post><input name=q type=text><input type=password name=p><select name=s><option value=1>x
    </select><textarea name=t></textarea><button>Go</button></form><pre>code  &lt;b&gt;</pre><time datetime="2024-01-15">
    </time><blockquote>q</blockquote><div itemprop=price content="3.00"></div><footer>(c) 2024</footer></body></html>""".encode(),
    "<html><head><title>日本語</title></head><body><p>日本語の文章です。これは本文であり、長い文が続きます。</p></body></html>".encode(
        "euc-jp"
    ),
    b"<frameset><frame src=/f></frameset><svg><a xlink:href=/s>x</a></svg><math><mi>x</mi></math><![CDATA[ x ]]>",
    b"\xff\xfe" + "<p>wide <a href='/w'>w</a></p>".encode("utf-16-le"),
    b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body><p>x&nbsp;y</p></body></html>",
]
HTML_TOKENS = [
    *(
        b"<div>",
        b"</div>",
        b"<p>",
        b"<a href=/x>",
        b"<a href='//b.example:99999/'>",
        b"<b>",
        b"<table><tr><td>",
        b"<!--",
        b"-->",
    ),
    *(
        b"<script>",
        b"</script>",
        b'{"a":',
        b"[",
        b"]",
        b"}",
        b"<base href='",
        b"<meta charset=utf-16>",
        b"&#x110000;",
        b"&#xd800;",
    ),
    *(
        b"<title>",
        b"<form action='?'>",
        b"<input name=x>",
        b"<option>",
        b"<link rel='license canonical' href=",
        b"&amp;q=",
    ),
    *(
        b"1,000.00 $",
        b"2024-13-45",
        b"12:30:59",
        b"\xe2\x80\xae",
        b"<li>",
        b"<ul>",
        b"<h1>",
        b"<pre>",
        b"<textarea>",
        b"<svg>",
    ),
    *(
        b"http://xn--/",
        b"javascript:",
        b"data:,",
        b"?sid=0123456789abcdef",
        b"/2024/01/",
        b"../",
        b"%zz",
        b"&lt;",
        b"\x1b[",
    ),
]

ROBOTS = [
    b"User-agent: *\nDisallow: /private\nAllow: /\nCrawl-delay: 2\nRequest-rate: 1/5\nSitemap: http://a.example/s.xml\n",
    (
        b"License: https://a.example/l.xml\nUser-agent: OurBot\nUser-agent: Other\nContent-Usage: train-ai=n\n"
        b"Content-Usage: /x/*.pdf$ train-ai=y, search=n\nContent-Signal: ai-train=no # why\nClean-param: sid&sort /forum/\n"
    ),
]
ROBOTS_TOKENS = [
    *(b"User-agent: ", b"*", b"$", b"/", b"Disallow: ", b"Content-Usage: ", b"/a*b*c*", b"Clean-param: ", b"&", b"#"),
    *(
        b"Crawl-delay: ",
        b"Request-rate: 0/0",
        b"Visit-time: 0600-0845",
        b"Sitemap: ",
        b"%C3%A9",
        b"http://[",
        b"1e999",
        b"nan",
    ),
]

SITEMAPS = [
    (
        b'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>'
        b"http://a.example/1</loc><lastmod>2024-01-15T10:00:00+01:00</lastmod><priority>0.5</priority></url><url><loc>/2</loc>"
        b"<lastmod>2024-01</lastmod></url></urlset>"
    ),
    (
        b'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://a.example/s.xml</loc></sitemap>'
        b"</sitemapindex>"
    ),
    gzip.compress(b"<urlset><url><loc>http://a.example/1</loc></url></urlset>", mtime=0),
]
SITEMAP_TOKENS = [
    *(
        b"<url>",
        b"</url>",
        b"<loc>",
        b"<lastmod>",
        b"9999-12-31",
        b"0001-01-01T00:00:00-23:59",
        b"2024-W01",
        b"<!DOCTYPE x [",
    ),
    *(
        b'<!ENTITY a "aaaaaaaaaa">',
        b"&a;",
        b"]>",
        b"<![CDATA[",
        b"xmlns:x='y'",
        b"<x:loc>",
        b"encoding='utf-7'",
        b"\x1f\x8b",
    ),
]

WARC = [
    record("http://a.example/", page(["/1"], seed=1)) + record("http://a.example/1", page(seed=2)),
    gzip.decompress(record("http://a.example/", page(["/1"], seed=1)))
    + gzip.decompress(record("http://b.example/", "<p>x")),
    (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/c\r\nWARC-Date: 2024-01-15T00:00:00Z\r\n"
        b"WARC-IP-Address: 192.0.2.1\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: 106\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<p>ab\r\n3;x=y\r\n</p\r\n0\r\n\r\n"
    ),
    gzip.compress(
        b"WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Target-URI: http://a.example/1\r\nWARC-Date: 2024-01-15T00:00:00Z\r\n"
        b"WARC-Refers-To-Target-URI: http://a.example/\r\nWARC-Refers-To-Date: 2024-01-15T00:00:00Z\r\n"
        b"Content-Type: application/http; msgtype=response\r\nContent-Length: 19\r\n\r\nHTTP/1.1 200 OK\r\n\r\n\r\n\r\n",
        mtime=0,
    ),
]
WARC_TOKENS = [
    *(
        b"WARC/1.0\r\n",
        b"Content-Length: ",
        b"WARC-Type: revisit\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"Transfer-Encoding: chunked\r\n",
    ),
    *(
        b"ffffffff\r\n",
        b"Content-Encoding: gzip\r\n",
        b"Content-Encoding: br\r\n",
        b"WARC-Date: ",
        b"\x1f\x8b\x08",
        b"metadata",
    ),
]

CDX = [
    (
        b" CDX N b a m s k r M S V g\nexample,a)/ 20240115000000 http://a.example/ text/html 200 "
        b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA - - 1043 333 x.warc.gz\n"
    ),
    (
        b'example,a)/1 20240115000000 {"url": "http://a.example/1", "mime": "text/html", "status": "200", "digest": '
        b'"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "length": "1"}\n'
    ),
]
CDX_TOKENS = [
    *(
        b" ",
        b"{",
        b"}",
        b'"url": ',
        b"null",
        b"[[",
        b"20240231",
        b"99999999999999",
        b"\xd9\xa3\xd9\xa3\xd9\xa3\xd9\xa3",
        b"sha1:",
    ),
    *(b" CDX ", b"a", b"b", b"warc/revisit", b"http://[::1", b"!", b"\\ud800", b"1e999", b"A" * 32, b"0" * 31),
]

ORDERS = [
    b'{"kind": "block", "what": {"host": "b.example", "canonical": "a.example"}}',
    b'{"kind": "seeds", "what": {"urls": ["http://a.example/new"]}}',
    b'{"kind": "exclude", "what": {"host": "a.example", "prefix": "/x"}}',
    b'{"kind": "pause", "what": {"host": "a.example"}}',
    b'{"kind": "mark", "what": {"url": "http://a.example/", "is_relevant": true}}',
]
REQUESTS = [
    b"POST /api/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(order), order)
    for order in ORDERS
] + [
    b"GET /?token=TOKEN HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n",
    b"GET /page.js HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\nOrigin: http://x.example\r\n\r\n",
]
REQUEST_TOKENS = [
    *(
        b"GET /",
        b"POST ",
        b"HTTP/1.1\r\n",
        b"Host: ",
        b"Content-Length: ",
        b"Transfer-Encoding: chunked\r\n",
        b"\r\n\r\n",
        b"null",
    ),
    *(
        b"[" * 50,
        b'{"kind": ',
        b'"what": {}',
        b"true",
        b"1e999",
        b'"\\ud800"',
        b"Authorization: Bearer ",
        b"?token=",
        b"%ff",
        b"//",
    ),
    *(
        b"Sec-Fetch-Site: cross-site\r\n",
        b"Expect: 100-continue\r\n",
        b"Upgrade: websocket\r\n",
        b"Origin: null\r\n",
        b"/api/events",
    ),
]
