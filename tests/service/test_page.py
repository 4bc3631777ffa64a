"""The page at / in a real Chromium, on a real service: what it shows, how it is used, what it never does."""

import json
import random
import re
import time
from concurrent.futures import Future
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import pytest

from gas.errors import BadInput
from gas.service.changes import Reshape
from gas.service.jobs import Predicted
from gas.service.listening import listen
from gas.service.live import LiveScheduler
from gas.service.page import page as served_page
from gas.service.server import Embedded
from gas.service.tokens import Tokens
from gas.times import parse_instant

selenium = pytest.importorskip("selenium", reason="needs selenium to drive a browser")

from selenium.webdriver.common.by import By  # noqa: E402  # after the skip
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--app=data:,",  # a window without tabs and address bar, which are pages of their own and cost more than ours
]  # fmt: skip


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    for program in (CHROMIUM, DRIVER):
        if not program.exists():
            pytest.skip(f"needs Debian's chromium and chromium-driver: {program} is not there")
    # Here, since only one of the processes that collect this module drives a browser.
    from selenium.webdriver import Chrome
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(CHROMIUM)
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(executable_path=str(DRIVER)))
    yield driver
    driver.quit()


class Page:
    """The page as its reader has it."""

    def __init__(self, browser):
        self.browser = browser
        self.url = None

    def open(self, url):
        self.url = url + "/"
        self.browser.get(self.url)

    def all(self, css):
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def text(self, css):
        return self.js("return document.querySelector(arguments[0])?.textContent ?? null", css)

    def until(self, condition, seconds=10):
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < deadline, f"not in time; {self.text('#connection')}; {self.jobs()}"
            time.sleep(0.1)  # a query takes the browser 10 ms
        return value

    def until_live(self):
        self.until(lambda: self.one("#connection").get_attribute("data-state") == "live")
        self.until(lambda: self.js("return document.querySelector('#free-drawn').getAttribute('d')"))

    def jobs(self, where="#picture"):
        """The data of the jobs in the picture, or in the table, by their numbers."""
        found = self.js(
            "return [...document.querySelectorAll(arguments[0] + ' [data-job]')].map((e) => ({...e.dataset}))", where
        )
        return {int(job["job"]): job for job in found}

    def box(self, id):
        """The position of a job in the picture: left, width, height in pixels."""
        return self.js(
            "const r = document.querySelector(`#picture [data-job='${arguments[0]}']`).getBoundingClientRect();"
            "return [r.left, r.width, r.height]",
            id,
        )

    def fill_sizes(self, times):
        while len(rows := self.all("#sizes tbody tr")) < len(times):
            self.one("#add-size").click()
        while len(rows) > len(times):
            rows.pop().find_element(By.TAG_NAME, "button").click()
        for row, (size, duration) in zip(rows, times, strict=True):
            for field, value in zip(row.find_elements(By.TAG_NAME, "input"), (size, duration), strict=True):
                field.clear()
                field.send_keys(str(value))

    def plan(self):
        self.one("#plan").click()
        self.until(lambda: self.text("#best") or self.text("#plan-problem"))

    def width(self, pixels, height=780):
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": pixels, "height": height, "deviceScaleFactor": 1, "mobile": pixels < 600},
        )

    def scheme(self, name):
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def hour(self, hour):
        """Put the browser in a time zone where it is this hour of the day now; None for the machine's own."""
        east = (hour - datetime.now(UTC).hour + 12) % 24 - 12 if hour is not None else None
        zone = "" if east is None else f"Etc/GMT{-east:+d}"  # POSIX counts to the west
        self.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": zone})

    def complaints(self):
        return [e["message"] for e in self.browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]

    def hosts(self):
        """The hosts to which requests were sent."""
        messages = [json.loads(e["message"])["message"] for e in self.browser.get_log("performance")]
        urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return {url.split("/")[2] for url in urls if not url.startswith("data:")}


@pytest.fixture
def page(chromium, start_s3):  # services end after the page
    """The page; at the end, the console had no errors and no other host was asked."""
    one = Page(chromium)
    one.width(1280, 900)
    one.scheme("light")
    one.hour(None)
    one.complaints()
    one.hosts()
    yield one
    complaints, hosts = one.complaints(), one.hosts()
    chromium.get("about:blank")
    chromium.get_log("performance")
    assert complaints == []
    assert len(hosts) == 1
    assert hosts <= {one.url.split("/")[2]}


