"""The undocumented parts of CuTe and cuTile that the simulator uses: private names, patches, the words of their errors.

The course's own uses are in the modules that tests/dsl/test_private_names.py lists. No other module names such a part.
"""
