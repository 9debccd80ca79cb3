"""The README tells the truth: its examples run, and its table of options is the real one."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from lazyfuse import config

README = Path(__file__).resolve().parent.parent / "README.md"
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.engine
def test_examples_run() -> None:
    """Run the Python blocks of the README in order, in one namespace."""
    test = doctest.DocTestParser().get_doctest(
        "\n".join(re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)),
        {},
        "README",
        str(README),
        0,
    )
    report: list[str] = []
    with config.options(eager_size=config.Options().eager_size):
        result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert result.attempted > 20
    assert result.failed == 0, "".join(report)


def test_option_table_is_current() -> None:
    """The table between the two marks is the one that `config.option_table` writes."""
    found = re.search(r"<!-- options -->\n(.*?)\n<!-- /options -->", README.read_text(), re.DOTALL)
    assert found is not None
    assert found.group(1).strip() == config.option_table()
