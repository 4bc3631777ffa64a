"""The guide: pages (`*.md`, installed with the package) for the terminal and for a web site.

Its modules:

    contents        the list of pages, in groups and in reading order
    site            the pages, pictures and the Python reference as a web site
"""
