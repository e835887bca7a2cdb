"""The reader's short way for usual tokens says nothing that its long way would not."""

import copy

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import make_trace

from easd_viz import trace as trace_module
from easd_viz.trace import TraceError

TOKENS = [orjson.loads(orjson.dumps(t)) for s in make_trace(2, 6, 4).steps for t in trace_module.step_json(s)["drafted"]]
FIELDS = sorted(trace_module._USUAL_TYPES)
ODD = [
    None,
    True,
    -1,
    0,
    1,
    2,
    -0.5,
    0.0,
    1.0,
    1.0000005,
    1.1,
    1e9,
    "",
    "x",
    "accepted",
    "lost",
    [],
    {},
    [[1, "a", 0.5]],
    [[1, "a"]],
]


def read(way, record):
    try:
        return way(copy.deepcopy(record))
    except TraceError as error:
        return str(error)


@settings(max_examples=400)
@given(record=st.sampled_from(TOKENS), field=st.sampled_from([*FIELDS, "bytes", "unknown"]), value=st.sampled_from(ODD))
def test_one_odd_field_is_judged_alike_both_ways(record, field, value):
    odd = {**record, field: value}
    assert read(trace_module._read_token, odd) == read(trace_module._read_unusual_token, odd), f"{field} = {value!r}"


@pytest.mark.parametrize("field", FIELDS)
def test_a_missing_field_is_named(field):
    lacking = {name: value for name, value in TOKENS[0].items() if name != field}
    assert repr(field) in read(trace_module._read_token, lacking)


def test_usual_tokens_take_the_short_way_and_come_out_the_same():
    for record in TOKENS:
        usual = trace_module._usual_token(copy.deepcopy(record))
        if "bytes" in record:
            assert usual is None
        else:
            assert usual == trace_module._read_unusual_token(copy.deepcopy(record))


entry = st.tuples(
    st.sampled_from([0, 1, 2, -1, True, "1"]), st.sampled_from(["a", "b", 3]), st.sampled_from([0, 0.1, 0.5, 1, 2.0, -0.1, "x"])
)


@settings(max_examples=300)
@given(entries=st.lists(entry.map(list), max_size=4))
def test_top_lists_are_judged_alike_both_ways(entries):
    def long_way(value):
        return trace_module._read_unusual_top("draft_top", value)

    def short_way(value):
        return trace_module._read_top("draft_top", value)

    assert read(short_way, entries) == read(long_way, entries)


def test_the_collector_is_left_as_it_was():
    import gc

    data = trace_module.dumps(make_trace(1, 2, 2))
    assert gc.isenabled()
    trace_module.loads(data)
    with pytest.raises(TraceError):
        trace_module.loads(b"nonsense\n")
    assert gc.isenabled()
