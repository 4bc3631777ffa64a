"""Manual pages such as `man gas` and `man gas-plan`, made from the help of the commands.

``python -m gas.manual FOLDER`` writes them.

Its modules:

    __main__     writes the pages, in a fraction of a second, with Python alone
    stand_ins    replaces modules that are not installed when a wheel is built
    description  reads commands, options and texts from the functions of `gas.cli` and of the studies
    roff         writes pages in the language of man
    hatch_build  adds the pages to the wheel

A wheel is built without the dependencies of Gas. So commands are imported with stand-ins for all other packages,
including typer; the help of an option is read as written in the source.
"""
