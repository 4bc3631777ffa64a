"""The guide: its pages (`*.md`, installed with the package), read in the terminal or as a site.

Its modules:

    contents        which pages there are, in groups and in the order of reading
    site            the pages, pictures and the Python reference as a web site
"""
