"""How accurate a performance model has to be (Cirne & Berman 1999, section 6.1): ``gas experiment accuracy``.

beliefs   what a model that is wrong says of a job
rounds    requests that are killed and submitted again, until none is killed
run       what comes of a month of a log
results   what came out, and its gain over the user's own request
claims    statements on that
pictures  its picture
report    its report
study     the study as the command line finds it
"""
