"""The page about others' kernels."""

from tests.outside.coverage import DATA, FAULTS, PAGE, page, read, taken


def test_the_page_is_that_of_the_data():
    assert PAGE.read_text(encoding="utf-8") == page(read(DATA), read(FAULTS))


def test_a_new_outcome_takes_the_place_of_the_old_one():
    data = read(DATA)
    name, number = data["cases"][3]["case"], len(data["cases"])
    taken(data, [f'{{"case": "{name}", "outcome": "stops"}}'])
    assert (data["cases"][3]["outcome"], len(data["cases"])) == ("stops", number)