# ------------------------------------------------------------------------------------------------- the document itself


def test_the_document_asks_for_nothing_from_elsewhere_and_needs_no_lenient_policy():
    html = served_page().html.decode()
    assert (html.count("<script"), html.count("<style")) == (1, 1)
    markup = re.sub(r"<script>.*</script>|<style>.*</style>", "", html, flags=re.DOTALL)
    assert not re.search(r"\s(style|on\w+)=", markup)
    assert set(re.findall(r"https?://[^\s\"'/]+", html)) == {"http://www.w3.org"}, "names of SVG, never fetched"
    assert "innerHTML" not in html
    assert "'unsafe" not in served_page().headers["Content-Security-Policy"]


def test_the_service_sends_it_with_its_policy(s3):
    answer = s3.get("/")
    assert answer.content == served_page().html
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'sha256-")


# --------------------------------------------------------------------------------------------------- the schedule, live


def test_a_job_submitted_elsewhere_appears_moves_and_ends(page, s3):
    blocker = s3.simulated(10, 3600)
    page.open(s3.url)
    page.until_live()
    page.until(lambda: page.jobs().get(blocker["id"], {}).get("state") == "running")
    page.until(lambda: page.text("#in-use") == "10")

    middle, last = s3.simulated(10, 1200), s3.simulated(4, 600, 2, name="lu.C")
    shown = page.until(lambda: page.jobs().get(last["id"]))
    assert (shown["state"], shown["processors"], shown["mine"]) == ("queued", "4", "true")
    assert int(shown["start"]) == last["promise"] == middle["promise"] + 1200
    page.until(lambda: "lu.C" in (page.text(f"#job-table tr[data-job='{last['id']}']") or ""))
    page.until(lambda: page.box(last["id"])[1] > 0)
    before = page.box(last["id"])

    s3.delete(f"/v1/jobs/{middle['id']}")
    page.until(lambda: middle["id"] not in page.jobs())
    page.until(lambda: page.jobs()[last["id"]]["start"] == str(last["promise"] - 1200))
    page.until(lambda: page.box(last["id"])[0] < before[0])
    assert page.jobs("#job-table")[last["id"]]["start"] == str(last["promise"] - 1200)

    s3.delete(f"/v1/jobs/{blocker['id']}")
    page.until(lambda: page.jobs().get(last["id"], {}).get("state") == "running")
    page.until(lambda: page.jobs() == {} == page.jobs("#job-table"))
    page.until(lambda: page.text("#in-use") == "0")
    assert "has ended" in page.text("#latest")


def test_a_job_that_is_reshaped_elsewhere_changes_its_shape(page, s3):
    s3.simulated(10, 3600)
    s3.until(1, "running")  # which the page would say too
    waiting = s3.simulated(10, 3600)
    page.open(s3.url)
    page.until_live()
    page.until(lambda: page.jobs().get(waiting["id"]))
    width, height = page.box(waiting["id"])[1:]
    changed = s3.scheduler.reshape(Reshape(waiting["id"], 5, 7200))
    page.until(lambda: page.jobs()[waiting["id"]]["processors"] == "5")
    page.until(lambda: page.box(waiting["id"])[2] < 0.6 * height)
    assert page.box(waiting["id"])[1] > width  # and the picture reaches further
    assert page.jobs()[waiting["id"]]["start"] == str(changed.promise)
    assert "2h00m" in page.text(f"#job-table tr[data-job='{waiting['id']}']")
    page.until(lambda: "now requests 5 processors for 2h00m" in page.text("#latest"))
    page.one(f"#job-table tr[data-job='{waiting['id']}']").click()
    page.until(lambda: "reshaped" in page.text("#details"))


def test_the_picture_and_the_table_show_every_job_and_reservation(page, s3):
    s3.simulated(6, 3600)
    s3.until(1, "running")
    now = s3.get("/v1/availability").json()["now"]
    s3.post("/v1/reservations", {"processors": 10, "start": now + 7200, "walltime": 600})
    s3.simulated(5, 600)
    page.open(s3.url)
    page.until_live()
    page.until(lambda: len(page.jobs()) == 3)
    for job in s3.get("/v1/jobs").json()["jobs"]:
        start = job["start"] or job["promise"]
        for shown in (page.jobs()[job["id"]], page.jobs("#job-table")[job["id"]]):
            assert (shown["state"], shown["kind"]) == (job["state"], job["kind"])
            assert (int(shown["start"]), int(shown["end"])) == (start, start + job["walltime"])
    assert {j["state"] for j in page.jobs().values()} == {"running", "queued", "reserved"}
    assert (page.text("#running"), page.text("#queued"), page.text("#reserved")) == ("1", "1", "1")


