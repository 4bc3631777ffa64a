"""Manual pages, `man gas` and `man gas-plan`, from the help of the commands.

``python -m gas.manual FOLDER`` writes them.

Its modules:

    __main__     writes the pages: in a fraction of a second, with Python alone
    stand_ins    modules in place of those that are not installed where a wheel is built
    description  commands, their options and texts, read from the functions of `gas.cli` and of the studies
    roff         pages in the language of man
    hatch_build  puts them into the wheel

A wheel is built where nothing of what Gas needs is installed. So commands are imported with stand-ins for all other
packages, typer among them: what is said of an option is kept as it is written.
"""
