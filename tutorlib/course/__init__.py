"""The course: notebooks built from their sources and executed, the glossary, README's table, `tutor doctor`."""
