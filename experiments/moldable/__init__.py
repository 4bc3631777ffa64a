"""Moldable jobs in logs: what the studies of Cirne & Berman's Gas share.

benchmarks    the NAS benchmarks as moldable applications, and how likely each is
substitution  jobs of a log replaced by benchmarks
moldability   every job of a log made moldable, its load unchanged
choosing      logs with many of them, for all of which Gas chooses
machines      applications in front of machines that go on in step, and what they can submit
worlds        such machines, with benchmarks in place of some of their jobs
terms         on what terms benchmarks take the place of jobs
outcomes      what becomes of one of them, for every request that it could make
losses        why a static request was sooner
months        months of logs with one of them at a time: which runs there are, and what came out
improvement   how many times sooner Gas is, in classes
pictures      a picture of that
simulated     what is simulated, in words, for reports
"""
