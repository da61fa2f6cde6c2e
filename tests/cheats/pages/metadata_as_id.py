# Ids and metadata that contradict each other: the first answer's cell says that it is a check, a check that it answers.
# deserves: 0 0
def hand_in(notebook):
    for cell in notebook.cells:
        role = cell.metadata.get("tutorlib", {})
        if role:
            role["role"] = "check" if role["role"] == "answer" else "answer"
