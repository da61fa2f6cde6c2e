"""The course as a static site: the solved pages with the answers left out, for readers without a kernel.

    solutions/*.ipynb → pages.py → Markdown and notebooks in a folder (sources.py) → Sphinx → HTML

Nothing is executed: pictures and tables are the outputs that the solved notebooks hold.
"""
