"""A shop of two paths, recipes, questions, homes."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from shapes.building import drawn
from web import redirect

from everyday.building import SECTION, Link, article, members, page, related, sections, title
from everyday.site import Answer, Place, Site
from everyday.trade import slug, with_args


def two_paths(n: int) -> Answer:
    """*n* products below their category and by number, with where the link stood; both name a third, unlinked URL."""
    menu = [(f"/c/{one}", title("range", one)) for one in sections(n)]

    def answer(place: Place) -> Any:
        path, number = place.path, place.number
        if path == "/":
            links = [(f"/p/{one}?from=home", title("good", one)) for one in range(0, n, 5)]
            return page("home", "The Shop", article("front"), links, menu=menu)
        if path == f"/c/{number}" and number in sections(n):
            links = [(f"/c/{number}/p/{one}.html", title("good", one)) for one in members(number, n)]
            return page(f"range {number}", title("range", number), "", links, menu=menu)
        if not 0 <= number < n or path not in {f"/p/{number}", f"/c/{number // SECTION}/p/{number}.html"}:
            return None
        head = f'<link rel="canonical" href="/p/{number}">'
        links = [(f"/p/{one}?from=related", title("good", one)) for one in related(number, n)]
        links += [(f"/c/{one // SECTION}/p/{one}.html", title("good", one)) for one in related(number + 1, n)]
        links += [(f"/p/{one}?from=also", title("good", one)) for one in related(number + 2, n)]
        return page(f"good {number}", title("good", number), article("good", number), links, menu=menu, head=head)

    return answer


def recipes(n: int) -> Answer:
    """*n* recipes below courses and tags, in portions, for print, saved to a list behind a login; reviews in parts."""
    menu = [(f"/course/{one}/", title("course", one)) for one in sections(n)]
    menu += [(f"/tag/{slug('tag', one)}-{one}/", title("tag", one)) for one in range(6)]

    def url(one: int) -> str:
        return f"/recipe/{one}/{slug('recipe', one)}/"

    def answer(place: Place) -> Any:
        path, args, number = place.path, place.args, place.number
        if path == "/":
            links = [(url(one), title("recipe", one)) for one in range(0, n, 6)]
            return page("home", "Recipes", article("recipes"), links, menu=menu)
        if path == "/account/sign-in":
            return page("login", "Sign in", article("sign in to save", words=40), menu=menu)
        if path == f"/save/{number}":
            return redirect(with_args("/account/sign-in", return_to=url(number)))
        is_course = path == f"/course/{number}/" and number in sections(n)
        if is_course or path.startswith("/tag/"):
            found = [*members(number, n)] if is_course else [*range(number, n, 6)]
            part, order = int(args.get("page", 1)) - 1, args.get("order", "")
            if order == "time":
                found.sort(key=lambda one: drawn("time", one).random())
            shown = found[8 * part : 8 * (part + 1)]
            if not shown:
                return None
            links = [(url(one), title("recipe", one)) for one in shown]
            links += [(f"/save/{one}", "Save") for one in shown]
            links += [(with_args(path, order=one), f"by {one}") for one in ("time", "rating")]
            links += [(with_args(path, order=order, page=part + 2), "More")] if 8 * (part + 1) < len(found) else []
            key = f"{path} {part}" if order in {"", "rating"} else ""
            return page(key, f"Recipes {path}", "", links, menu=menu)
        if not 0 <= (number := int(path.split("/")[2]) if path.count("/") > 2 else number) < n:
            return None
        if path not in {url(number), f"{url(number)}print/"} or args.get("portions", "4") not in {"2", "4", "8"}:
            return None
        portions = args.get("portions", "4")
        main = article("recipe", number) + f"<p>{portions} portions, {drawn('grams', number).randint(50, 900)} g</p>"
        if path.endswith("/print/"):
            return page(f"recipe {number}", title("recipe", number), main)
        links = [(url(one), title("recipe", one)) for one in related(number, n)]
        links += [(f"{path}?portions={one}", f"for {one}") for one in (2, 4, 8)]
        links += [(f"{path}print/", "Print"), (f"/save/{number}", "Save")]
        links.append((f"{path}?utm_source=pin&utm_medium=social", "Pin"))
        key = f"recipe {number}" if portions == "4" else ""
        return page(key, title("recipe", number), main, links, menu=menu)

    return answer


def questions(n: int) -> Answer:
    """*n* questions with or without their title in the URL, each answer shared, in orders; votes ask for a login."""
    menu = [(f"/tags/{slug('topic', one)}", title("topic", one)) for one in range(5)] + [("/questions", "All")]

    def url(one: int) -> str:
        return f"/questions/{one}/{slug('question', one)}"

    def answer(place: Place) -> Any:
        path, args = place.path, place.args
        parts = path.strip("/").split("/")
        if path == "/":
            links = [(url(one), title("question", one)) for one in range(0, n, 7)]
            return page("home", "Questions", article("questions"), links, menu=menu)
        if path == "/users/login":
            return page("login", "Log in", article("log in to vote", words=40), menu=menu)
        if parts[0] == "vote":
            return redirect(with_args("/users/login", returnurl=f"/questions/{parts[-1]}"))
        topics = {slug("topic", one): one for one in range(5)}
        if path == "/questions" or (parts[0] == "tags" and parts[1:] and parts[1] in topics):
            found = [*range(n)] if path == "/questions" else [*range(topics[parts[1]], n, 5)]
            tab, part = args.get("tab", ""), int(args.get("page", 1)) - 1
            if tab == "votes":
                found.sort(key=lambda one: drawn("votes", one).random())
            shown = found[10 * part : 10 * (part + 1)]
            if not shown:
                return None
            links = [(url(one), title("question", one)) for one in shown]
            links += [(with_args(path, tab=one), one) for one in ("newest", "votes")]
            links += [(with_args(path, tab=tab, page=part + 2), "next")] if 10 * (part + 1) < len(found) else []
            return page(f"{path} {part}" if tab in {"", "newest"} else "", f"Questions {path}", "", links, menu=menu)
        if parts[0] == "a" and len(parts) == 3:
            return redirect(f"{url(int(parts[1]) // 10)}/{parts[1]}#{parts[1]}", 302)
        if parts[0] != "questions" or len(parts) < 2 or not parts[1].isdigit() or not 0 <= int(parts[1]) < n:
            return None
        number = int(parts[1])
        if len(parts) == 2:
            return redirect(url(number), 301)
        if parts[2] != slug("question", number):
            return None
        answers = [10 * number + one for one in range(drawn("answers", number).randint(1, 3))]
        main = article("question", number) + "".join(article("answer", one, words=45) for one in answers)
        links: list[Link] = [(f"/a/{one}/{number % 9}", "share") for one in answers]
        links += [(f"/vote/up/{number}", "up"), (f"/vote/down/{number}", "down")]
        links += [(f"{url(number)}?answertab={one}", one) for one in ("oldest", "active")]
        links += [(url(one), title("question", one)) for one in related(number, n)]
        links.append((f"/questions/{related(number, n)[0]}", "Linked"))
        head = f'<link rel="canonical" href="{url(number)}">'
        return page(f"question {number}", title("question", number), main, links, menu=menu, head=head)

    return answer


def homes(n: int) -> Answer:
    """*n* homes in lists by place and price, as map and as list; where to go back to, a gallery, an enquiry."""
    menu = [(f"/for-sale/{slug('town', one)}/", title("town", one)) for one in sections(n)]

    def answer(place: Place) -> Any:
        path, args, number = place.path, place.args, place.number
        towns = {f"/for-sale/{slug('town', one)}/": one for one in sections(n)}
        if path == "/":
            links = [(f"/home/{one}?ref=top", title("home", one)) for one in range(0, n, 8)]
            return page("home", "Homes", article("homes"), links, menu=menu)
        if path in towns:
            view, most, start = args.get("view", ""), args.get("max", ""), int(args.get("start", 0))
            found = [one for one in members(towns[path], n) if not most or drawn("price", one).random() < float(most)]
            shown = found[start : start + 8]
            if not shown:
                return None
            told = {"view": view, "max": most}
            back = quote(with_args(path, **told, start=start or ""), safe="")
            links = [(f"/home/{one}?back={back}", title("home", one)) for one in shown]
            links += [(with_args(path, **{**told, "view": one}), one) for one in ("map", "list")]
            links += [(with_args(path, **{**told, "max": one}), f"below {one}") for one in ("0.4", "0.7")]
            links += [(with_args(path, **told, start=start + 8), "Next")] if start + 8 < len(found) else []
            key = f"{path} {most} {start}" if view in {"", "list"} else ""
            return page(key, f"Homes {path} {most}", "", links, menu=menu)
        if path == "/enquiry":
            return page("enquiry", "Enquire", article("enquire", words=40), menu=menu)
        if not 0 <= number < n:
            return None
        if path == f"/enquire/{number}":
            return redirect("/enquiry")
        main = article("home", number) + f"<p>{drawn('sum', number).randint(90, 900)},000 EUR</p>"
        if path != f"/home/{number}":
            return None
        links = [(f"/home/{one}?ref=similar", title("home", one)) for one in related(number, n)]
        links += [(f"/home/{number}?tab={one}", one) for one in ("photos", "plan")]
        links += [(f"/enquire/{number}", "Enquire"), (f"/home/{number}?ref=print", "Print")]
        return page(f"home {number}", title("home", number), main, links, menu=menu)

    return answer


SITES = [
    Site(
        name="two paths",
        what="Products by two paths, with where the link stood; both name a URL that nobody links to.",
        make=two_paths,
        seeds=("https://two.example/",),
        items=r"/p/",
        small=40,
        full=200,
    ),
    Site(
        name="recipes",
        what="Courses and tags, portions, print, shares; saving asks for a login.",
        make=recipes,
        seeds=("https://recipes.example/",),
        items=r"/recipe/",
        small=40,
        full=200,
    ),
    Site(
        name="questions",
        what="With and without the title, shared answers, orders; votes ask for a login.",
        make=questions,
        seeds=("https://questions.example/",),
        items=r"/questions/\d",
        small=40,
        full=200,
    ),
    Site(
        name="homes",
        what="Lists by price, as map, as list; where to go back to, tabs, an enquiry for each.",
        make=homes,
        seeds=("https://homes.example/",),
        items=r"/home/",
        small=40,
        full=200,
    ),
]
