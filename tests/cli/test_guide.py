from gas.cli.guide import pages


def test_every_page_begins_with_its_title_and_fits_a_terminal():
    assert {"design", "formats", "formulas", "glossary", "operation", "rules", "security"} <= set(pages())
    for name, text in pages().items():
        assert text.startswith("# "), name
        assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith("|")), name


def test_the_guide_lists_its_pages_and_shows_one(gas):
    listed = gas("guide")
    assert [line.split()[0] for line in listed.out.splitlines()] == sorted(pages())
    assert gas("guide", "security").out.startswith("# ")


def test_an_unknown_page_is_an_error_that_names_the_nearest(gas):
    assert 'did you mean "security"?' in gas("guide", "securty").err
