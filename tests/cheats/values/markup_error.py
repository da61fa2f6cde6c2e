# A message that is a script in a page, a formula in a table, and colours in a terminal.
# deserves: 0
def answer(n):
    raise ValueError("=cmd|'/C calc'!A0 <script>alert(1)</script> \x1b[31m[bold]{{7*7}}\n,\"' \0")
