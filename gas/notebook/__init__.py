"""Displays plans, availability lists, predictions and schedules in notebooks (`gas.printable.Shown`).

    frames   rows as pandas data frames
    plots    pictures as matplotlib figures, new or drawn into existing axes
    cards    HTML: a picture if matplotlib is installed, and a table

Names of schedulers and applications are untrusted text, so they are escaped. pandas and matplotlib are imported only
when they are used.
"""
