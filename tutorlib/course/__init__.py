"""The course: notebooks built from their sources and executed, the glossary, the tables, `tutor doctor`."""
