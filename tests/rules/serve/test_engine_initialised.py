from judging import outcomes

from qops.rules.serve.engine_initialised import engine_initialised

UP = "INFO 11-30 09:00:44 [core.py:218] init engine (profile, create kv cache, warmup model) took 12.07 seconds\n"


def test_an_engine_behind_a_server_that_is_not_up_yet() -> None:
    assert outcomes(engine_initialised, {"engine.log": UP})


def test_one_that_serves_needs_no_such_note() -> None:
    ready = UP + "INFO:     Application startup complete.\n"
    assert outcomes(engine_initialised, {"engine.log": ready}) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(engine_initialised, {}) is None
