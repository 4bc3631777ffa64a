"""Reports of studies and of `gas backtest`: their parts, and how they are written as pages.

blocks     the parts of a report
rendering  writes reports as HTML and Markdown into a folder
printing   prints a page as PDF
"""
