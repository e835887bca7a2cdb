"""What Gradio sends and copies with every page load is plain data."""

from __future__ import annotations

import copy

from easd_viz.ui.app import build


def test_the_page_s_configuration_is_plain_data() -> None:
    """Gradio copies it deeply for every visitor; an object in it, such as an event's listener, brings the whole app along."""
    for component in build().get_config_file()["components"]:
        for name, value in component["props"].items():
            try:
                copy.deepcopy(value)
            except Exception as error:
                raise AssertionError(f"{component['type']} has a prop {name} that can't be copied: {error}") from None
            assert not callable(value), f"{component['type']} has a function in its prop {name}"
