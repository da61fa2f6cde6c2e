# Threads, until there are 20,000 or no more can be had.
# deserves: 0
import threading

forever = threading.Event()
for _ in range(20_000):
    try:
        threading.Thread(target=forever.wait, daemon=True).start()
    except RuntimeError:
        break


def answer(n):
    return 0
