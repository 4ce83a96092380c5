"""Files with something wrong in them, and specs that ask for odd things."""

from collections.abc import Callable
from random import Random
from typing import Any

ODD_BYTES = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b'"', b",", b";"),
    *(b"\xc3\x28", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\t", b"{", b"[", b"=", b"1e999"),
)


def mutate(random: Random, content: bytes, *, keep: int = 0) -> bytes:
    """Return the content changed in one to three places, none before ``keep``."""
    for _ in range(random.choice((1, 1, 2, 3))):
        head, tail = content[:keep], content[keep:]
        content = head + random.choice(_WAYS)(random, tail)
    return content


def _flip(random: Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(random.randint(1, 8)):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(random: Random, content: bytes) -> bytes:
    start = random.randint(0, len(content))
    stop = random.randint(start, min(len(content), start + 200))
    return content[:start] + content[stop:]


def _end(random: Random, content: bytes) -> bytes:
    return content[: random.randint(0, len(content))]


def _repeat(random: Random, content: bytes) -> bytes:
    start = random.randint(0, len(content))
    stop = random.randint(start, min(len(content), start + 80))
    return content[:stop] + content[start:stop] * random.choice((1, 3)) + content[stop:]


def _insert(random: Random, content: bytes) -> bytes:
    at = random.randint(0, len(content))
    return content[:at] + random.choice(ODD_BYTES) + content[at:]


def _recode(random: Random, content: bytes) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(random.choice(("utf-16", "latin-1", "utf-8-sig")), "replace")


def _line_ends(random: Random, content: bytes) -> bytes:
    return content.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n", b"\x85")))


_WAYS: tuple[Callable[[Random, bytes], bytes], ...] = (
    *(_flip, _flip, _cut, _cut, _end, _repeat, _insert, _insert, _recode, _line_ends),
)

# Specs

_COLUMNS = ("age", "zip", "pet", "illness", "person", "name", "joined", "no such", "")
_ODD_VALUES = (
    *("true", "false", "0", "-1", "1e308", "nan", "inf", "-inf", "9" * 30, "0.5"),
    *('""', '"*"', '"\\u202e"', '"age"', '"100%"', '"-3%"', "[]", "[1, 2]", "{}"),
    *('["age", "age"]', "1979-05-27", "07:32:00", '{ kind = "ranges" }', '"' * 3),
    *('[["age"]]', '{ file = "tree.csv" }', '"tree.csv"', '"/dev/null"', '"../x"'),
)
_KEYS: dict[str, tuple[str, ...]] = {
    "k": ("2", "3", "5", "100"),
    "policy": ('"best"', '"paper"', '"original"'),
    "missing": ('"value"', '"pattern"'),
    "small_patterns": ('"suppress"', '"repair"'),
    "suppress": ('"10%"', "2", '"0.5%"'),
    "suppressed": ('"drop"', '"blank"', '"separate"'),
    "numbers": ('"mean"', '"bounds"', '"struct"', '{ age = "median" }'),
    "categories": ('"set"', '"label"', '{ pet = "set" }'),
    "nice": ("true", "{ age = true }"),
    "identifiers": ('["name"]', '["name", "person"]'),
    "pseudonyms": ('["person"]',),
    "unit": ('"person"',),
    "weight": ('"age"',),
    "accept": ('["illness"]',),
    "uncovered": ('"suppress"', '"own branch"'),
    "inline_below": ("0", "1000"),
    "class_id": ('"class"', '"age"'),
    "shuffle": ("1",),
    "null_values": ('["", "?"]',),
    "weights": ("{ age = 2 }",),
    "exclude": ('["age"]',),
    "thresholds": ("{ nmi = 0.5 }",),
    "hierarchies": ('{ pet = "tree.csv" }', '{ zip = { kind = "prefix" } }'),
    "best": ('{ effort = "strong" }', "{ beta = 1 }", '{ equity = "pet" }'),
    "paper": ('{ cut_points = ["bin_edges"] }',),
    "original": ('{ variant = "fair" }',),
    "suppress_multiplier": ("0.5", "1.5"),
}
_MODELS = (
    '{ name = "k-anonymity", k = 2 }',
    '{ name = "distinct-l-diversity", l = 2, sensitive = "illness" }',
    '{ name = "t-closeness", t = 0.5, sensitive = "illness" }',
    '{ name = "alpha-k-anonymity", alpha = 0.8, k = 2, sensitive = "illness" }',
    '{ name = "k-map", k = 2, population = "table.csv" }',
    '{ name = "delta-presence", low = 0, high = 1, population = "nowhere.csv" }',
    '{ name = "average-risk", risk = 0.5 }',
    '{ name = "no such model" }',
    '{ name = "nowhere.py:Model" }',
    '{ name = "t-closeness", t = -1, sensitive = "illness", extra = 1 }',
    '{ name = "entropy-l-diversity", l = "two", sensitive = "no such" }',
)


def draw_spec(random: Random) -> str:
    """Return a spec as TOML; most are nearly right."""
    names = random.sample(_COLUMNS[:3], random.randint(1, 3))
    if random.random() < 0.1:
        names.append(random.choice(_COLUMNS))
    lines = [f"quasi_identifiers = {_quoted(names)}"]
    chosen = random.sample(sorted(_KEYS), random.choice((0, 1, 2, 3, 6)))
    for key in dict.fromkeys(("k", *chosen)):
        odd = random.random() < 0.15
        lines.append(f"{key} = {random.choice(_ODD_VALUES if odd else _KEYS[key])}")
    if random.random() < 0.4:
        some = ", ".join(random.sample(_MODELS, random.randint(1, 3)))
        lines.append(f"models = [{some}]")
    if random.random() < 0.1:
        lines.append(random.choice(("nonsense = 1", "k = 3", "[", "ключ = 1", "=")))
    random.shuffle(lines)
    return "\n".join(sorted(lines, key=lambda line: line.startswith("[")))


def _quoted(names: list[Any]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