@pytest.mark.thorough
def test_rectangles_never_overlap_and_are_as_high_as_their_jobs(page, start_s3):
    s3 = start_s3(64)
    chance = random.Random(7)
    now = s3.get("/v1/availability").json()["now"]
    s3.post("/v1/reservations", {"processors": 40, "start": now + 5000, "walltime": 1800})
    for _ in range(40):
        s3.simulated(chance.choice([1, 2, 3, 5, 8, 13, 33]), chance.choice([600, 1500, 2700, 4200]))
    page.open(s3.url)
    page.until_live()
    page.until(lambda: len(page.jobs()) == 41)
    s3.delete("/v1/jobs/5")  # running jobs keep their places, and the others still find room
    page.until(lambda: len(page.jobs()) == 40)
    time.sleep(0.3)

    paths = page.js(
        "return [...document.querySelectorAll('#picture [data-job]:not([display])')].map((e) => "
        "[Number(e.dataset.processors), e.getAttribute('d')])"
    )
    assert len(paths) == 40
    scale = page.js("return view.y(0) - view.y(1)")
    boxes = []
    for processors, path in paths:
        parts = [tuple(map(float, m)) for m in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)", path)]
        assert sum(height for _, _, _, height in parts) == pytest.approx(processors * scale, abs=0.2 * len(parts))
        boxes += parts
    for (x1, y1, w1, h1), (x2, y2, w2, h2) in combinations(boxes, 2):
        across = min(x1 + w1, x2 + w2) - max(x1, x2)
        along = min(y1 + h1, y2 + h2) - max(y1, y2)
        assert min(across, along) < 0.3


@pytest.mark.thorough
def test_zooming_by_buttons_and_keys_keeps_what_was_chosen(page, s3):
    s3.simulated(10, 3000)
    far = s3.simulated(1, 40 * 3600)
    page.open(s3.url)
    page.until_live()

    def shown():
        return page.one("#picture").get_attribute("data-zoom")

    page.until(lambda: shown() == "all")
    wide = page.box(1)[1]
    page.one("[data-zoom='1h']").click()
    page.until(lambda: shown() == "1h")
    assert page.one("[data-zoom='1h']").get_attribute("aria-pressed") == "true"
    assert page.box(1)[1] > 5 * wide
    page.one("#stage").send_keys("-")
    page.until(lambda: shown() == "6h")
    page.one("#stage").send_keys("3")
    page.until(lambda: shown() == "1d")
    s3.simulated(1, 60)
    page.until(lambda: len(page.jobs()) == 3)
    assert shown() == "1d"
    page.one("[data-zoom='all']").click()
    page.until(lambda: page.box(far["id"])[1] > 50)


@pytest.mark.thorough
def test_a_clock_that_runs_faster_is_followed(page, start_s3):
    s3 = start_s3(10, clock_speed=60)
    s3.simulated(10, 36000)
    page.open(s3.url)
    page.until_live()
    page.until(lambda: page.text("#speed") == "(60 × real time)")
    ahead = page.js("return clock.now()") - s3.get("/v1/machine").json()["now"]
    assert abs(ahead) <= 90, "within a second and a half of real time"


