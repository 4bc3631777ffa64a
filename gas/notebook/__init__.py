"""What plans, availability lists, predictions and schedules show in a notebook (`gas.printable.Shown`).

    frames   their rows as frames of pandas
    plots    their pictures as figures of matplotlib, new ones or drawn into axes
    cards    their HTML: a picture if matplotlib is installed, and a table

Names of schedulers and applications are others' text, and escaped. pandas and matplotlib are imported where they are
used.
"""
