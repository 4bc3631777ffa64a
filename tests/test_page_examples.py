"""The examples of pages are checked: deviations from the page are found."""

import pytest
from page_examples import Reader, blocks_of, check_shell, commands_of, differences, gas_commands

PAGE = """# A page

```toml title="app.toml"
[speedup]
model = "amdahl"
sequential_time = 100
serial_fraction = 0.1
```

```console
$ cat app.toml
[speedup]
...
serial_fraction = …
$ echo one \\
    two | tr a-z A-Z
ONE TWO
$ gas plan nothing.toml
gas: nothing.toml: cannot be read: No such file or directory
```

```python
a = 20
```

```python
print(a + 1)
```

```text
21
```
"""


def test_blocks_have_a_language_a_title_and_a_line():
    first, second, *_ = blocks_of(PAGE)
    assert (first.language, first.title, first.line) == ("toml", "app.toml", 3)
    assert commands_of(second.text)[1] == ("echo one two | tr a-z A-Z", ["ONE TWO"])


@pytest.mark.process
def test_a_page_that_is_true_passes(tmp_path):
    with Reader(tmp_path) as reader:
        reader.read(PAGE)


@pytest.mark.process
@pytest.mark.parametrize(
    ("there", "wrong"),
    [
        ("ONE TWO", "ONE TWO THREE"),
        ("\n21\n", "\n22\n"),
        ("...\n", ""),
        ("serial_fraction = 0.1", "serial = 0.1"),
        ("gas: nothing.toml: cannot be read", "gas: nothing.toml: cannot be found"),
        ("$ cat app.toml", "$ cat that.toml"),
    ],
)
def test_a_page_that_is_not_true_fails(there, wrong, tmp_path):
    assert there in PAGE
    with Reader(tmp_path) as reader, pytest.raises(Exception, match=r"line \d+|serial"):
        reader.read(PAGE.replace(there, wrong))


def test_dots_stand_for_lines_and_an_ellipsis_for_text_within_one():
    assert not differences(["a", "...", "d 4"], "a\nb\nc\nd    4\n")
    assert not differences(["took … s"], "took 4 s\n")
    assert differences(["a", "d"], "a\nb\nd\n")
    assert differences(["a"], "a\nb\n")
    assert differences(["a", "..."], "b\n")
    assert not differences([], "")


def test_the_commands_of_gas_are_found_in_a_script():
    line = ".venv/bin/gas plan app.toml > plan.txt && VAR=1 gas wait 1 | grep gas"
    assert gas_commands(line) == [["plan", "app.toml"], ["wait", "1"]]


@pytest.mark.parametrize("line", ["gas plan app.toml --no-such", "gas plann app.toml", "gas serve --port many"])
def test_a_script_with_an_option_that_does_not_exist_fails(line):
    with pytest.raises(AssertionError):
        check_shell(line)


def test_a_script_with_options_that_exist_passes():
    check_shell("gas plan app.toml --tolerance 5% \\\n  --explain\ngas token add ada --state s3-state\ngas --version")
