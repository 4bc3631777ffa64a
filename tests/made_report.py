"""A small report with a block of every kind."""

from gas.report.blocks import Bullets, Cell, Column, Picture, Report, Section, Table, Text, no, yes

__all__ = ["REPORT", "SVG"]

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'

REPORT = Report(
    "A <report> & more",
    "What `it_is` about.",
    (
        Section("First", (Text("5 < 6 | 7 * 8 and `a_b|c`"), Bullets(("one", "t_w_o")))),
        Section(
            "Second",
            (
                Table(
                    (Column("month", left=True), Column("here", "jobs"), Column("paper", "jobs"), Column("agrees")),
                    (("1996-10", "1", "2", yes()), ("1996-11", Cell("3", "quiet"), "4", no())),
                    "A caption.",
                ),
                Picture("dot", SVG, 'A "dot"'),
            ),
        ),
    ),
)
