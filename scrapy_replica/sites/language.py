"""Which language is a text in? A guess from script and function words: mirrors agree in it, translations do not."""

from __future__ import annotations

import re
from collections import Counter

_WORDS = {
    "en": "the of and to in is that for it as with was on are by this be from or which you not have at but we can",
    "de": "der die das und ist nicht ein eine mit von den dem des zu auf für sich auch im werden wird sind als oder",
    "fr": "le la les des et est une un dans que qui pour pas sur au avec par ce cette vous nous sont plus ou du",
    "es": "el los las del y es una un en que por con para se no lo como su más este esta pero son al puede cuando",
    "pt": "o os as do da dos das e é um uma em que por com para se não como mais este esta mas são ao você quando",
    "it": "il lo gli la di e è un una che per con non si del della dei sono come più questo questa anche nel ma",
    "nl": "de het een en van is dat niet in op te voor met zijn aan er ook als maar om deze dit worden wordt bij",
    "sv": "och att det som en på är av för med till den har inte om ett men var jag kan från eller så vi du",
    "da": "og at det som en på er af for med til den har ikke om et men var jeg kan fra eller så vi du",
    "pl": "i w na nie się jest to z do że jak po co dla od za przez są być może lub tego tylko oraz który",
    "cs": "a se na je to v že z do pro jak po ale jsou být nebo by které tak pokud jako tento při jen není",
    "tr": "ve bir bu için da de ile olarak daha çok gibi olan ne en ya kadar değil sonra her veya ise olduğu",
    "fi": "ja on ei se että oli joka kun niin mutta ovat tai myös kuin sen voi ole jos vain tämä hän nyt",
    "hu": "a az és hogy nem is egy ez van de meg csak ha vagy már mint el még kell azt lehet ezt volt",
    "ro": "și în de la cu pe nu este care o un mai se din pentru sau dar să ce sunt fi ca poate această",
    "id": "yang dan di dengan untuk dari ini itu pada tidak adalah dalam akan atau juga ke oleh bisa ada anda",
    "vi": "và của là có không được trong cho một các với này khi để từ những đã bạn như nếu hay đó",
    "ru": "и в не на что с по это как для из к от но он так же вы может если или его при бы только",
    "uk": "і в не на що з по це як для із до від але він так же ви може якщо або його при та є",
    "bg": "и в не на че с по това как за от до но той така да може ако или при се са е като",
}
_LANGUAGES_OF: dict[str, tuple[str, ...]] = {}
for _language, _words in _WORDS.items():
    for _word in _words.split():
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _language)

_SCRIPTS = (
    ("ja", "[\u3040-\u30ff]"),
    ("ko", "[\uac00-\ud7af\u1100-\u11ff]"),
    ("zh", "[\u4e00-\u9fff]"),
    ("el", "[\u0370-\u03ff]"),
    ("ar", "[\u0600-\u06ff]"),
    ("he", "[\u0590-\u05ff]"),
    ("hi", "[\u0900-\u097f]"),
    ("th", "[\u0e00-\u0e7f]"),
    ("fa", "[\ufb50-\ufdff]"),
)
_SAMPLE_CHARACTERS = 1200
_WORD = re.compile(r"\w+")


def guess_language(text: str) -> str | None:
    """Return the two-letter code of the language *text* seems to be in, None where function words are too few.

    The sample is the text's middle: pages of any language begin with English menus and end with English notices.
    """
    first = max(0, (len(text) - _SAMPLE_CHARACTERS) // 2)
    sample = text[first : first + _SAMPLE_CHARACTERS]
    if len(sample.encode("utf-8", "replace")) > 1.2 * len(sample):
        for language, characters in _SCRIPTS:
            # English code and names fill much of a technical text, whatever its language
            if 5 * len(re.findall(characters, sample)) >= len(sample) // 2:
                return language
    return _by_function_words(sample)


def _by_function_words(sample: str) -> str | None:
    votes: dict[str, float] = {}
    for word, count in Counter(filter(_LANGUAGES_OF.__contains__, _WORD.findall(sample.lower()))).items():
        languages = _LANGUAGES_OF[word]
        for language in languages:
            votes[language] = votes.get(language, 0.0) + count / len(languages)
    if not votes:
        return None
    best = max(votes, key=lambda language: (votes[language], language))
    return best if votes[best] >= 5 else None
