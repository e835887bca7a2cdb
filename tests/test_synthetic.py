"""The made-up traces of the other tests are traces that the reader believes."""

import pytest
from synthetic import make_trace

from easd_viz import store, trace
from easd_viz.trace import Config


@pytest.mark.parametrize("mode", ["easd", "sd", "target", "draft"])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("resample", ["target", "exclude"])
def test_reader_accepts_synthetic_traces(mode, temperature, resample):
    config = Config(
        mode=mode, temperature=temperature, resample=resample, draft_threshold=2.5, target_threshold=2.5, overlap_threshold=0.4
    )
    made = make_trace(seed=3, steps=60, gamma=4, config=config)
    assert store.parse(trace.dumps(made)) == made


def test_synthetic_traces_have_every_outcome_and_split_characters():
    made = make_trace(seed=0, steps=80)
    outcomes = {t.outcome for step in made.steps for t in step.drafted}
    assert outcomes == {"accepted", "rejected", "gated", "discarded"}
    assert any(t.bytes for step in made.steps for t in step.drafted), "no token with bytes of its own"
    assert "😀" in made.footer.text or "é" in made.footer.text
