"""What Gradio sends and copies with every page load is plain data."""

from __future__ import annotations

from functools import partial

from easd_viz.ui.app import build


def test_the_page_s_configuration_is_plain_data() -> None:
    """Gradio copies it deeply for every visitor; an object in it, such as an event's listener, brings the whole app along."""
    for component in build().get_config_file()["components"]:
        for name, value in component["props"].items():
            assert not isinstance(value, partial), f"{component['type']} has an event's listener for its prop {name}"
