"""Reports of studies: the same content as one HTML page and as Markdown, the same bytes every time.

model     what a report consists of
page      as one HTML page, by the template ``page.html.jinja``
markdown  as Markdown, with the tables of GitHub
files     written into a folder, with its pictures
"""
