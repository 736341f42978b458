"""How the page looks: two palettes, print, and narrow screens. No font and no image is fetched.

Every color of text stands at 4.5:1 or more on each background it is drawn on (WCAG 2.2, 1.4.3);
a test computes it.
"""

LIGHT = {
    "page": "#fafaf7",
    "panel": "#f0efe9",
    "text": "#1b1f24",
    "quiet": "#545d67",
    "line": "#c9c9c1",
    "link": "#005c91",
    "pass": "#00694d",
    "fail": "#a84200",
    "critical": "#a84200",
    "not_measured": "#545d67",
    "infra": "#8e3f70",
    "missing": "#545d67",
    "quarantined": "#775200",
    "data": "#005c91",
}
DARK = {
    "page": "#101418",
    "panel": "#1a2027",
    "text": "#d8dee4",
    "quiet": "#9aa4ae",
    "line": "#3a434d",
    "link": "#56b4e9",
    "pass": "#3fb68b",
    "fail": "#ff7a33",
    "critical": "#ff7a33",
    "not_measured": "#9aa4ae",
    "infra": "#d98cb8",
    "missing": "#9aa4ae",
    "quarantined": "#e69f00",
    "data": "#56b4e9",
}
BACKGROUNDS = ("page", "panel")
NOT_TEXT = ("line",)
"""Rules and frames, which say nothing that is not also written."""
INVERSE = ("page", "critical")
"""A critical verdict: the color of the page on that of the verdict."""

_MARKS = ("pass", "fail", "not_measured", "infra", "missing", "quarantined")


def _variables(palette: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in palette.items())


STYLE = (
    f":root{{color-scheme:light dark;{_variables(LIGHT)}}}\n"
    f"@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}\n"
    f"@media print{{:root{{color-scheme:light;{_variables(LIGHT)}}}}}\n"
    + "".join(f".{mark}{{color:var(--{mark})}}\n" for mark in _MARKS)
    + """\
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--text);
background:var(--page);max-width:76rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;line-height:1.25;margin:.25rem 0 .75rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.75rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:0;display:inline;overflow-wrap:anywhere}
p{margin:.5rem 0;max-width:46rem}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--link);
outline-offset:2px}
code,pre{font:.875em/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
overflow-wrap:anywhere}
pre{white-space:pre-wrap;margin:0;background:var(--panel);padding:.5rem .75rem;border-radius:4px}
.fail,.quarantined{font-weight:600}
.critical{color:var(--page);background:var(--critical);font-weight:600;padding:0 .3em;
border-radius:3px}
.quiet,figcaption,.terms dd{color:var(--quiet)}
.away{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
header{border-left:.5rem solid var(--quiet);padding-left:1rem}
header.promote{border-color:var(--pass)}
header.block,header.repair{border-color:var(--fail)}
.reasons{padding-left:1.4rem;margin:.75rem 0}
.reasons li{margin:.4rem 0}
.key{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;
margin:1.5rem 0 1rem}
.key div{background:var(--panel);border-radius:6px;padding:.6rem .8rem}
.key dt{color:var(--quiet);font-size:.85rem}
.key dd{margin:0;font-size:.85rem}
.key dd.value{font-size:1.35rem;font-weight:600;line-height:1.3;overflow-wrap:anywhere}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;list-style:none;padding:0;margin:1rem 0 0;
font-size:.9rem}
.scroll{overflow-x:auto}
td>span{white-space:nowrap}
table{border-collapse:collapse;width:100%;font-size:.925rem}
th,td{border-bottom:1px solid var(--line);padding:.35rem .75rem .35rem 0;text-align:left;
vertical-align:top;font-weight:400}
thead th{font-weight:600;color:var(--quiet);vertical-align:bottom}
td,tbody th{overflow-wrap:break-word;min-width:3.5rem}
td:has(code),tbody th:has(code){min-width:11rem}
.grid tbody th,.facts td{min-width:0}
.grid{font-size:.85rem}
.grid td,.grid thead th{white-space:nowrap}
.grid tbody th{white-space:nowrap;max-width:18rem;overflow-wrap:anywhere}
.terms{margin:1rem 0;font-size:.9rem;columns:30rem;column-gap:2.5rem}
.terms dt{font-weight:600;margin-top:.6rem;break-after:avoid}
.terms dd{margin:0;max-width:52rem;break-inside:avoid}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1.5rem;
margin:1.5rem 0}
figure{margin:0;max-width:28rem}
figcaption{font-size:.85rem;margin-top:.25rem}
svg{display:block;width:100%;height:auto;font:12px system-ui,sans-serif}
svg text{fill:var(--text)}
svg .quiet{fill:var(--quiet)}
svg .rule{stroke:var(--line);fill:none}
svg .axis{stroke:var(--quiet);fill:none}
svg .policy{stroke:var(--fail);stroke-dasharray:5 3;fill:none}
svg .data{stroke:var(--data);fill:var(--data)}
svg .span{stroke:var(--data);stroke-width:2;fill:none}
svg text.policy{fill:var(--fail);stroke:none}
svg rect.box{fill:none;stroke:var(--line)}
svg rect.critical{fill:var(--critical)}
"""
    + "".join(f"svg text.{mark}{{fill:var(--{mark})}}\n" for mark in _MARKS)
    + """\
svg text.critical{fill:var(--page)}
details{margin:.75rem 0}
summary{cursor:pointer}
article{border:1px solid var(--line);border-radius:6px;padding:.75rem 1rem;margin:1rem 0}
article ul{margin:.5rem 0;padding-left:1.2rem}
.events{list-style:none;padding:0;margin:.75rem 0 0}
.events>li{border-left:3px solid var(--line);padding:.1rem 0 .1rem .75rem;margin:.6rem 0}
.events>li.broken{border-left-color:var(--fail)}
.events p{margin:0;overflow-wrap:anywhere}
.events dl{margin:.25rem 0;display:grid;grid-template-columns:6.5rem 1fr;
gap:.25rem .75rem;font-size:.9rem}
.events dt{color:var(--quiet)}
.events dd{margin:0;min-width:0}
@media (max-width:40rem){body{padding:1rem .75rem 3rem}h1{font-size:1.3rem}
.events dl{grid-template-columns:1fr}table{font-size:.85rem}
.facts th,.facts td{display:block;border:0;padding:0}.facts tr{display:block;padding:.35rem 0;
border-bottom:1px solid var(--line)}.facts th{color:var(--quiet)}}
@page{size:A4;margin:14mm}
@media print{html{font-size:10pt}nav{display:none}
body{background:#fff;font-size:1rem;max-width:none;padding:0}
h2{margin-top:1.2rem;break-after:avoid}h3,summary{break-after:avoid}
tr,figure,.key div,.events>li{break-inside:avoid}thead{display:table-header-group}
.scroll{overflow:visible}table{font-size:8.5pt}.grid{font-size:6.5pt}
.grid td,.grid thead th,.grid tbody th{white-space:normal;padding-right:.3rem}
td,tbody th,td:has(code),tbody th:has(code){min-width:0}td,th:has(code){overflow-wrap:anywhere}
.key{grid-template-columns:repeat(5,1fr)}.plots{grid-template-columns:1fr 1fr}
.key div,pre{background:none;border:1px solid var(--line)}
.critical{color:var(--critical);background:none;border:1.5px solid currentColor}
svg rect.critical{fill:none;stroke:var(--critical);stroke-width:2}
svg text.critical{fill:var(--critical)}
details::details-content{content-visibility:visible;block-size:auto}
summary{list-style:none}a{color:inherit;text-decoration:none}}
"""
)