@pytest.mark.thorough
def test_a_stream_that_breaks_is_taken_up_where_it_broke(page, s3):
    s3.simulated(10, 3600)
    page.open(s3.url)
    page.until_live()
    for id in (2, 3):
        page.js("controller.abort()")
        page.until(lambda: page.one("#connection").get_attribute("data-state") == "reconnecting")
        s3.simulated(10, 3600)
        page.until(lambda id=id: id in page.jobs())
    s3.delete("/v1/jobs/2")
    page.until(lambda: page.jobs().keys() == {1, 3})
    asked = page.js("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert sum("/v1/jobs?after=" in url for url in asked) == 1, "what came meanwhile was in the stream"
    assert sum(url.endswith("/v1/events") for url in asked) == 2, "those that broke; the third still flows"


@pytest.mark.thorough
def test_after_a_restart_the_page_goes_on_by_itself(page, tmp_path, monkeypatch):
    port = []
    monkeypatch.setattr("gas.service.server.listen", lambda host, _: listen(host, port[0] if port else 0))

    def service():
        return Embedded(LiveScheduler("s3", 10, tmp_path / "state"))

    with service() as first:
        port.append(int(first.url.rpartition(":")[2]))
        wish = {"processors": 10, "walltime": 3600, "actuator": {"kind": "simulated", "run_time": 3600}}
        page.browser.get("about:blank")
        import requests

        requests.post(f"{first.url}/v1/jobs", json=wish, timeout=10).raise_for_status()
        page.open(first.url)
        page.until_live()
        page.until(lambda: len(page.jobs()) == 1)
    page.until(lambda: page.one("#connection").get_attribute("data-state") == "reconnecting")
    assert len(page.jobs()) == 1, "what was known stays in sight"
    with service() as second:
        requests.post(f"{second.url}/v1/jobs", json=wish, timeout=10).raise_for_status()
        page.until(lambda: page.one("#connection").get_attribute("data-state") == "live", seconds=30)
        page.until(lambda: len(page.jobs()) == 2)
        for job in second.scheduler.jobs():
            second.scheduler.cancel(job.id)
        page.until(lambda: page.jobs() == {})
    page.browser.get("about:blank")
    assert all("ERR_" in line for line in page.complaints()), "only that nobody answered"


# ------------------------------------------------------------------------------------------------ what if I asked for


BUSY = [(10, 1800), (6, 5400), (3, 9000), (8, 3600), (10, 600)]
TABLES = [
    ([(2, "2h"), (4, "1h10m"), (8, "40m"), (10, "00:35:00")], {}),
    ([(1, "7200"), (3, "3000.5"), (10, "1500")], {"tolerance": "30"}),
    ([(4, "3h"), (9, "90m")], {"safety": "1.5", "not-before": "+3h"}),
    ([(2, "1h"), (5, "40m"), (12, "5m")], {"deadline": "+6h"}),
]


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(("times", "more"), TABLES)
def test_the_best_candidate_is_that_of_gas_plan(page, s3, gas, tmp_path, times, more):
    for processors, walltime in BUSY:
        s3.simulated(processors, walltime)
    page.open(s3.url)
    page.until_live()
    page.fill_sizes(times)
    for field, value in more.items():
        page.one(f"#{field}").clear()
        page.one(f"#{field}").send_keys(value)
    page.plan()
    shown = {k: int(v) for k, v in page.js("return {...document.querySelector('#best').dataset}").items()}

    file, command = tmp_path / "what-if.toml", page.text("#hint-command").split()
    file.write_text(page.text("#hint-file"))
    assert command[:3] == ["gas", "submit", "what-if.toml"]
    plan = gas("plan", file, *command[3 : command.index("--")], "--json").json  # the page's own hint
    best = plan["best"]
    assert shown == {key: best[key] for key in ("processors", "start", "finish", "walltime")}

    rows = page.js(
        "return [...document.querySelectorAll('#candidates tbody tr')].map((r) => Number(r.dataset.candidate))"
    )
    assert rows == [c["processors"] for c in plan["candidates"]]
    drawn = page.until(
        lambda: page.js(
            "return [...document.querySelectorAll('#candidates-drawn [data-candidate]')].map((e) => "
            "[Number(e.dataset.candidate), Number(e.dataset.start), Number(e.dataset.finish), e.dataset.best])"
        )
    )
    assert sorted(drawn) == sorted(
        [c["processors"], c["start"], c["finish"], "true" if c == best else "false"] for c in plan["candidates"]
    )
    rejected = page.js("return [...document.querySelectorAll('#rejected li')].map((e) => e.textContent)")
    assert rejected == [f"{r['processors']} processors: {r['reason']}" for r in plan["rejected"]]


INSTANTS = [
    "+2h", "30min", "1h30m", "@1731000000", "18:30", "0:00", "23:59:59", "today 7:05", "Tomorrow  9:00", "2026-11-21",
    "2026-11-21 8:00", "2026-11-21T08:00:30", "Monday 9:00", "thu 17:00", "SUN 0:00", "friday 23:59:59",
]  # fmt: skip


def test_instants_are_read_as_on_the_command_line(page, s3):
    page.open(s3.url)
    time.tzset()  # another test may have left another zone to this process
    for now in (1_731_000_000, 1_731_020_399, 1_769_900_000):
        assert page.js(
            "const [texts, now] = arguments; return texts.map((text) => parseInstant(text, now))", INSTANTS, now
        ) == [parse_instant(text, now) for text in INSTANTS]
    for text in ("tomorrow", "24:00", "30mins", "2026-02-30 8:00"):
        with pytest.raises(BadInput, match="not a time"):
            parse_instant(text, 0)
        assert page.js("try { return parseInstant(arguments[0], 0); } catch (error) { return error.message; }", text)


@pytest.mark.thorough
def test_a_plan_goes_stale_with_the_schedule_and_leaves_the_picture_when_told(page, s3):
    s3.simulated(10, 3600)
    page.open(s3.url)
    page.until_live()
    page.fill_sizes([(4, "1h")])
    page.plan()
    page.until(lambda: page.all("#candidates-drawn [data-candidate='4']"))
    page.until(lambda: page.js("return plan.version"))
    assert not page.one("#stale").is_displayed()
    s3.simulated(10, 3600)
    page.until(lambda: page.one("#stale").is_displayed())
    page.one("#clear-plan").click()
    page.until(lambda: not page.all("#candidates-drawn *"))
    assert page.text("#best") == ""


REFUSED = [
    ([(4, "1h")], "0.5", "The scheduler refused: body.application [walltime] safety: 0.5 is below 1"),
    ([(4, "1:30")], "1.1", "Row 1: 1:30 could mean hours and minutes or minutes and seconds"),
    ([(4, "1h"), (4, "2h")], "1.1", "Row 2: 4 processors are listed twice"),
    ([("4.5", "1h")], "1.1", "Row 1: “4.5” is not a processor count"),
    ([(4, "0")], "1.1", "Row 1: a time is more than 0"),
    ([("", "")], "1.1", "Enter the run time for at least one size"),
    ([(4, "1h")], "high", "Safety: “high” is not a number"),
]


@pytest.mark.thorough
def test_what_cannot_be_planned_is_said_beside_the_form(page, s3):
    page.open(s3.url)
    page.until_live()
    for times, safety, said in REFUSED:
        page.fill_sizes(times)
        page.one("#safety").clear()
        page.one("#safety").send_keys(safety)
        page.one("#plan").click()
        page.until(lambda said=said: page.text("#plan-problem").startswith(said))
        if "refused" not in said:
            assert page.browser.switch_to.active_element.get_attribute("aria-invalid") == "true"
    assert page.one("#plan-problem").get_attribute("role") == "alert"
    page.fill_sizes([(4, "1h")])
    page.one("#safety").clear()
    page.one("#safety").send_keys("1")
    page.plan()
    assert page.text("#plan-problem") == ""
    assert not page.all("[aria-invalid]")
    (noted,) = page.complaints()
    assert "422" in noted, "Chromium notes every such answer"


@pytest.mark.thorough
def test_nothing_possible_says_why(page, s3):
    page.open(s3.url)
    page.until_live()
    page.fill_sizes([(11, "1h")])
    page.plan()
    assert page.text("#best").startswith("No request is possible")
    assert page.text("#rejected") == "11 processors: the machine has only 10 processors"


# ------------------------------------------------------------------------------------------------------ for everybody


@pytest.mark.thorough
def test_it_is_used_by_keyboard_alone(page, s3):
    s3.simulated(10, 3600, name="first")
    s3.simulated(4, 600, name="second")
    s3.until(1, "running")
    page.open(s3.url)
    page.until_live()
    page.until(lambda: len(page.jobs("#job-table")) == 2)

    def press(*keys):
        page.browser.switch_to.active_element.send_keys(*keys)

    def tab_to(condition):
        for _ in range(60):
            press(Keys.TAB)
            if page.js(f"return Boolean(document.activeElement.matches({condition!r}))"):
                return
        raise AssertionError(f"{condition} is not reached")

    page.js("document.body.focus()")
    press(Keys.TAB)
    assert page.js("return document.activeElement.className") == "skip"
    assert page.js("return document.activeElement.getBoundingClientRect().top") >= 0
    tab_to("#stage")
    assert page.js("return getComputedStyle(document.activeElement).outlineStyle") == "solid", "the focus is seen"
    press(Keys.ARROW_RIGHT)
    page.until(lambda: "first" in page.text("#details"))
    press(Keys.ARROW_RIGHT)
    page.until(lambda: "second" in page.text("#details"))
    press(Keys.ESCAPE)
    page.until(lambda: "second" not in page.text("#details"))

    tab_to("[data-field='processors']")
    press(Keys.CONTROL, "a")
    press("4", Keys.TAB)
    press(Keys.CONTROL, "a")
    press("30m")
    tab_to("#add-size")
    press(Keys.ENTER)
    assert page.js("return document.activeElement.getAttribute('aria-label')").startswith("processors, row ")
    press("7", Keys.TAB, "20m", Keys.ENTER)
    page.until(lambda: page.text("#best"))
    assert page.one("#best").get_attribute("aria-live") == "polite"

    tab_to("#job-table button")
    page.until(lambda: "first" in page.text("#details"))
    press(Keys.TAB)
    page.until(lambda: "second" in page.text("#details"))
    s3.delete("/v1/jobs/2")
    page.until(lambda: page.jobs("#job-table").keys() == {1})
    assert page.js("return document.activeElement.textContent") == "1", "the focus goes to the neighbour"


@pytest.mark.thorough
def test_everything_that_can_be_used_has_a_name(page, s3):
    s3.simulated(10, 3600)
    page.open(s3.url)
    page.until_live()
    page.fill_sizes([(4, "1h")])
    page.plan()
    for element in page.all("button, input, a[href], summary, [tabindex='0'], table, svg[role='img']"):
        if element.is_displayed():
            assert element.accessible_name, element.get_attribute("outerHTML")[:200]


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(("width", "hour"), [(360, 12), (320, 12), (320, 23)])
def test_a_phone_needs_no_sideways_scrolling(page, s3, width, hour):
    """Late in the evening, an end tomorrow is shown with its day, which is wider."""
    page.hour(hour)
    s3.simulated(10, 3600, name="a-name-without-any-place-to-break-it-" * 5)
    s3.simulated(10, 40 * 86400, name="x " * 90)
    page.width(width)
    page.open(s3.url)
    page.until_live()
    page.until(lambda: len(page.jobs("#job-table")) == 2)
    page.fill_sizes([(4, "1h"), (8, "40m"), (10, "39m"), (11, "1s")])
    page.plan()
    page.one("#job-table button").click()
    page.one("summary").click()
    assert page.js("return document.documentElement.scrollWidth") == width
    assert page.js("return document.querySelector('#picture').getBoundingClientRect().right") <= width


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_shapes_stand_out_from_their_ground(page, s3, scheme):
    page.scheme(scheme)
    page.open(s3.url)
    page.until_live()

    def luminance(name):
        value = page.js("return getComputedStyle(document.documentElement).getPropertyValue(arguments[0])", f"--{name}")
        parts = [int(value.strip()[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def contrast(one, other):
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    words = [("ink", "paper"), ("ink", "panel"), ("soft", "panel"), ("soft", "paper"), ("bad", "bad-soft")]
    words += [("ink", "mine"), ("ink", "other"), ("ink", "mine-soft"), ("ink", "other-soft"), ("ink", "best-soft")]
    words += [("accent-ink", "accent"), ("bad", "panel"), ("ink", "free")]
    shapes = [(f"{kind}-edge", "panel") for kind in ("free", "other", "mine", "best")]
    shapes += [
        ("control", "panel"),
        ("control", "paper"),
        ("candidate", "panel"),
        ("accent", "panel"),
        ("good", "panel"),
    ]
    for one, other in words:  # WCAG 2.2, 1.4.3
        assert contrast(one, other) >= 4.5, (one, other)
    for one, other in shapes:  # 1.4.11
        assert contrast(one, other) >= 3, (one, other)
    background = page.js("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background))) < 200) == (scheme == "dark")


def test_a_waiting_job_that_is_chosen_shows_its_likely_start_and_how_often_those_held(page, s3, monkeypatch):
    said = {"interval": 0.9, "outcomes": 400, "held": 352, "share": 0.88, "predicted_afterwards": 0}
    said["in_words"] = "90% intervals contained 88% of the last 400 starts"
    s3.simulated(8, 3600, 3600)
    waiting = s3.simulated(8, 3600, 3600)
    now = waiting["submitted"]
    monkeypatch.setattr(LiveScheduler, "coverage", said)
    found = Future()
    found.set_result({waiting["id"]: Predicted(now + 1200, now + 600, now + 2400)})
    monkeypatch.setattr(LiveScheduler, "predictions", lambda self, id: found)
    page.open(s3.url)
    page.until_live()
    assert page.text("#held") == "88% of the last 400"
    page.until(lambda: waiting["id"] in page.jobs())
    page.js("document.querySelector(`#job-table tr[data-job='${arguments[0]}'] button`).click()", waiting["id"])
    page.until(lambda: "90% interval" in page.text("#details"))
    assert said["in_words"] in page.text("#details")
    assert page.complaints() == []


def test_names_are_text_whatever_they_say(page, s3):
    names = [
        "<img src=x onerror=\"document.title='owned'\">",
        "</script><script>document.title='owned'</script>",
        '"><svg onload=alert(1)>',
        "javascript:alert(1)",
    ]
    for name in names:
        s3.simulated(2, 3600, name=name)
    page.open(s3.url)
    page.until_live()
    page.until(lambda: len(page.jobs("#job-table")) == 4)
    cells = page.js("return [...document.querySelectorAll('#job-table td.name')].map((c) => c.textContent)")
    assert sorted(cells) == sorted(names)
    page.one("#job-table button").click()
    page.until(lambda: names[0] in page.text("#details"))
    assert page.js("return document.images.length + document.scripts.length") == 1, "its own script"
    assert page.browser.title == "S³ s3"


# -------------------------------------------------------------------------------------------------------------- tokens


def test_a_token_is_asked_for_used_and_forgotten(page, gas, tmp_path):
    import requests

    file = tmp_path / "tokens"
    secrets = {}
    for user in ("ann", "bob"):
        told = gas("token", "add", user, "--tokens", file, "--json").json
        secrets[user] = told["token"]
    with Embedded(LiveScheduler("site", 10, tmp_path / "state"), tokens=Tokens(file)) as service:

        def submit(user, name):
            wish = {
                "name": name,
                "processors": 5,
                "walltime": 3600,
                "actuator": {"kind": "simulated", "run_time": 3600},
            }
            headers = {"Authorization": f"Bearer {secrets[user]}"}
            requests.post(f"{service.url}/v1/jobs", json=wish, headers=headers, timeout=10).raise_for_status()

        def give(secret):
            page.until(lambda: page.one("#access").is_displayed())
            page.one("#token").send_keys(secret, Keys.ENTER)

        submit("ann", "of-ann")
        submit("bob", "of-bob")
        page.open(service.url)
        page.until(lambda: page.one("#connection").get_attribute("data-state") == "token")
        assert not page.one("#schedule").is_displayed()
        assert page.one("#token").accessible_name == "Token for this scheduler"
        assert page.one("#token").get_attribute("type") == "password"

        give("not-a-token")
        page.until(lambda: "not accepted" in page.text("#token-problem"))
        assert page.jobs() == {}

        give(secrets["ann"])
        page.until_live()
        page.until(lambda: len(page.jobs()) == 2)
        assert {id: job["mine"] for id, job in page.jobs().items()} == {1: "true", 2: "false"}
        table = page.text("#job-table")
        assert "of-ann" in table
        assert "of-bob" not in page.js("return document.documentElement.textContent")
        assert "bob" in table, "whose job it is belongs to the schedule"
        assert page.text("#user") == "ann"
        assert page.js("return localStorage.length + document.cookie.length") == 0
        page.fill_sizes([(5, "1h")])
        page.plan()
        assert page.js("return document.querySelector('#best').dataset.processors") == "5"
        assert secrets["ann"] not in page.js("return document.documentElement.outerHTML")

        page.browser.refresh()
        page.until_live()
        page.until(lambda: len(page.jobs()) == 2)

        page.one("#forget").click()
        page.until(lambda: page.one("#access").is_displayed())
        assert page.js("return sessionStorage.length") == 0
        page.until(lambda: page.jobs() == {} == page.jobs("#job-table"))
        page.browser.refresh()
        give(secrets["bob"])
        page.until_live()
        page.until(lambda: {id for id, job in page.jobs().items() if job["mine"] == "true"} == {2})

        told = gas("token", "revoke", "bob", "--tokens", file)
        assert told.code == 0, told.err
        submit("ann", "another")
        page.until(lambda: page.one("#access").is_displayed(), seconds=30)
        page.until(lambda: page.jobs() == {})
        page.browser.get("about:blank")
        for job in service.scheduler.jobs():
            service.scheduler.cancel(job.id)
    assert all("401" in line or "ERR_" in line for line in page.complaints()), "Chromium notes every 401"
