"""Contents of the one file: all that planning and submitting need, and nothing heavy."""

from gas.bundle import contents


def test_what_gas_needs_is_there_but_for_what_fitting_needs():
    names = {each.name for each in contents.needed()}
    assert {"numpy", "requests", "typer", "rich", "urllib3", "certifi", "tzdata"} <= names
    assert not {"scipy", "numba", "matplotlib", "fastapi", "pytest", contents.NAME} & names


def test_packages_come_with_their_data_and_without_their_tests():
    places = {str(place): must_be_file for place, _, must_be_file in contents.packages()}
    assert places["gas/guide/glossary.md"]
    assert places["gas/__init__.pyi"]
    assert places["speedup_models/data/npb.csv"]
    assert places["certifi/cacert.pem"]
    assert not places["sortedcontainers/sortedlist.py"], "what is Python alone is read out of an archive"
    assert not [place for place in places if "/tests/" in place or place.startswith(("experiments", "gas/bundle"))]


def test_the_standard_library_comes_without_its_tests_and_windows():
    places = {str(place) for place, _ in contents.standard_library()}
    assert {"json/__init__.py", "zoneinfo/__init__.py", "sqlite3/__init__.py", "unittest/case.py"} <= places
    assert not [place for place in places if place.startswith(("test/", "tkinter/", "idlelib/", "site-packages/"))]


def test_the_interpreter_brings_the_libraries_that_its_modules_need():
    program, files = contents.interpreter()
    assert program.name.startswith("console-cpython-")
    names = {place.name.partition(".")[0].partition("-")[0] for place, _ in files}
    assert {"_ssl", "_sqlite3", "zlib", "libssl", "libcrypto", "libsqlite3"} <= names
    assert not {"_tkinter", "libtk8", "_curses", "libX11"} & names


def test_licences_of_all_of_it_come_along():
    licensed = {place.parts[1] for place, _ in contents.licences()}
    assert {"freeze-core", "numpy", "requests", "python"} <= licensed


def test_the_version_and_the_entry_points_can_be_asked_for():
    (folder,) = {place.parts[0] for place in contents.metadata()}
    assert folder.startswith("apples_gas-")
    assert any("gas.endpoints" in text for text in contents.metadata().values())
