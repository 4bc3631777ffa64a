"""Moldable jobs in logs: code that the studies on Cirne & Berman (1999) share.

benchmarks    the NAS benchmarks as moldable applications, and the probability of each
substitution  replaces jobs of a log by benchmarks
moldability   makes every job of a log moldable, without changing the load
choosing      logs with many moldable jobs, for all of which Gas chooses
machines      applications that can use several machines, which are simulated in step
worlds        such machines, with benchmarks in place of some of their jobs
terms         the rules by which benchmarks replace jobs
outcomes      the outcome of each request that a moldable job could make
losses        why a static request finished sooner than the request of Gas
months        months of logs with one moldable job at a time: the list of runs, and their results
improvement   the improvement factor of Gas, in classes
pictures      the picture of the improvement factor
simulated     describes the simulations in words, for reports
"""
