from qops.probes.loader import picked

DRIVER = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
COMPAT = "/usr/local/cuda/compat/libcuda.so.1"


def test_the_search_path_comes_before_the_cache() -> None:
    cache = [("libcuda.so.1", DRIVER)]
    assert picked("libcuda.so.1", "/usr/local/cuda/compat:/x", cache, {COMPAT}) == (COMPAT, DRIVER)


def test_a_folder_that_holds_no_such_file_is_passed_over() -> None:
    assert picked("libcuda.so.1", "/usr/local/cuda/compat", [("libcuda.so.1", DRIVER)], ()) == (DRIVER,)


def test_the_cache_keeps_its_order_and_other_names_are_none() -> None:
    cache = [("libcuda.so", "/x/libcuda.so"), ("libcuda.so.1", COMPAT), ("libcuda.so.1", DRIVER)]
    assert picked("libcuda.so.1", "", cache, ()) == (COMPAT, DRIVER)


def test_a_trailing_slash_and_relative_folders() -> None:
    assert picked("libcuda.so.1", "lib::/usr/local/cuda/compat/", [], {COMPAT}) == (COMPAT,)


def test_nothing_known_nothing_picked() -> None:
    assert picked("libcuda.so.1", "", [], {DRIVER}) == ()
