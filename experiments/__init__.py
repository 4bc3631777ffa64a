"""Studies on logs and models; found by the command line through the `gas.commands` entry points, imported by nothing.

    cli        the commands ``gas experiment …``
    framework  what studies share, whatever they study: results that are kept, logs, statements, reports
    published  figures of the literature, as data files
    moldable   moldable jobs in place of jobs of a log, and months of logs with one of them at a time

Each of the others is a study. None imports another's package; what two of them need is in `moldable` or `framework`.

    backfilling     EASY and conservative backfilling (Mu'alem & Feitelson 2001)
    estimates       how wrong users' estimates are, and what that does (their section 4)
    walltime        walltimes adjusted by history (Tang et al. 2013)
    power           one moldable job in a log, beside a static request (Cirne & Berman's Gas, section 5.2)
    setups          which set-up gives the tables of that section
    bushel          many of them, and what becomes of all others (section 5.3)
    walk            the paper's walk against the exact planner (Fig. 4.3)
    accuracy        how accurate a performance model has to be (section 6.1)
    supercomputers  several supercomputers (section 6.2)
    conditional     jobs that are asked before they are moved to earlier starts (section 6.1)
    priorities      classes of jobs whose promises hold (section 6.1)
    clusters        hundreds of clusters, and how many of them to choose among
    prediction      predictions made from how much of their walltimes jobs use
    malleate        sizes chosen before jobs start, beside sizes that change while they run
    replay          a log of the user's own under other policies, machines and walltimes (``gas replay``)
"""
