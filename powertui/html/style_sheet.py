"""The style sheet of a page: calm on white and on black, on a phone and on paper.

Colors are those of the terminal's theme, so that a part of a step has one color everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from powertui.terminal import theme

# Variables that the rules use, by their entries of the palette: (on dark, on light).
_INKS = {
    "page": (233, 231),
    "panel": (234, 255),
    "rule": (237, 253),
    "ink": (252, 236),
    "strong": (255, 232),
    "soft": (247, 240),
    "link": (117, 25),
    "power": (173, 215),
    "line": (221, 130),
    "found": (203, 161),
    "level": (250, 240),
    "lane": (60, 189),
    "lane2": (238, 254),
    "measured": (114, 22),
    "estimated": (221, 94),
    "assumed": (247, 240),
    "differs": (203, 124),
    "same": (114, 22),
}

# Where the first shade of a category on white looks like that of its neighbor in a step, another
# of its shades: calls of a runtime beside work of the host.
_LIGHT_SHADES = {"runtime": 3}

_RULES = """
*{box-sizing:border-box}
html{font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
background:var(--page);color:var(--ink);-webkit-text-size-adjust:100%}
body{margin:0}
main{max-width:1080px;margin:0 auto;padding:40px 28px 32px}
h1,h2,h3,p,dl,dd,ol,ul,figure{margin:0;padding:0;font-size:inherit;font-weight:inherit}
ol,ul{list-style:none}
small{font-size:.8125rem;font-weight:400;color:var(--soft)}
a{color:var(--link)}
p,li,dd,.words,h1,h2,.eyebrow{overflow-wrap:anywhere}
td,dd,dt,li,h1,h2,h3,p,span{unicode-bidi:isolate}
header,section,figure,.table{margin-bottom:40px}
section figure{margin-bottom:24px}
.eyebrow{display:flex;flex-wrap:wrap;gap:2px 14px;align-items:baseline;
font-size:.9375rem;font-weight:600;color:var(--soft);margin-bottom:18px}
h2.eyebrow{border-top:1px solid var(--rule);padding-top:30px;margin-top:56px;color:var(--strong)}
.answer{font-size:clamp(1.375rem,1rem + 1.9vw,2.125rem);line-height:1.25;font-weight:650;
letter-spacing:-.012em;color:var(--strong);max-width:34em;text-wrap:pretty}
.answer.long{font-size:clamp(1.1875rem,1rem + .95vw,1.5625rem);line-height:1.35}
.headline .costs{margin-top:14px}
.next{margin-top:6px;max-width:72ch}
.next b{color:var(--strong)}
.note{font-size:.875rem;color:var(--soft);max-width:78ch;margin-top:6px}
.costs{display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px;font-size:.875rem;
color:var(--soft);font-variant-numeric:tabular-nums}
.costs:empty{display:none}
.cost{display:inline-block;width:96px;height:6px;border-radius:3px;background:var(--rule);
overflow:hidden}
.cost i{display:block;height:100%;background:var(--line)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(118px,1fr));gap:22px 20px;
margin-top:34px;padding:22px 0;border:solid var(--rule);border-width:1px 0}
.figures dt{font-size:.8125rem;color:var(--soft)}
.figures b{font-size:1.5rem;line-height:1.3;font-weight:650;letter-spacing:-.01em;
color:var(--strong);font-variant-numeric:tabular-nums;white-space:nowrap}
.figures dd+dd{font-size:.8125rem;color:var(--soft);display:flex;flex-wrap:wrap;gap:2px 8px;
align-items:center}
.badge{font-size:.75rem;line-height:1.5;padding:0 8px;border:1px solid;border-radius:9px;
white-space:nowrap;color:var(--soft)}
.measured{color:var(--measured)}.estimated,.likely{color:var(--estimated)}
.assumed,.simulated,.unsure,.cannot-tell{color:var(--assumed)}
.differs{color:var(--differs)}.within-noise{color:var(--same)}
h3,.fine h2{font-size:1.0625rem;font-weight:650;color:var(--strong);margin-bottom:10px;
display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline}
.conclusions{display:grid;gap:16px}
.conclusions li{border-left:3px solid var(--rule);padding:0 0 0 14px;max-width:84ch}
.conclusions .costs,.conclusions .next{margin-top:4px;font-size:.875rem}
.plot{display:grid;grid-template-columns:4.6rem 1fr;row-gap:4px}
.shapes{position:relative;height:250px;border-bottom:1px solid var(--rule);
background:linear-gradient(var(--rule) 1px,transparent 1px) 0 0/100% 25%}
svg{position:absolute;inset:0;width:100%;height:100%;display:block}
.scale{position:relative}
.scale span{position:absolute;right:10px;transform:translateY(50%);font-size:.75rem;
line-height:1;color:var(--soft);white-space:nowrap;font-variant-numeric:tabular-nums}
.axis{grid-column:2;position:relative;height:1.25rem;font-size:.75rem;color:var(--soft);
overflow:hidden}
.axis span{position:absolute;transform:translateX(-50%);white-space:nowrap;
font-variant-numeric:tabular-nums}
.axis .first{transform:none}.axis .last{transform:translateX(-100%)}
.lanes{display:grid;grid-template-columns:4.6rem 1fr;align-items:center;margin-top:3px}
.lanes small{text-align:right;padding-right:10px;font-size:.75rem;line-height:1}
.lane{position:relative;height:1.375rem}
.lane span{position:absolute;top:0;bottom:0;min-width:2px;background:var(--lane);
color:var(--strong);border-radius:2px;font-size:.75rem;line-height:1.375rem;padding:0 6px;
overflow:hidden;white-space:nowrap;border-right:1px solid var(--page);
display:flex;flex-wrap:wrap;column-gap:1em}
.lane i{font-style:normal;max-width:100%;overflow:hidden;text-overflow:ellipsis}
.lane span:empty{padding:0}
.lane .odd{background:var(--lane2);color:var(--ink)}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:10px 0 0 4.6rem;font-size:.8125rem;
color:var(--soft)}
.legend i,.dot{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:7px;
background:currentColor}
.legend .level{height:0;border-radius:0;border-top:2px dashed var(--level);background:none;
margin-bottom:3px}
path.power,rect.power{fill:var(--power)}path.power-range{fill:var(--power);opacity:.42}
path.power-line{fill:none;stroke:var(--line);stroke-width:1}
i.power{background:var(--power)}
rect.finding{fill:var(--found);opacity:.3}i.finding{background:var(--found);opacity:.6}
.finding-label{position:absolute;padding:0 5px;border-radius:3px;background:var(--page);
color:var(--found);font-size:.8125rem;font-weight:600;line-height:1.4em;white-space:nowrap;
max-width:100%;overflow:hidden;text-overflow:ellipsis}
div.level{position:absolute;left:0;right:0;border-top:2px dashed var(--level)}
div.level span{position:absolute;right:4px;bottom:1px;font-size:.75rem;line-height:1.3;
padding:0 4px;border-radius:3px;background:var(--page);color:var(--ink)}
.cut{position:absolute;top:0;width:0;height:0;transform:translateX(-50%);
border:4px solid transparent;border-top:0;border-bottom:7px solid var(--estimated)}
.scroll{overflow-x:auto;border:1px solid var(--rule);border-radius:8px}
.scroll:focus-visible{outline:2px solid var(--link);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.875rem;line-height:1.4;
font-variant-numeric:tabular-nums}
th{text-align:left;font-weight:500;color:var(--soft);font-size:.8125rem;white-space:nowrap;
background:var(--panel)}
th,td{padding:6px 12px;vertical-align:top}
td{border-top:1px solid var(--rule);min-width:3.5em}
td.number,th.number{text-align:right;white-space:nowrap}
td.words{min-width:13em}
.many th,.many td{padding:6px 8px}.many td.words{min-width:11em}
td a{display:inline-block;min-width:13em;overflow-wrap:anywhere}
td.marked{position:relative;padding-left:30px}td.marked.words{min-width:21em}
.many td.marked.words{min-width:15em}
td .dot{position:absolute;left:12px;top:.72em;margin:0}
td.share{min-width:9.5em;position:relative}
.bar{position:absolute;left:12px;top:.95em;height:6px;border-radius:3px;background:var(--line);
width:calc((100% - 6.8em)*var(--share));min-width:1px}
.sources{display:grid;grid-template-columns:max-content 1fr;gap:2px 18px;font-size:.8125rem;
color:var(--soft)}
.sources dt{grid-column:1;color:var(--ink)}.sources dd{grid-column:2}
.fine{border-top:1px solid var(--rule);padding-top:20px}
footer{font-size:.75rem;color:var(--soft);border-top:1px solid var(--rule);padding-top:12px}
.figures.wide{grid-template-columns:repeat(auto-fit,minmax(230px,1fr))}
.inline{position:relative;height:1.25rem;min-width:150px}
.zero{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 2}
.whisker,.point{fill:none;stroke:currentColor;stroke-width:2}
.point{stroke-width:9;stroke-linecap:round}
.more{fill:var(--line)}.less{fill:var(--c-matmul)}
.shapes.low{height:52px;background:none;border:0}
.narrow{display:none;font-size:.8125rem;color:var(--found);margin-top:6px}
@media(max-width:640px){.finding-label{display:none}.narrow{display:block}
table.many{min-width:760px}main{padding:24px 16px}.shapes{height:190px}
.plot,.lanes{grid-template-columns:3.6rem 1fr}.legend{margin-left:0}
.figures{grid-template-columns:1fr 1fr;gap:16px}.figures b{font-size:1.25rem}
.axis span:nth-child(even):not(.last){display:none}
.sources{grid-template-columns:1fr}.sources dt,.sources dd{grid-column:1}
.sources dt{margin-top:8px}}
@page{margin:14mm 12mm}
@media print{html{font-size:12.5px}main{max-width:none;padding:0}.scroll{overflow:visible}
header,section,figure,.table{margin-bottom:22px}
tr,li,figure,.plot,.figures{break-inside:avoid}h2,h3{break-after:avoid}
thead{display:table-header-group}h2.eyebrow{break-before:page;border:0;margin-top:0}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
.short{break-inside:avoid}th,td{padding:4px 7px}
td.words,td.marked.words,td.share{min-width:8em}}
"""


def style_sheet() -> str:
    """All rules. Paper has the light colors, whatever the screen has."""
    light = _variables(1)
    dark = _variables(0)
    # The rules for dark screens come last but one: paper is never dark.
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f"{_category_rules()}{_RULES}"
    ).replace("\n", "")


def _variables(side: int) -> str:
    """The colors on dark (0) or on light (1) as variables."""
    declared = [f"--{name}:{theme.hex_of(entries[side])}" for name, entries in _INKS.items()]
    for kind, (on_dark, on_light, _) in theme.CATEGORIES.items():
        shades = on_light if side else on_dark
        shade = _LIGHT_SHADES.get(kind, 0) if side else 0
        declared.append(f"--c-{kind}:{theme.hex_of(shades[shade])}")
    return ";".join(declared)


def _category_rules() -> str:
    rules: Iterable[str] = (
        f".c-{kind}{{fill:var(--c-{kind});color:var(--c-{kind})}}" for kind in theme.CATEGORIES
    )
    return "".join(rules)
