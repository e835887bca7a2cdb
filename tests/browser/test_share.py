"""A link that carries every setting, or names an example and a token; opened in a fresh browser it asks for the same."""

import re
from urllib.parse import parse_qsl, urlsplit

from driving import STORE, set_number, settled, status, value_of
from playwright.sync_api import Page, expect

from easd_viz import link
from easd_viz.trace import Config


def share(page: Page) -> str:
    """Presses the button by keyboard, once a page; the link that the page's address then is."""
    page.get_by_role("button", name="Copy a link").press("Enter")
    field = page.get_by_label("Link", exact=True)
    expect(field).to_be_visible()
    expect(field).to_have_value(page.url)
    return page.url


def query(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


def test_settings_come_back_in_a_fresh_browser(open_page, page):
    page.get_by_label("Prompt", exact=True).fill("Why & how? 100% <b>日</b>\nSecond line")
    page.get_by_role("radio", name="SD", exact=True).check()
    for name, value in (("τ draft, nats", 1.35), ("ρ overlap", 0.65), ("New tokens", 77), ("Temperature", 1.15), ("k", 7)):
        set_number(page, name, value)
    url = share(page)
    other = open_page(path="?" + urlsplit(url).query)
    expect(status(other)).to_have_text("Settings from the link")
    expect(other.get_by_label("Prompt", exact=True)).to_have_value("Why & how? 100% <b>日</b>\nSecond line")
    expect(other.get_by_role("radio", name="SD", exact=True)).to_be_checked()
    expect(other.get_by_label("number input for τ draft, nats", exact=True)).to_have_value("1.35")
    expect(other.get_by_label("number input for New tokens", exact=True)).to_have_value("77")
    assert query(share(other)) == query(url), "the same settings make another link"


def test_random_settings_survive_the_page(open_page):
    config = Config("easd", 7, 0.35, 12, 0.8, 13, 3.3, 0.7, 0.15, "exclude", 313, 2**53 - 1)
    sent = link.of_settings(link.Settings("Hello", False, config, "a/b,c/d@v1", "float32"))
    page = open_page(path="?" + sent)
    expect(status(page)).to_have_text("Settings from the link")
    assert query(share(page)) == dict(parse_qsl(sent))


def test_values_out_of_range_are_clamped_and_said(open_page):
    page = open_page(path="?gamma=99&tau_draft=abc&rho=-1")
    expect(page.get_by_label("number input for γ drafted per round", exact=True)).to_have_value("16")
    expect(page.get_by_label("number input for ρ overlap", exact=True)).to_have_value("0")
    said = page.locator("#ez-status")
    expect(said).to_contain_text("gamma 99 is outside 1 to 16: 16 is set")
    expect(said).to_contain_text("tau_draft “abc” is not understood")


def test_an_example_with_its_selected_token(open_page, page):
    token = page.locator("#ez-text .ez-tokens .tok.gated.off").first
    token.click()
    key = token.get_attribute("data-key")
    url = share(page)
    assert query(url) == {"example": "lighthouse", "token": key}
    other = open_page(path="?" + urlsplit(url).query)
    expect(other.locator(f'#ez-text [data-key="{key}"]')).to_have_class(re.compile(r"\bsel\b"))
    expect(other.locator("#ez-details")).to_contain_text("gated")
    settled(other)
    assert value_of(other, f"{STORE}.selected") == key


def test_an_example_that_is_not_there_is_said(open_page):
    page = open_page(path="?example=nowhere")
    expect(page.locator("#ez-status [role=alert]")).to_contain_text("no example called “nowhere”")


def test_a_page_without_a_query_is_left_alone(page):
    expect(status(page)).to_have_text("A recorded example")
