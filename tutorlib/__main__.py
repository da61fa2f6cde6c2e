from tutorlib.cli import app

app()
