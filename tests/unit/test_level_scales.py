"""The order of levels by their words, against orders written by hand."""

import pytest

from odtc.data.table.level_orders import order_of_words

ORDERS = {
    "with a unit": ["0-39g/day", "40-79", "80-119", "120+"],
    "years": ["0-5yrs", "6-11yrs", "12+ yrs"],
    "one year": ["<1 year", "1-5 years", "more than 5 years"],
    "open below": ["<25", "25-34", "35-44", "75+"],
    "a number among them": ["0", "1", "2", "3+"],
    "a word behind": ["2", "3", "4", "5more"],
    "words behind": ["5 or less", "6-9", "10 or more"],
    "cut of R": ["(-Inf,0]", "(0,10]", "(10,20]", "(20, inf]"],
    "incomes": ["under $25,000", "$25,000-$49,999", "$50,000-$74,999", "$75,000 or more"],
    "thousands": ["<50k", "50k-100k", ">100k"],
    "per cent": ["5-10%", "10-20%", "20-30%"],
    "decimals": ["1-2", "2.5-3", "3.5-4"],
    "ages": ["0-17", "18-64", "65 and older"],
    "words": ["Low", "Medium", "High"],
}
NONE = {
    "months": ["2020-01", "2020-02", "2021-01"],
    "days": ["2024-03-19", "2024-03-20", "2024-03-21"],
    "overlap": ["1-2", "1-3", "2-3"],
    "numbers": ["1", "2", "3"],
    "measures": ["10 km", "20 km", "30 km"],
    "two units": ["1 week", "1-2 days", "3-5 days"],
    "telephones": ["555-1234", "555-1235", "555-1236"],
    "words": ["red", "green", "blue"],
    "a word among them": ["0-9", "10-19", "other"],
    "more of a word": ["2", "3", "4moretime"],
    "two levels": ["0-9", "10+"],
}


@pytest.mark.parametrize("levels", ORDERS.values(), ids=ORDERS.keys())
def test_levels_that_tell_their_order(levels):
    assert order_of_words(sorted(levels)) == levels == order_of_words(levels[::-1])


@pytest.mark.parametrize("levels", NONE.values(), ids=NONE.keys())
def test_levels_that_tell_none(levels):
    assert order_of_words(levels) is None
