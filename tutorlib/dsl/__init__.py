"""What CuTe and cuTile do not document, as the simulator uses it: private names, patches, the words of their errors.

The course's own uses are in the modules that tests/dsl/test_private_names.py lists; no other module names any of that.
"""
