"""Words too common to say what a text is about, per language; plain data.

Single letters are missing: they are no terms anyway.
"""

from __future__ import annotations

_LISTS = {
    "en": """about above after again against all also am an and any are aren as at be because been before being below
        between both but by can cannot could couldn did didn do does doesn doing don down during each else ever few for
        from further get had hadn has hasn have haven having he her here hers herself him himself his how however if in
        into is isn it its itself just let like ll may me might more most must mustn my myself no nor not now of off on
        once only or other ought our ours ourselves out over own per re same shall she should shouldn so some such than
        that the their theirs them themselves then there these they this those through thus to too under until up upon
        us ve very via was wasn we were weren what when where which while who whom whose why will with within without
        won would wouldn yet you your yours yourself yourselves""",
    "pt": """ainda ao aos após aquela aquelas aquele aqueles aquilo as até cada com como contra da daquele das de dela
        delas dele deles depois desde dessa dessas desse desses desta deste do dos durante ela elas ele eles em entre
        era eram essa essas esse esses esta estas estava este estes está estão eu foi for foram há isso isto já lhe
        lhes mais mas me mesmo meu meus minha minhas muito na nas nem no nos nossa nossas nosso nossos num numa nós não
        onde os ou para pela pelas pelo pelos pode podem por porque qual quando que quem se seja sem ser será seu seus
        sido sob sobre sua suas são só também te tem tendo ter teu tinha todas todo todos toda tua tudo têm um uma umas
        uns você vocês às à é""",
    "es": """al algo algunas algunos ante antes aquel aquella aquellos así aun aunque bajo bien cada casi como con
        contra cual cuando cuándo cómo de del desde donde dos durante el ella ellas ellos en entre era eran es esa esas
        ese eso esos esta estaba estas este esto estos está están fue fueron ha había han hasta hay la las le les lo los
        me mi mientras mis mismo mucho muchos muy más nada ni no nos nosotros nuestra nuestro nuestros o os otra otras
        otro otros para pero poco por porque pues que quien quienes qué se sea según ser si sido sin sobre son su sus sí
        también tan tanto te tiene tienen toda todas todo todos tu tus un una unas uno unos usted ya yo él""",
    "it": """ad agli ai al alla alle allo anche ancora avere aveva avevano che chi ci cioè col come con contro cosa così
        cui da dagli dai dal dalla dalle dallo degli dei del dell della delle dello dentro di dopo dove due ed ella era
        erano essere fa fino fra fu furono già gli ha hanno ho il in io la le lei li lo loro lui ma me mentre mi mia mio
        molto ne negli nei nel nell nella nelle nello noi non nostra nostro nulla ogni oltre ora per perché però più poi
        prima pur quale quali quando quanto quella quelle quelli quello questa queste questi questo qui se sei senza si
        sia siamo sono sopra sotto stata state stati stato su sua sue sugli sui sul sull sulla sulle suo suoi tra tu
        tutta tutte tutti tutto un una uno vi voi è""",
    "de": """aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da
        dabei damit dann das dass daß dazu dein deine dem den denn der des dessen dich die dies diese diesem diesen
        dieser dieses dir doch dort du durch ein eine einem einen einer eines einige er es etwas euch euer für gegen
        haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede
        jedem jeden jeder jedes jene kann kein keine keinen können könnte man manche mehr mein meine mich mir mit muss
        müssen nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit selbst sich sie
        sind so solche soll sollte sondern sonst sowie über um und uns unser unter viel vom von vor war waren warst was
        weil welche welcher wenn werden wie wieder will wir wird wirst wo wurde wurden während würde zu zum zur
        zwischen""",
    "fr": """afin ai ainsi alors après as au aucun aucune aussi autre autres aux avait avant avec avoir avons ayant car
        ce ceci cela celle celles celui ces cet cette ceux chaque chez ci comme comment dans de depuis des dont du elle
        elles en encore entre est et eu eux fait faire fois font furent fut il ils je jusqu la le les leur leurs lors
        lorsque lui là ma mais me mes moi moins mon même ne ni nos notre nous on ont ou où par parce pas pendant peu
        peut plus pour pourquoi puis qu quand que quel quelle quelles quels qui quoi sa sans se sera ses si sien soi
        soit son sont sous sur ta te tes toi ton tous tout toute toutes très tu un une vers voici voilà vos votre vous
        étaient était été être à""",
}

STOP_WORDS: dict[str, frozenset[str]] = {language: frozenset(words.split()) for language, words in _LISTS.items()}
"""Two-letter language code -> lower-case words."""
