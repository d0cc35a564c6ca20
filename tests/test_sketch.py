from __future__ import annotations

import random

import pytest

from scrapy_replica.sites.language import guess_language
from scrapy_replica.sites.sketch import BINS, jaccards, sketch


def words_of(seed, n):
    rng = random.Random(seed)
    return ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(2, 9))) for _ in range(n)]


class TestSketch:
    def test_equal_texts_agree_and_others_do_not(self):
        text, other = " ".join(words_of(1, 500)), " ".join(words_of(2, 500))
        assert sketch(text) == sketch(text.upper())
        assert jaccards([sketch(text)], [sketch(text)])[0] == 1.0
        assert jaccards([sketch(text)], [sketch(other)])[0] < 0.1

    @pytest.mark.parametrize("share", [0.01, 0.05, 0.15])
    def test_estimates_the_jaccard_of_word_shingles(self, share):
        errors = []
        for seed in range(8):
            words = words_of(seed, 1500)
            edited = list(words)
            for place in random.Random(seed).sample(range(len(words)), int(share * len(words))):
                edited[place] = f"new{place}"
            mine, theirs = ({tuple(ws[i : i + 4]) for i in range(len(ws) - 3)} for ws in (words, edited))
            true = len(mine & theirs) / len(mine | theirs)
            errors.append(jaccards([sketch(" ".join(words))], [sketch(" ".join(edited))])[0] - true)
        # the 24 bytes of a shingle are about four words: no bias beyond 0.1, and no gross error
        assert abs(sum(errors) / len(errors)) < 0.1
        assert max(map(abs, errors)) < 0.25

    def test_sizes(self):
        assert sketch("too short") is None
        assert len(sketch("a text of just enough letters")) == BINS

    def test_scripts_without_spaces(self):
        text = "".join(chr(0x4E00 + i * 7 % 3000) for i in range(400))
        edited = text[:200] + "新" + text[200:]
        assert 0.8 < jaccards([sketch(text)], [sketch(edited)])[0] <= 1.0

    def test_lone_surrogates_do_not_stop_it(self):
        assert sketch("\ud800 broken text that is long enough") is not None


class TestGuessLanguage:
    @pytest.mark.parametrize(
        ("language", "text"),
        [
            ("en", "the cat sat on the mat and it was not as happy as it can be with that"),
            ("de", "die Katze sitzt auf der Matte und ist nicht so zufrieden wie sie sein kann mit dem"),
            ("fr", "le chat est sur la table et il ne dort pas dans les bras de une dame qui est là"),
            ("es", "el gato está en la mesa y no se duerme con los perros de una casa que es de un hombre"),
            ("pt", "o gato não está na mesa e o cão é um dos que não se dorme com uma casa para ele"),
            ("ru", "кот не спит на столе и это не что он хочет от тебя как и все что у них для него"),  # noqa: RUF001
            ("zh", "猫坐在垫子上它并不像它可以的那样快乐因为它想要更多的鱼和牛奶还有一个安静的地方睡觉"),
            ("ja", "猫はマットの上に座っていますが、もっと魚とミルクが欲しいので幸せではありません"),
            ("ko", "고양이는 매트 위에 앉아 있지만 더 많은 생선과 우유를 원하기 때문에 행복하지 않다"),
        ],
    )
    def test_table(self, language, text):
        assert guess_language(text) == language

    def test_too_few_function_words_are_no_guess(self):
        assert guess_language("x = y + 1; return foo(bar)") is None
        assert guess_language("") is None
