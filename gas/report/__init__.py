"""Reports of studies and of `gas backtest`: what they consist of, and how they become a page.

blocks     what a report consists of
rendering  reports as HTML and as Markdown, and written into a folder
printing   a page as PDF
"""
