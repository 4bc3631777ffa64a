"""The site is built by one command from the pages that the terminal shows."""

import re

import pytest

from gas.errors import BadInput
from gas.guide.contents import pages
from gas.guide.site import PACKAGES, build_site, draw_pictures, linked, reference_of, short_title


def test_a_page_that_another_names_is_a_link_but_not_in_code():
    text = "See `gas guide rules`.\n\n```sh\ngas guide rules `gas guide rules`\n```\n"
    assert linked(text, {"rules"}) == text.replace("See `gas guide rules`", "See [`gas guide rules`](rules.md)")


def test_every_page_that_a_page_names_exists():
    for name, text in pages().items():
        for named in re.findall(r"`gas guide ([\w-]+)`", text):
            assert named in pages(), f"{name} names {named}"


def test_the_menu_has_titles_up_to_a_colon():
    assert short_title("# Operation: running S³\n\nText") == "Operation"


def test_the_reference_holds_every_public_name_once():
    pages_of_names = [reference_of(package, title) for package, title in PACKAGES.items()]
    named = re.findall(r"^::: (\S+)$", "".join(pages_of_names), re.MULTILINE)
    assert len(named) == len(set(named))
    assert {"gas.availability.AvailabilityList", "gas.errors.BadInput", "workloads.swf.read_swf"} <= set(named)


def test_a_constant_is_named_where_it_is_found():
    assert "::: gas.workflows.conversions." in reference_of("gas.workflows.conversions", "Requests")


@pytest.mark.thorough
@pytest.mark.process
def test_pictures_are_drawn_by_the_commands_of_their_page(tmp_path):
    page = '```toml title="a.toml"\n[speedup]\nmodel = "table"\ntimes = { 4 = 60 }\n```\n'
    page += '```json title="l.json"\n{"schema": "gas.availability/1", "scheduler": "x", "kind": "promise", "now": 0,\n'
    page += '"processors": 4, "version": "1", "frames": [{"start": 0, "end": null, "free": 4}]}\n```\n'
    page += "```console\n$ gas plan a.toml -a l.json --stale-ok \\\n    --plot p.png\n...\n```\n![A plan](p.png)\n"
    draw_pictures(page, tmp_path)
    assert (tmp_path / "p.png").stat().st_size > 1000
    with pytest.raises(BadInput, match=r"q\.png: no command of the page draws it"):
        draw_pictures(page + "![Another](q.png)\n", tmp_path)
    with pytest.raises(BadInput, match="gas plan missing"):
        draw_pictures(page.replace("plan a.toml", "plan missing.toml"), tmp_path)


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="contains other files than a site"):
        build_site(tmp_path)


@pytest.mark.process
@pytest.mark.thorough
def test_the_site_is_built_by_one_command_without_a_warning_and_loads_nothing_from_elsewhere(gas, tmp_path):
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")
    earlier = tmp_path / "site" / "an-earlier-page.html"
    earlier.parent.mkdir()
    for path in (earlier, earlier.with_name("sitemap.xml")):
        path.write_text("of the site that is replaced")
    made = gas("guide", "--site", tmp_path / "site")
    assert (made.code, made.out.strip()) == (0, str(tmp_path / "site" / "index.html")), made.err
    assert not earlier.exists()
    for name in pages():
        html = (tmp_path / "site" / f"{name}.html").read_text()
        loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', html)
        assert loaded == []
