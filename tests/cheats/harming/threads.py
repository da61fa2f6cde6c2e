# Threads, until there are 5,000 or no more can be had.
# deserves: 0
import threading

forever = threading.Event()
for _ in range(5000):
    try:
        threading.Thread(target=forever.wait, daemon=True).start()
    except RuntimeError:
        break


def answer(n):
    return 0
