"""The page: every claim with what was found, and the pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from periodic_envs.data.madrid import cache
from studies.claims import Claim, Section, Verdict
from studies.markdown import markdown_table
from studies.pages import write_page
from studies.paper.size import PaperSize
from studies.stamp import Stamp

COMMAND = "periodic-gp reproduce"

INTRODUCTION = """\
Every figure and claim of *Periodic-GP: Learning Periodic World with Gaussian Process Bandits* (Cai,
Cen, Leng and Song, 2021) that can be computed, computed again. Written by `{command}`
({scale}), version {version}, {data}.

Five methods: **Periodic-GP-UCB** (the paper's), **GP-UCB** (ignores time), **TV-GP-UCB** (forgets
at a rate eps), **R-GP-UCB** (starts afresh every 15 steps) and **C-GP-UCB** (time as a context).
What the paper says is in our words; where it says nothing and we ask, it is written so.

A claim **holds** if all of its parts are confirmed, with 95 % intervals clear of zero where there
are intervals; **holds in part** if some of its parts are; **does not hold** if none is and at
least one is refuted; and **cannot be checked** where these runs decide nothing, or where the text
says why. That a method is the best of several is one statement, refuted by one that is clearly
better; an order has a part for every pair. Intervals resample whole runs (shares of runs:
Wilson's); comparisons are paired on the same worlds and the same noise; p-values are of sign-flip
tests, Holm-corrected over the methods of a table."""

AIMS = """\
**Not the paper's:** the last section holds agents of ours against its methods. Its aims are ours,
not counted above. Most are ratios of regret that should not be exceeded: such an aim **holds**
if all intervals keep to it, **holds in part** if the estimate of at least one does, and **does not
hold** if none does. Where less regret is aimed at, it is judged as the paper's claims are."""

SLIPS = """\
Found while reading the proofs; none of them overturns a result.

- The UCB rule and Algorithm 1 weigh the standard deviation by beta_t^(-1/2), the proofs by
  sqrt(beta_t).
- beta_t = 0.8 log(0.4 t) of the experiments is negative for t = 1 and 2 (clipped at 0 here).
- Section 4.1 writes the periodic kernel with 2 tau in the denominator, Eq. (2) with tau.
- Corollary 1 prints the Matern kernel without the power nu of its second factor.
- The remarks after Lemma 1 and Theorem 2 say that equality needs independent rewards; independence
  between phases is enough.
- 3 to 13 March 2018 are eleven days; the text says ten (3 to 12 March here).
- The supplement announces three assumptions for Theorem 1 and gives two.
- Lemma A.1's proof starts from H(y_1) = 1/2 log(2 pi e sigma^2), which lacks the variance of f.
- Finite actions, step 3: sigma_{t-1}^2 is *at most* k, not equal to it. The case needs no pi^2 / 6.
- Continuous actions, step 1: "for all a in A_t" must be "in A", and omega_t a whole number.
- Continuous actions, step 2: the probability that all slopes stay below L_t is *at least*, not at
  most, 1 - c1 d exp(-(L_t / c2)^2).
- Continuous actions, step 3: the confidence bound is proved for the points of the grid A_t, but
  used at a_t, which need not be one of them. It is mended without loss: above the grid points and
  below a_t one tail each is needed, half of what the union bound has paid for.
- Matern's rate rests on the first bound known for its gamma_T; since then T^{d/(2 nu + d)}, up to
  logarithms, has been shown, with which the corollary would be sharper."""


PLURALS = {
    Verdict.HOLDS: "hold",
    Verdict.IN_PART: "hold in part",
    Verdict.FAILS: "do not hold",
    Verdict.UNKNOWN: "cannot be checked",
}
"""Verdicts about several claims."""


def unchecked() -> Section:
    """What this page does not answer."""
    claims = [
        Claim(
            "Section 5, Figures 4 and 5",
            "The curves of these figures.",
            "The source that we have names the pictures but does not hold them: only what the "
            "text says about them can be compared, not their values.",
            Verdict.UNKNOWN,
        ),
        Claim(
            "Section 2.3",
            "Bandits for piecewise stationary rewards cannot handle a periodic world.",
            "Of the cited methods only R-GP-UCB and TV-GP-UCB are compared here; all of them, and "
            "more, are on the page docs/zoo.md, with verdicts.",
            Verdict.UNKNOWN,
        ),
        Claim(
            "Section 6",
            "The method extends to unknown periods, contexts and switching worlds.",
            "Stated as future work in the paper, so there is nothing to reproduce. Agents of ours "
            "that do so are held against its methods in the last section and in docs/beyond.md.",
            Verdict.UNKNOWN,
        ),
    ]
    return Section("unchecked", "Not checked here", claims)


def write_sections(
    folder: Path, stem: str, sections: Sequence[Section], size: PaperSize, stamp: Stamp
) -> Path:
    """Write the page and, beside it, its numbers as JSON; the page's path."""
    numbers = [
        {"section": s.name, "ours": s.ours, **c.record()} for s in sections for c in s.claims
    ]
    content = {"scale": size.name, "claims": numbers}
    return write_page(folder, stem, _page(sections, size), content, [stamp])


def _page(sections: Sequence[Section], size: PaperSize) -> str:
    theirs = [section for section in sections if not section.ours]
    ours = [section for section in sections if section.ours]
    parts = [
        "# The paper, reproduced and audited",
        INTRODUCTION.format(
            command=COMMAND + size.option,
            scale=size.words,
            version=version("periodic-gp"),
            data=_data(),
        ),
        *(_overview(theirs, "claims") if theirs else []),
        *([AIMS, *_overview(ours, "aims of ours")] if ours else []),
        *_written(theirs, size.option),
        "## Slips in the paper",
        SLIPS,
        *_written(ours, size.option),
    ]
    return "\n\n".join(parts) + "\n"


def _numbered(sections: Sequence[Section]) -> list[tuple[str, Section, Claim]]:
    """Every claim under a number; those of ours have a letter before it."""
    pairs = [(section, claim) for section in sections for claim in section.claims]
    return [(f"{'B' if s.ours else ''}{number}", s, c) for number, (s, c) in enumerate(pairs, 1)]


def _overview(sections: Sequence[Section], what: str) -> list[str]:
    """How many claims fare how, and a table of them."""
    claims = _numbered(sections)
    counted = Counter(claim.verdict for _, _, claim in claims)
    verdicts = ", ".join(f"{counted[v]} {PLURALS[v]}" for v in Verdict if counted[v])
    rows = [[f"{number}. {c.says}", c.where, c.verdict.value] for number, _, c in claims]
    header = [what.split()[0].removesuffix("s"), "where", "verdict"]
    return [f"Of {len(claims)} {what} {verdicts}.", markdown_table(header, rows, texts=3)]


def _written(sections: Sequence[Section], option: str) -> list[str]:
    """The sections, claims first."""
    parts = []
    numbered = _numbered(sections)
    for section in sections:
        parts.append(f"## {section.title}")
        parts += [_claim(number, s, c, option) for number, s, c in numbered if s is section]
        parts += section.text
    return parts


def _claim(number: str, section: Section, claim: Claim, option: str) -> str:
    command = f" Command: `{COMMAND}{option} --only {section.name}`"
    verdict = f"**Verdict: {claim.verdict.value}.**"
    text = claim.written(number, "Our aim" if section.ours else "")
    return f"{text}\n\n{verdict}{'' if section.name == 'unchecked' else command}"


def _data() -> str:
    years = cache.years()
    if not years:
        return "without measurements: Madrid is simulated"
    listed = ", ".join(f"{year} ({cache.entry(year).fingerprint[:12]})" for year in years)
    return f"with Madrid's measurements of {listed}"
