"""The one door to what CuTe and cuTile do not document: private names, patches of them, the words of their errors.

Nothing outside of this folder names any of that; what the DSLs document is used everywhere (tests/dsl).
"""
