"""Seeded mutation of bytes."""

from __future__ import annotations

from random import Random

MOST_BYTES = 60_000
MOST_REPEATS = 3_000
COMMON = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\n",
    b" ",
    b"%00",
    b"%",
    b"-1",
    b"0",
    b"9" * 400,
    b"\xed\xa0\x80",
]


def damaged(random: Random, seeds: list[bytes], tokens: list[bytes]) -> bytes:
    """Return one of *seeds* with some bytes overwritten, all others where they were; seldom it is cut off."""
    data = bytearray(random.choice(seeds))
    for _ in range(random.choice((1, 1, 2, 8, 64))):
        start = random.randrange(len(data))
        put = random.choice([*tokens, random.randbytes(random.choice((1, 4, 32)))])
        if random.random() < 0.5:
            put = bytes([data[start] ^ 1 << random.randrange(8)])
        data[start : start + len(put)] = put[: len(data) - start]
    return bytes(data[: random.randrange(len(data))] if random.random() < 0.05 else data)


def mutated(random: Random, seeds: list[bytes], tokens: list[bytes]) -> bytes:
    """Return one of *seeds*, changed in 1 to 8 places; *tokens* are what means something in this format."""
    data = bytearray(random.choice(seeds))
    for _ in range(random.choice((1, 1, 2, 4, 8))):
        _change(random, data, seeds, tokens)
    if random.random() < 0.02:
        encoding = random.choice(("utf-16", "utf-32", "cp037", "utf-7"))
        return bytes(data).decode("latin-1").encode(encoding)[:MOST_BYTES]
    return bytes(data[:MOST_BYTES])


def _change(random: Random, data: bytearray, seeds: list[bytes], tokens: list[bytes]) -> None:
    start = random.randrange(len(data) + 1)
    end = min(len(data), start + random.choice((0, 1, 2, 8, 64, 1024)))
    kind = random.randrange(9)
    if kind == 0 and start < len(data):
        data[start] ^= 1 << random.randrange(8)
    elif kind == 1 and start < len(data):
        data[start] = random.randrange(256)
    elif kind == 2:
        del data[start:end]
    elif kind == 3:
        data[start:start] = data[start:end]
    elif kind == 4:
        data[start:end] = random.choice(tokens + COMMON)
    elif kind == 5:
        other = random.choice(seeds)
        place = random.randrange(len(other) + 1)
        data[start:end] = other[place : place + random.choice((8, 64, 1024))]
    elif kind == 6:
        data[start:start] = random.choice([*tokens, *COMMON, bytes(data[start:end])]) * random.randrange(MOST_REPEATS)
    elif kind == 7:
        del data[start:]
    else:
        data[start:start] = random.randbytes(random.choice((1, 4, 32)))
