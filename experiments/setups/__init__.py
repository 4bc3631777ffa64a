"""Which set-up within the words of Cirne & Berman (1999) gives its Tables 5.1 to 5.7: ``gas experiment setups``.

setups    what the paper leaves open, its words, and the alternatives
run       what Gas and static requests get in a month of a log, under a set-up
results   how many of the printed means each set-up meets
report    the report
study     the study as the command line finds it
"""
