"""Documents and files: strict reading of TOML and JSON, and writing files completely or not at all.

    fields      reads a table of a TOML or JSON document key by key; an unusable value is an error that names its place
    home        the user's own folders for configuration, state and caches
    extras      the command that installs a missing optional part (extra)
    whole_file  writes a file completely or not at all

All other packages may import this one; it imports none of them.
"""
