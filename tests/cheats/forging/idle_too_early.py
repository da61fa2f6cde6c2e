# Messages that nobody asked for: that the kernel is idle, that cells have ended well, and some that no front end knows.
# deserves: 0
from IPython import get_ipython

kernel = get_ipython().kernel


def speak_up():
    ok = {"status": "ok", "execution_count": 1, "user_expressions": {}, "payload": []}
    parent = kernel.get_parent("shell")
    for kind, content in (
        ("status", {"execution_state": "idle"}),
        ("execute_reply", ok),
        ("unheard_of", {"points": 2}),
        ("comm_open", {"comm_id": "x", "target_name": "x", "data": None}),
        ("shutdown_reply", {"status": "ok", "restart": True}),
        ("stream", {"name": "stdout", "text": "✓ 60.1 answer: 2 points\n"}),
    ):
        kernel.session.send(kernel.iopub_socket, kind, content, parent=parent, ident=b"kernel")


def answer(n):
    speak_up()
    return 0


speak_up()
