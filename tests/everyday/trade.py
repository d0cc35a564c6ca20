"""Sites that sell or announce: a shop in layers, vacancies, a gallery."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from shapes.building import drawn
from web import redirect

from everyday.building import SECTION, Link, article, members, page, related, sections, text, title
from everyday.site import Answer, Place, Site

COLOURS, MATERIALS = ("red", "green", "blue"), ("wool", "linen")


def with_args(path: str, **args: object) -> str:
    """Return *path* with those of the arguments that have a value."""
    told = {name: value for name, value in args.items() if value not in {"", None}}
    return f"{path}?{urlencode(told)}" if told else path


def slug(*key: object) -> str:
    return "-".join(title(*key).lower().split())


def layered(n: int) -> Answer:
    """*n* products below their category and without, in layers, orders and lengths; lists of wishes, comparisons."""
    menu = [(f"/category-{one}.html", title("layer", one)) for one in sections(n)]

    def products(found: Any, folder: str = "") -> list[Link]:
        return [(f"{folder}/{slug('ware', one)}-{one}.html", title("ware", one)) for one in found]

    def acts(number: int, here: str) -> list[Link]:
        back = quote(here, safe="")
        return [
            (f"/wishlist/index/add/product/{number}/", "To the list of wishes"),
            (f"/catalog/product_compare/add/product/{number}/uenc/{back}/", "Compare"),
        ]

    def category(place: Place) -> Any:
        number, args = place.number, place.args
        if number not in sections(n):
            return None
        colour, material, order = (args.get(name, "") for name in ("color", "material", "product_list_order"))
        length, part = int(args.get("product_list_limit", 9)), int(args.get("p", 1)) - 1
        found = [one for one in members(number, n) if not colour or COLOURS[one % 3] == colour]
        found = [one for one in found if not material or MATERIALS[one % 2] == material]
        found.sort(key=lambda one: drawn("price", one).random() if order == "price" else one)
        shown = found[length * part : length * (part + 1)]
        if not shown and part:
            return None
        told = {
            "color": colour,
            "material": material,
            "product_list_order": order,
            "product_list_limit": args.get("product_list_limit"),
        }

        def url(**changed: object) -> str:
            return with_args(place.path, **{**told, **changed})

        links = products(shown, f"/category-{number}")
        links += [link for one in shown for link in acts(one, place.path)]
        links += [(url(color=one), one) for one in COLOURS] + [(url(material=one), one) for one in MATERIALS]
        links += [(url(product_list_order=one), f"by {one}") for one in ("position", "price")]
        links += [(url(product_list_limit=one), str(one)) for one in (9, 36)]
        links += [(url(p=part + 2), "Next")] if length * (part + 1) < len(found) else []
        is_usual = order in {"", "position"} and length == 9 and not (colour and material)
        key = f"category {number} {colour}{material} {part}" if is_usual else ""
        return page(key, f"{title('layer', number)} {colour}{material}", "", links, menu=menu)

    def answer(place: Place) -> Any:
        path = place.path
        if path == "/":
            return page("home", "The Market", article("market"), products(range(0, n, 7)), menu=menu)
        if path.startswith("/wishlist/"):
            return redirect("/customer/account/login/")
        if path.startswith("/catalog/product_compare/add/"):
            return redirect("/catalog/product_compare/")
        if path == "/customer/account/login/":
            return page("login", "Customer login", article("login", words=40), menu=menu)
        if path == "/catalog/product_compare/":
            return page("compare", "Compare", article("compare", words=40), menu=menu)
        if path.startswith("/category-") and path.count("/") == 1:
            return category(place)
        number = place.number
        if not 0 <= number < n:
            return None
        if path == f"/review/product/list/id/{number}/":
            return page(
                f"reviews {number}", f"Reviews of {title('ware', number)}", article("reviews", number, words=60)
            )
        folder = f"/category-{number // SECTION}"
        if path not in {form for start in ("", folder) for form, _ in products([number], start)}:
            return None
        own = products([number])[0][0]
        links = [*products(related(number, n)), (f"/review/product/list/id/{number}/", "Reviews"), *acts(number, path)]
        main = article("ware", number) + f"<p>{drawn('price', number).randint(3, 400)}.00 EUR</p>"
        head = f'<link rel="canonical" href="{own}">'
        return page(f"ware {number}", title("ware", number), main, links, menu=menu, head=head)

    return answer


def vacancies(n: int) -> Answer:
    """*n* vacancies in lists of two lengths and orders; links say where they stood, with a number new on each page."""
    menu = [(f"/jobs/in/city-{one}", title("city", one)) for one in range(8)]
    menu += [(f"/jobs/as/trade-{one}", title("trade", one)) for one in range(5)]

    def answer(place: Place) -> Any:
        path, args, number = place.path, place.args, place.number
        seen_in = f"{drawn('seen', path, args.get('page')).getrandbits(64):016x}"

        def job(one: int, where: str) -> Link:
            told = urlencode({"refId": seen_in, "trk": where})
            return f"/job/{one}-{slug('job', one)}?{told}", title("job", one)

        if path == "/":
            links = [*(job(one, "home") for one in range(0, n, 11)), ("/jobs", "All")]
            return page("home", "Work", article("work"), links, menu=menu)
        found = {
            "/jobs": range(n),
            f"/jobs/in/city-{number}": range(number, n, 8),
            f"/jobs/as/trade-{number}": range(number, n, 5),
        }.get(path)
        if found is not None:
            length, part, order = int(args.get("per_page", 10)), int(args.get("page", 1)) - 1, args.get("sort", "")
            ordered = sorted(found, key=lambda one: drawn("pay", one).random() if order == "pay" else one)
            shown = ordered[length * part : length * (part + 1)]
            if not shown:
                return None
            told = {"sort": order, "per_page": args.get("per_page")}
            links = [job(one, "list") for one in shown]
            links += [(with_args(path, **{**told, "sort": one}), f"by {one}") for one in ("date", "pay")]
            links += [(with_args(path, **{**told, "per_page": one}), str(one)) for one in (10, 50)]
            links += [(with_args(path, **told, page=part + 2), "Next")] if length * (part + 1) < len(found) else []
            is_usual = order in {"", "date"} and length == 10
            return page(f"{path} {part}" if is_usual else "", f"Work {path}", "", links, menu=menu)
        if path == "/login":
            return page("login", "Sign in", article("sign in", words=40), menu=menu)
        if not 0 <= number < n:
            return None
        if path == f"/apply/{number}":
            return redirect(with_args("/login", next=f"/apply/{number}"))
        if path == f"/job/{number}":
            return redirect(f"/job/{number}-{slug('job', number)}", 301)
        if place.path != f"/job/{number}-{slug('job', number)}":
            return None
        share = {"utm_source": "share", "utm_medium": "social", "utm_campaign": f"job-{number}"}
        links = [job(one, "similar") for one in related(number, n)]
        links += [(f"/apply/{number}", "Apply"), (f"/job/{number}", "Short link"), (with_args(path, **share), "Share")]
        return page(f"job {number}", title("job", number), article("job", number), links, menu=menu)

    return answer


def gallery(n: int) -> Answer:
    """*n* pictures in albums, by number and by place, among the latest, in three sizes; cards and favourites."""
    menu = [(f"/thumbnails.php?album={one}", title("album", one)) for one in sections(n)]
    menu.append(("/thumbnails.php?album=lastup", "Latest"))

    def answer(place: Place) -> Any:
        args, script = place.args, place.path.strip("/")
        album, part = args.get("album", ""), int(args.get("page", 1)) - 1
        latest = list(range(n - 1, max(-1, n - 40), -1))
        is_album = album.isdigit() and int(album) in sections(n)
        found = latest if album == "lastup" else list(members(int(album), n)) if is_album else []
        if script in {"", "index.php"}:
            return page("home", "Pictures", article("pictures"), menu=menu)
        if script == "thumbnails.php" and found:
            order = args.get("sort", "")
            if order == "name":
                found = sorted(found, key=lambda one: title("picture", one))
            shown = found[12 * part : 12 * (part + 1)]
            links = [(f"/displayimage.php?album={album}&pid={one}", title("picture", one)) for one in shown]
            links += [(f"/thumbnails.php?album={album}&sort={one}", f"by {one}") for one in ("name", "date")]
            links += [(with_args(place.path, album=album, sort=order, page=2), "2")] if len(found) > 12 else []
            key = f"album {album} {part}" if order in {"", "date"} else ""
            return page(key, f"Album {title('album', album)}", "", links, menu=menu)
        number = int(args["pid"]) if "pid" in args else found[int(args["pos"])] if "pos" in args and found else -1
        if not 0 <= number < n:
            return None
        own = number // SECTION
        if script == "addfav.php":
            return redirect(f"/displayimage.php?album={own}&pid={number}")
        if script == "ecard.php":
            return page("", "Send a card", f"<form>{title('picture', number)}</form>", menu=menu)
        if script != "displayimage.php" or (found and number not in found):
            return None
        size = args.get("size", "medium")
        main = f"<p>{text(('picture', number), 50)}</p>"
        head = f'<meta property="og:image" content="/albums/{number}-{size}.jpg">'
        links = [(f"/displayimage.php?pid={number}&size={one}", one) for one in ("small", "large", "full")]
        if found:
            at = found.index(number)
            links += [
                (f"/displayimage.php?album={album}&pos={one}", title("picture", found[one]))
                for one in (at - 1, at + 1)
                if 0 <= one < len(found)
            ]
            links.append((f"/ecard.php?album={album}&pid={number}&pos={at}", "Card"))
        links.append((f"/addfav.php?pid={number}&ref={quote(place.path + '?' + place.query, safe='')}", "Favourite"))
        return page(f"picture {number}", title("picture", number), main, links, menu=menu, head=head)

    return answer


SITES = [
    Site(
        name="shop in layers",
        what="Layers, orders, lengths; products below their category and without; wishes, comparisons.",
        make=layered,
        seeds=("https://market.example/",),
        items=r"/(?!category-\d+\.html)[a-z-]+-\d+\.html|/review/",
        small=40,
        full=160,
    ),
    Site(
        name="vacancies",
        what="A number in each link that is new on each page, orders, lengths, a login for each vacancy.",
        make=vacancies,
        seeds=("https://work.example/",),
        items=r"/job/",
        small=50,
        full=240,
    ),
    Site(
        name="gallery",
        what="Pictures by number and by place in an album, in three sizes; cards, favourites.",
        make=gallery,
        seeds=("https://pictures.example/",),
        items=r"displayimage",
        small=50,
        full=260,
    ),
]
