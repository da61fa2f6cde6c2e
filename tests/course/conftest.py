"""The registry of tests.course.trial_page."""

import pytest

from tests.course.trial_page import MODULES
from tests.trial_course import registered


@pytest.fixture
def trial_page(tmp_path):
    with registered(tmp_path / "exercises", MODULES):
        yield
