"""A search for the set-up that reproduces Tables 5.1 to 5.7 of Cirne & Berman (1999): ``gas experiment setups``.

setups    the details that the paper leaves open, its wording, and the alternatives
run       simulates a month of a log under a set-up, with Gas and with static requests
results   how many of the published means each set-up reproduces
report    the report
study     the study as the command line finds it
"""
