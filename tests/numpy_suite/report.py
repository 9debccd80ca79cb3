"""What both runs said -> the page of the docs, and the failures grouped by reason."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from tests.numpy_suite.driver import ModuleResult, Outcome, modules
from tests.numpy_suite.principles import PRINCIPLES
from tests.numpy_suite.reasons import why as known_reason


@dataclass
class Summary:
    """One module: the tests that NumPy passes, those kept out, and what happened to the others."""

    module: str
    excluded: Counter[str] = field(default_factory=Counter)
    passed: int = 0
    passed_lazily: int = 0
    failed: dict[str, Outcome] = field(default_factory=dict)

    @property
    def counted(self) -> int:
        return self.passed + len(self.failed)

    @property
    def counted_lazily(self) -> int:
        """Tests in which a LazyArray took part; those that failed count as such."""
        return self.passed_lazily + len(self.failed)


def summarize(
    reference: dict[str, ModuleResult], results: dict[str, ModuleResult]
) -> list[Summary]:
    """Compare the two runs, module by module."""
    return [_summarize(name, reference[name], results[name]) for name in reference]


def _summarize(name: str, reference: ModuleResult, result: ModuleResult) -> Summary:
    summary = Summary(name)
    missing = Outcome("missing", result.unreadable or "the case does not exist")
    for key, expected in reference.outcomes.items():
        if not expected.passed:
            continue
        why = reference.excluded[key]
        if why is not None:
            summary.excluded[why] += 1
            continue
        outcome = result.outcomes.get(key, missing)
        if outcome.passed:
            summary.passed += 1
            summary.passed_lazily += outcome.arrays > 0
        else:
            summary.failed[_title(key, reference.ids[key])] = outcome
    return summary


def _title(key: str, id: str) -> str:
    """`TestClass::test_name[case]`: NumPy's own name of a test."""
    return "::".join([*key.split("::")[1:-2], id])


def total(summaries: list[Summary]) -> Summary:
    """Add up the modules."""
    whole = Summary("all")
    for summary in summaries:
        whole.excluded += summary.excluded
        whole.passed += summary.passed
        whole.passed_lazily += summary.passed_lazily
        whole.failed |= {f"{summary.module}::{k}": v for k, v in summary.failed.items()}
    return whole


def rate(summaries: list[Summary]) -> float:
    """Per cent of the counted tests that pass."""
    whole = total(summaries)
    return 100 * whole.passed / max(whole.counted, 1)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"


def table(summaries: list[Summary]) -> str:
    """One row per module, and one for all."""
    used = [name for name in PRINCIPLES if any(name in s.excluded for s in summaries)]
    head = ["module", "counted", "passed", "rate", "with arrays", "passed", *used]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    for item in [*summaries, total(summaries)]:
        rows.append([
            item.module, str(item.counted), str(item.passed), percent(item.passed, item.counted),
            str(item.counted_lazily), str(item.passed_lazily),
            *(str(item.excluded[name] or "") for name in used),
        ])  # fmt: skip
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def by_reason(summaries: list[Summary]) -> str:
    """The failures grouped by reason and place, the largest group first."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for title, outcome in total(summaries).failed.items():
        groups[_kind(outcome), outcome.place.split(" < ")[0]].append(
            f"{title}  ({outcome.place})  {outcome.reason[:300]}"
        )
    lines = [table([*summaries]), ""]
    for (kind, place), titles in sorted(groups.items(), key=lambda item: -len(item[1])):
        lines.append(f"\n## {len(titles)}: {kind}  [{place}]\n")
        lines += [f"- {title}" for title in titles[:8]]
        lines += [f"- ... and {len(titles) - 8} more"] * (len(titles) > 8)
    return "\n".join(lines) + "\n"


def _kind(outcome: Outcome) -> str:
    """A reason without its numbers and values."""
    reason = re.sub(r"0x[0-9a-f]+|-?\d+(\.\d+)?(e[-+]?\d+)?", "#", outcome.reason)
    return f"{outcome.outcome}: {reason[:110]}"


_HEAD = """# NumPy's own tests

Written by `bash scripts/numpy_tests`: {modules} of the {all_modules} test modules of NumPy
{version} (`numpy/_core/tests` and `numpy/lib/tests`; {cases} cases that pass with NumPy), run with
`lazyfuse` in place of `numpy` and `lazyfuse.testing` in place of `numpy.testing`.

**{passed} of {counted} counted cases pass: {rate}.** In {counted_lazily} of them a LazyArray takes
part; of those {rate_lazily} pass. The others only use what lazyfuse takes from NumPy as it is
(dtypes, scalars, files, printing of them).

- A case counts when it passes with NumPy itself and no principle keeps it out. Cases that NumPy
  marks as slow are not run, as in `numpy.test()`; nor are those that ask for more than 1 GB.
- A principle looks at a test's own source and at the values of its case, never at its name:
  `tests/numpy_suite/principles.py`. It does not look at what happened either.
- Arrays are pending when a test goes on. Inside blocks that listen for warnings, the value of each
  statement is computed: warnings come with the computation.

| principle | keeps out tests that use |
|---|---|
{principles}

## Modules

Counted, passed, their rate; those in which a LazyArray takes part and those of them that pass;
then the cases kept out by each principle.

{table}

## Failures

Why each fails, where it is known, then what the test said.

{failures}
"""


def page(summaries: list[Summary]) -> str:
    """The page of the docs."""
    whole = total(summaries)
    return _HEAD.format(
        version=np.__version__,
        modules=len(summaries),
        all_modules=len(modules([])),
        cases=whole.counted + whole.excluded.total(),
        passed=whole.passed,
        counted=whole.counted,
        rate=percent(whole.passed, whole.counted),
        counted_lazily=whole.counted_lazily,
        rate_lazily=percent(whole.passed_lazily, whole.counted_lazily),
        principles="\n".join(f"| {name} | {text} |" for name, text in PRINCIPLES.items()),
        table=table(summaries),
        failures="\n".join(_failed(item) for item in summaries if item.failed) or "None.",
    )


def _failed(summary: Summary) -> str:
    """The failures of a module, cases of one function with one reason together."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for title, outcome in summary.failed.items():
        function, _, case = title.partition("[")
        groups[function, f"{outcome.outcome}: {_anywhere(outcome.reason)[:160]}"].append(case)
    lines = [f"### {summary.module}\n"]
    for (function, reason), cases in groups.items():
        count = f" ({len(cases)} cases)" if len(cases) > 1 else ""
        reason = _escaped(reason)
        known = known_reason(summary.module, function)
        lines.append(f"- `{function}`{count}: {known + '; ' if known else ''}{reason}")
    return "\n".join(lines) + "\n"


def _anywhere(reason: str) -> str:
    """A reason without the addresses and folders of one run."""
    return re.sub(r" at 0x[0-9a-f]+", "", re.sub(r"/[^\s']*/site-packages/", "", reason))


def _escaped(text: str) -> str:
    return "`" + text.replace("`", "'") + "`"
