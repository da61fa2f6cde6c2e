# Metadata of other kinds than the format has: lists for names, numbers for lists, and depth.
# deserves: 0 0
def hand_in(notebook):
    deep = []
    for _ in range(200):
        deep = [deep]
    for cell in notebook.cells:
        if cell.id.startswith("answer-"):
            continue
        cell.metadata = {"tutorlib": {"role": ["answer"], "exercise": {"60": 1}}, "tags": [1, {}], "deep": deep}
    notebook.metadata = {"kernelspec": ["python3"], "language_info": 3, "tutorlib": deep}
